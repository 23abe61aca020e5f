"""Where the link of an alert lands: the object in hand, the moment on the axis, its findings first."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import opened, settled

STEADY = '.lane[data-lane="Pod/vol-restart/ring-steady-0"]'
ALERTED = "/go?namespace=vol-restart&pod=ring-steady-0&at=2026-11-21T"

pytestmark = pytest.mark.usefixtures("recording")


def test_the_pod_is_highlighted_within_its_job_and_the_moment_marked(page: Page) -> None:
    opened(page, f"{ALERTED}07:52:33Z")
    expect(page.locator("#landed")).to_contain_text("Pod ring-steady-0 ")
    expect(page.locator(STEADY).first).to_be_in_viewport()
    expect(page.locator("#overlay .lane-hand")).to_be_attached()
    expect(page.locator(".axis .alert")).to_contain_text("alert")
    page.locator("#reset").click()
    expect(page.locator("#landed")).to_be_visible()
    search = settled(page)
    assert "about=" in search and "at=1795247553000000" in search
    opened(
        page, f"{ALERTED}08:05:00Z"
    )  # outside of the view: its clock is shown, since the banner shows another distance
    expect(page.locator(".axis .alert")).to_have_text("alert 08:05:00 ▸")


def test_the_incidents_of_the_job_of_the_object_are_listed_and_the_chip_brings_back_all(page: Page) -> None:
    opened(page, f"{ALERTED}07:52:20Z")
    first = "Service ring was away under 3 Pods, 2 times"
    expect(page.locator("#findings-count")).to_have_text("1 incident · 2 symptoms · 5 findings")
    expect(page.locator(".incident.open h3")).to_contain_text(first)
    expect(page.locator(".finding.selected")).to_be_visible()
    expect(page).to_have_url(re.compile(r"focus=\d+"))  # which the report of the view takes, too
    page.get_by_role("button", name="Remove the filter focus: Job ring").click()
    expect(page.locator("#findings-count")).to_have_text("2 incidents · 4 symptoms · 7 findings")
    expect(page.locator(".incident h3").first).to_contain_text(first)  # of the object that the link names
    expect(page).not_to_have_url(re.compile("focus="))
    page.goto("/go?namespace=vol-restart&kind=po&name=ring-steady-0")
    expect(page.locator(".finding.selected")).to_contain_text("Service ring was away")
    expect(page.locator(STEADY).first).to_be_attached()
