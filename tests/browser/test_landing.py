"""Where the link of an alert lands: the object in hand, the moment on the axis, its findings first."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Complaints, settled
from tests.browser.test_with_axe import usable_everywhere

STEADY = "Pod/vol-restart/ring-steady-0"


def landed(page: Page, question: str) -> Page:
    page.goto(f"/go?namespace=vol-restart&{question}")
    settled(page)
    expect(page.locator("#figure[data-drawn]")).to_be_attached()
    return page


@pytest.mark.usefixtures("recording")
def test_the_pod_is_highlighted_within_its_job_and_the_moment_marked(page: Page) -> None:
    landed(page, "pod=ring-steady-0&at=2026-11-21T07:52:33Z")
    expect(page.locator("#landed")).to_contain_text("Pod ring-steady-0 ")
    expect(page.locator(f'.lane[data-lane="{STEADY}"]').first).to_be_in_viewport()
    expect(page.locator("#overlay .lane-hand")).to_be_attached()
    expect(page.locator(".axis .alert")).to_contain_text("alert")
    page.locator("#reset").click()
    expect(page.locator("#landed")).to_be_visible()
    search = settled(page)
    assert "about=" in search and "at=1795247553000000" in search


@pytest.mark.usefixtures("recording")
def test_the_incidents_of_the_job_of_the_object_are_listed_and_the_chip_brings_back_all(page: Page) -> None:
    landed(page, "pod=ring-steady-0&at=2026-11-21T07:52:20Z")
    expect(page.locator("#findings-count")).to_have_text("2 incidents · 5 findings")
    expect(page.locator(".incident.open h3")).to_have_text("Service ring was away under 3 Pods, 2 times")
    expect(page.locator(".finding.selected")).to_be_visible()
    expect(page).to_have_url(re.compile(r"focus=\d+"))  # which the report of the view takes, too
    page.get_by_role("button", name="Remove the filter focus: Job ring").click()
    expect(page.locator("#findings-count")).to_have_text("6 incidents · 10 findings")
    first = page.locator(".incident").first  # the object that the link names still comes first
    expect(first.locator("h3")).to_have_text("Service ring was away under 3 Pods, 2 times")
    expect(page).not_to_have_url(re.compile("focus="))


@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize(
    "question", ["pod=ring-weak-0&at=2026-11-21T07:52:33Z", "pod=ring-weak-0&at=2026-11-23T07:52:33Z", "pod=r&at=x"]
)
def test_nobody_is_left_out(page: Page, complaints: Complaints, question: str) -> None:
    complaints.expect("400 (Bad Request)")
    page.goto(f"/go?namespace=vol-restart&{question}")
    expect(page.locator("h1")).to_be_attached()
    usable_everywhere(page)


@pytest.mark.usefixtures("recording")
def test_an_alert_outside_of_the_view_is_marked_with_its_clock(page: Page) -> None:
    """Not with its distance from the view: the banner tells another one, from the end of the object."""
    landed(page, "pod=ring-steady-0&at=2026-11-21T08:05:00Z")
    expect(page.locator(".axis .alert")).to_have_text("alert 08:05:00 ▸")
