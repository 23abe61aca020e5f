"""The pages of incidents in a browser: a list that moves by itself, acknowledging many, silences, everybody's use."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests import ROOT
from tests.browser.conftest import come_in, imported, settled
from tests.browser.test_live import CALM, OVER, Worker
from tests.browser.test_live import worker as worker  # a fixture
from tests.browser.test_with_axe import usable_everywhere
from tests.patience import patient
from tests.visitor import Visitor

GAP = "Service ring was away under 3 Pods, 2 times"
AT = """(title) => {
  window.appeared = 0;
  const look = () => {
    const shown = document.getElementById("incidents").textContent.includes(title);
    if (shown) appeared ||= performance.timeOrigin + performance.now();
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
}"""


@pytest.fixture(scope="module")
def own(site: str) -> str:
    """The list of incidents of a recording that only these tests change."""
    sample = ROOT / "dashboard/samples/volcano-restart.jsonl.zst"
    return imported(site, "incidents.jsonl.zst", sample.read_bytes()) + "incidents/"


@pytest.fixture
def untouched(page: Page, own: str) -> Iterator[str]:
    """The same list, with nothing acknowledged and no silence before and after the test."""
    yield own
    page.goto(f"{own}?acknowledged=true&silenced=true")
    for link in [each.get_attribute("href") for each in page.locator("tr.known th a").all()]:
        page.goto(str(link))
        if page.get_by_role("button", name="Remove acknowledgement").count():
            page.get_by_role("button", name="Remove acknowledgement").click()
            expect(page.get_by_role("button", name="Acknowledge", exact=True)).to_be_visible()
    page.goto("/silences/")
    while (held := page.get_by_role("button", name=re.compile("^Expire now"))).count():
        before = held.count()
        held.first.click()
        expect(held).to_have_count(before - 1)


def test_a_new_violation_is_in_view_within_a_second(page: Page, worker: Worker) -> None:
    address = worker.begin()
    worker.do("until", CALM)
    come_in(page.context, address)
    with page.expect_event("websocket"):
        page.goto(f"{address}incidents/")
    expect(page.locator("#incidents")).to_contain_text("elect on one Lease volcano")
    page.wait_for_load_state("networkidle")  # the update that follows the connection is over
    page.evaluate(AT, "Service ring was away")
    worker.do("until", OVER)
    committed = page.evaluate("performance.timeOrigin + performance.now()")
    expect(page.locator("#incidents")).to_contain_text("Service ring was away")
    expect(page.locator("#announce")).to_have_text(re.compile(r"^\d+ new incidents?$"))
    assert page.evaluate("appeared") - committed < 1000 * patient(1)


def test_what_is_entered_stays_while_the_list_is_renewed(page: Page, worker: Worker) -> None:
    address = worker.begin()
    worker.do("until", CALM)
    come_in(page.context, address)
    page.goto(f"{address}incidents/")
    box = page.get_by_role("checkbox", name=re.compile("^Select: Deployment"))
    box.check()
    note = page.get_by_role("textbox", name="Note")
    note.fill("who looks after it")
    worker.do("until", OVER)
    expect(page.locator("#incidents")).to_contain_text("Service ring was away")
    expect(box).to_be_checked()
    expect(note).to_have_value("who looks after it")
    expect(note).to_be_focused()
    expect(page.get_by_role("button", name="Acknowledge 1", exact=True)).to_be_visible()


def test_many_are_acknowledged_and_that_is_undone(page: Page, untouched: str) -> None:
    page.goto(untouched)
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(page.get_by_role("button", name="Acknowledge 6")).to_be_visible()
    page.get_by_role("checkbox", name=f"Select: {GAP}").uncheck()
    page.get_by_role("textbox", name="Note").fill("ticket 7")
    page.get_by_role("button", name="Acknowledge 5").click()
    expect(page.get_by_text("5 incidents acknowledged.")).to_be_visible()
    expect(page.locator(".incidents tbody tr")).to_have_count(1)
    expect(page.locator(".incidents tbody tr")).to_contain_text(GAP)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".incidents tbody tr")).to_have_count(6)


def test_the_filter_is_applied_as_it_is_chosen_and_kept_in_the_address(page: Page, untouched: str) -> None:
    page.goto(untouched)
    page.get_by_label("Namespace").select_option("vol-restart")
    expect(page.locator(".incidents tbody tr")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"\?namespace=vol-restart&order=gravest$"))
    page.get_by_label("Words").fill("away")
    expect(page.locator(".incidents tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=away"))
    page.reload()
    expect(page.get_by_label("Namespace")).to_have_value("vol-restart")
    page.get_by_role("link", name="Clear").click()
    expect(page.locator(".incidents tbody tr")).to_have_count(6)


def test_an_incident_is_silenced_from_its_page(page: Page, untouched: str) -> None:
    page.goto(untouched)
    page.get_by_role("link", name=GAP).click()
    page.get_by_role("link", name="Silence…").click()
    expect(page.get_by_text("It matches 1 incident that is known now")).to_be_visible()
    page.get_by_label("Reason").fill("nightly")
    page.get_by_role("button", name="Silence", exact=True).click()
    expect(page.get_by_text(re.compile("^Silenced until .* UTC: nightly$"))).to_be_visible()
    page.goto(untouched)
    expect(page.locator(".totals")).to_contain_text("1 silenced")
    expect(page.locator(".incidents tbody tr")).to_have_count(5)
    page.locator(".totals").get_by_role("link", name="show").first.click()
    expect(page.locator(".incidents tbody tr")).to_have_count(6)


@pytest.mark.usefixtures("own")
def test_the_home_page_leads_to_all_incidents_and_hears_of_an_acknowledgement(page: Page, site: str) -> None:
    page.goto("/")
    # Which incidents it shows depends on how many recordings there are.
    address = str(page.locator("a.newest-incident:not(.acknowledged)").first.get_attribute("href"))
    ((source, identity),) = re.findall(r"^/sources/(\d+)/incidents/(\w+)/", address)
    link = page.locator(f".newest a[href='{address}']")
    visitor, known = Visitor(site), json.dumps({"incidents": [identity]}).encode()
    visitor.ask("POST", f"/api/sources/{source}/acknowledgements", known, Content_Type="application/json")
    expect(link).to_have_class(re.compile("acknowledged"))
    visitor.ask("DELETE", f"/api/sources/{source}/incidents/{identity}/acknowledgement")
    expect(link).not_to_have_class(re.compile("acknowledged"))
    page.locator("#newest").get_by_role("link", name="All incidents", exact=True).click()
    expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()


def test_the_page_of_an_incident_leads_to_its_timeline(page: Page, own: str) -> None:
    page.goto(own)
    page.get_by_role("link", name=GAP).click()
    page.get_by_role("link", name="Show on the timeline").click()
    expect(page.locator(".finding.selected")).to_be_visible()
    settled(page)
    page.locator("#findings").get_by_role("link", name="All ›").click()
    expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()


def test_the_pages_of_incidents_can_be_used_by_everyone(page: Page, own: str) -> None:
    page.goto(own)
    page.get_by_role("checkbox", name=f"Select: {GAP}").check()
    usable_everywhere(page)
    page.get_by_role("link", name=GAP).click()
    expect(page.get_by_role("heading", name="What to do")).to_be_visible()
    usable_everywhere(page)
    page.get_by_role("link", name="Silence…").click()
    expect(page.get_by_label("Reason")).to_be_visible()
    usable_everywhere(page)
    for address in ("/incidents/", "/silences/", own.replace("incidents/", "baseline/")):
        page.goto(address)
        usable_everywhere(page)
