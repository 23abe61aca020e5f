"""A browser shows why an incident happened: on the timeline, and on the page of the incident."""

from playwright.sync_api import Page, expect

from dashboard.services.launcher import CAUSE
from tests.browser.conftest import fits, imported
from tests.browser.test_with_axe import EITHER, PHONE, WIDE, complaints_of_axe

BECAUSE = "Because job-controller created Pod report-0-r9wx8 when Job report-0 was Complete."


def test_the_timeline_and_the_page_of_an_incident_say_its_cause(page: Page, site: str) -> None:
    page.set_viewport_size(WIDE)
    page.goto(imported(site, "why.jsonl.zst", CAUSE.read_bytes()))
    shown = page.locator(".incident.open")
    expect(shown.locator(".because")).to_have_count(1)  # the finding says the same, and does not repeat it
    expect(shown.locator(".because")).to_contain_text(BECAUSE)
    expect(page.locator(".incident:not(.open)", has_text="cause known")).to_have_count(0)
    shown.get_by_role("button", name="Pod report-0-r9wx8 was created").first.click()
    expect(page.locator(".incident", has_text="cause known")).to_have_count(1)
    page.locator(".incident", has_text="cause known").get_by_role("button").first.click()
    page.get_by_role("link", name="This incident").click()
    cause = page.get_by_role("region", name="Cause", exact=True)
    expect(cause).to_contain_text(BECAUSE)
    expect(cause.get_by_role("listitem")).to_have_count(3)
    assert complaints_of_axe(page, EITHER) == []
    page.set_viewport_size(PHONE)
    fits(page)
    assert complaints_of_axe(page, ("light",)) == []
    cause.get_by_role("link", name="Job report-0 was Complete").click()
    expect(page.locator("li:target, .asked")).to_contain_text("581")
