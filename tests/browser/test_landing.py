"""Where the link of an alert lands: the object in hand, the moment on the axis, its findings first."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import RETRIES, Complaints, fits, settled
from tests.browser.test_with_axe import PHONE, WIDE, complaints_of_axe

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
def test_the_findings_that_name_the_object_come_first(page: Page) -> None:
    answer = page.request.get(
        "/go?namespace=vol-restart&pod=ring-steady-0&at=2026-11-21T07:52:20Z", max_redirects=0, max_retries=RETRIES
    )
    address = answer.headers["location"]
    source = address.split("/")[2]
    about = address.partition("about=")[2].partition("&")[0]
    own = page.request.get(f"/api/sources/{source}/findings?about={about}", max_retries=RETRIES).json()["findings"]
    every = page.request.get(f"/api/sources/{source}/findings", max_retries=RETRIES).json()["findings"]
    assert 0 < len(own) < len(every)
    page.goto(address)
    rows = page.locator("#finding-list [data-finding]")
    expect(rows).to_have_count(len(every))
    shown = rows.evaluate_all("rows => rows.map((row) => row.dataset.finding)")
    assert set(shown[: len(own)]) == {each["key"] for each in own}


@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize(
    "question", ["pod=ring-weak-0&at=2026-11-21T07:52:33Z", "pod=ring-weak-0&at=2026-11-23T07:52:33Z", "pod=r&at=x"]
)
def test_nobody_is_left_out(page: Page, complaints: Complaints, size: ViewportSize, question: str) -> None:
    complaints.expect("400 (Bad Request)")
    page.set_viewport_size(size)
    page.goto(f"/go?namespace=vol-restart&{question}")
    expect(page.locator("h1")).to_be_attached()
    assert complaints_of_axe(page) == []
    fits(page)


@pytest.mark.usefixtures("recording")
def test_an_alert_outside_of_the_view_is_marked_with_its_clock(page: Page) -> None:
    """Not with its distance from the view: the banner tells another one, from the end of the object."""
    landed(page, "pod=ring-steady-0&at=2026-11-21T08:05:00Z")
    expect(page.locator(".axis .alert")).to_have_text("alert 08:05:00 ▸")
