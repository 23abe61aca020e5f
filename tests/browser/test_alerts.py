"""Alerts on the timeline: the lane above the axis, the panel of one, and the page that lists them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import fits, settled
from tests.browser.test_with_axe import EVERYWHERE, PHONE, Themes, complaints_of_axe

GAP = 1795247520841106  # µs since 1970: the Service ring of the sample is deleted
SECOND = 1_000_000
PLANTED = '<img src=x onerror="document.title=1"> \u202eabout'
VIEW = f"start={GAP - 20 * SECOND}&end={GAP + 20 * SECOND}"


def alert(name: str, begins: int, seconds: int | None, **labels: str) -> dict[str, Any]:
    def at(second: int) -> str:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=GAP + second * SECOND)).isoformat()

    given = {"name": name, "starts": at(begins), "labels": labels, "annotations": {"summary": PLANTED}}
    if seconds is not None:
        given |= {"status": "resolved", "ends": at(begins + seconds)}
    return {**given, "url": "https://prometheus.example/graph"}


@pytest.fixture
def with_alerts(site: str, page: Page, recording: str) -> str:
    """The path of the timeline of the sample, about which alerts have come."""
    number = recording.strip("/").rpartition("/")[2]
    page.goto("/tokens/")
    page.get_by_label("alerts", exact=False).first.check()
    page.get_by_label("Name").fill("script")
    page.get_by_label("For which cluster or recording").select_option(value=f"source-{number}")
    page.get_by_role("button", name="Create the token").click()
    token = page.locator("#text").inner_text()
    ring = {"namespace": "vol-restart", "service": "ring"}
    alerts = [alert("ServiceDown", 0, 10, **ring), alert("Watchdog", -60, None), alert("Brief", -10, 0, pod="nobody")]
    sent = httpx.post(f"{site}/api/receivers/json", json=alerts, headers={"Authorization": f"Bearer {token}"})
    assert sent.json() == {"received": 3}
    return recording


def test_alerts_are_bars_above_the_axis_and_open_in_a_panel(page: Page, with_alerts: str) -> None:
    page.goto(f"{with_alerts}?{VIEW}")
    lane = page.get_by_role("region", name="Alerts")
    expect(lane.get_by_role("button")).to_have_count(3)
    expect(page.locator("#axis-alerts button")).to_have_count(2)  # Watchdog began before what is shown
    expect(lane.get_by_role("button", name="Watchdog")).to_have_class("alert-bar firing")
    lane.get_by_role("button", name="ServiceDown").click()
    panel = page.get_by_role("dialog", name="Alert ServiceDown")
    expect(panel).to_contain_text('<img src=x onerror="document.title=1">')
    expect(panel).to_contain_text("resolved")
    expect(panel.get_by_role("link", name="prometheus.example")).to_have_attribute(
        "rel", "noopener noreferrer nofollow"
    )
    expect(panel.get_by_role("link", name="Service vol-restart/ring")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(lane.get_by_role("button", name="ServiceDown")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Alert Brief")).to_contain_text("Not linked: No pod nobody")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Fit all").click()
    settled(page)
    expect(lane.get_by_role("button")).to_have_count(3)


@EVERYWHERE
def test_alerts_can_be_used_by_everyone(page: Page, with_alerts: str, size: ViewportSize, themes: Themes) -> None:
    page.emulate_media(color_scheme=themes[0])
    page.set_viewport_size(size)
    page.goto(f"{with_alerts}?{VIEW}")
    if size == PHONE:
        page.get_by_role("button", name="Timeline").click()
    page.get_by_role("region", name="Alerts").get_by_role("button", name="ServiceDown").click()
    expect(page.locator("#alert")).to_be_visible()
    assert complaints_of_axe(page, themes) == []
    page.goto("/alerts/")
    page.locator(".alerts summary").first.click()
    fits(page)
    assert complaints_of_axe(page, themes) == []
