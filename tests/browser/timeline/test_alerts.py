"""Alerts on the timeline: the lane above the axis, the panel of one, and the page that lists them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from playwright.sync_api import Page, expect

from tests.browser.everyone import EITHER, PHONE, complaints_of_axe, usable_everywhere
from tests.browser.looking import settled
from tests.browser.timeline.conftest import DELETED

SECOND = 1_000_000
PLANTED = '<img src=x onerror="document.title=1"> \u202eabout'


def alert(name: str, begins: int, seconds: int | None, **labels: str) -> dict[str, Any]:
    def at(second: int) -> str:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=DELETED + second * SECOND)).isoformat()

    given = {"name": name, "starts": at(begins), "labels": labels, "annotations": {"summary": PLANTED}}
    if seconds is not None:
        given |= {"status": "resolved", "ends": at(begins + seconds)}
    return {**given, "url": "https://prometheus.example/graph"}


def test_alerts_are_bars_above_the_axis_and_open_in_a_panel(page: Page, site: str, recording: str) -> None:
    page.goto("/tokens/")
    page.get_by_label("alerts", exact=False).first.check()
    page.get_by_label("Name").fill("script")
    number = recording.strip("/").rpartition("/")[2]
    page.get_by_label("For which cluster or recording").select_option(value=f"source-{number}")
    page.get_by_role("button", name="Create the token").click()
    token = page.locator("#text").inner_text()
    ring = {"namespace": "vol-restart", "service": "ring"}
    alerts = [alert("ServiceDown", 0, 10, **ring), alert("Watchdog", -60, None), alert("Brief", -10, 0, pod="nobody")]
    sent = httpx.post(f"{site}/api/receivers/json", json=alerts, headers={"Authorization": f"Bearer {token}"})
    assert sent.json() == {"received": 3}

    page.goto(f"{recording}?start={DELETED - 20 * SECOND}&end={DELETED + 20 * SECOND}")
    lane = page.get_by_role("region", name="Alerts")
    down = lane.get_by_role("button", name="ServiceDown")
    expect(lane.get_by_role("button")).to_have_count(3)
    expect(page.locator("#axis-alerts button")).to_have_count(2)  # Watchdog began before what is shown
    expect(lane.get_by_role("button", name="Watchdog")).to_have_class("alert-bar firing")
    down.click()
    panel = page.get_by_role("dialog", name="Alert ServiceDown")
    expect(panel).to_contain_text('<img src=x onerror="document.title=1">')
    expect(panel).to_contain_text("resolved")
    away = panel.get_by_role("link", name="prometheus.example")
    expect(away).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(panel.get_by_role("link", name="Service vol-restart/ring")).to_be_visible()
    assert complaints_of_axe(page, EITHER) == []
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(down).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Alert Brief")).to_contain_text("Not linked: No pod nobody")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Fit all").click()
    settled(page)
    expect(lane.get_by_role("button")).to_have_count(3)
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Timeline").click()
    down.click()
    expect(panel).to_be_visible()
    assert complaints_of_axe(page) == []
    page.goto("/alerts/")
    page.locator(".alerts summary").first.click()
    usable_everywhere(page)
