"""The pages of incidents in a browser: a list that moves by itself, acknowledging many, silences, everybody's use."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Worker, come_in, imported
from tests.browser.everyone import usable_everywhere
from tests.browser.looking import settled
from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE
from tests.patience import patient

GAP = "Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same cause"
AT = """(title) => {
  window.appeared = 0;
  const look = () => {
    const shown = document.getElementById("incidents").textContent.includes(title);
    if (shown) appeared ||= performance.timeOrigin + performance.now();
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
}"""
JSON = {"Content_Type": "application/json"}


@pytest.fixture(scope="module")
def own(site: str) -> Iterator[str]:
    """The list of incidents of a recording that only these tests change."""
    recording = imported(site, "incidents.jsonl.zst", SAMPLE.read_bytes())
    yield f"{recording}incidents/"
    Visitor(site).ask("DELETE", f"/api{recording.rstrip('/')}")


def test_a_new_violation_is_in_view_within_a_second_and_what_is_entered_stays(page: Page, worker: Worker) -> None:
    address = worker.begin()
    come_in(page.context, address)
    with page.expect_event("websocket"):
        page.goto(f"{address}incidents/")
    incidents, box = page.locator("#incidents"), page.get_by_role("checkbox", name=re.compile("^Select: Deployment"))
    note = page.get_by_role("textbox", name="Note")
    expect(incidents).to_contain_text("elect on one Lease volcano")
    page.wait_for_load_state("networkidle")  # the update that follows the connection is over
    box.check()
    note.fill("who looks after it")
    page.mouse.move(0, 0)
    page.evaluate(AT, "Service ring was away")
    worker.do("until", worker.OVER)
    committed = page.evaluate("performance.timeOrigin + performance.now()")
    expect(incidents).to_contain_text("Service ring was away")
    expect(page.locator("#announce")).to_have_text(re.compile(r"^\d+ new incidents?$"))
    assert page.evaluate("appeared") - committed < 1000 * patient(1)
    expect(box).to_be_checked()
    expect(note).to_have_value("who looks after it")
    expect(note).to_be_focused()
    expect(page.get_by_role("button", name="Acknowledge 1", exact=True)).to_be_visible()


def test_rows_keep_their_places_while_the_pointer_is_on_them(page: Page, worker: Worker) -> None:
    address = worker.begin()
    come_in(page.context, address)
    with page.expect_event("websocket"):
        page.goto(f"{address}incidents/")
    rows, changed = page.locator(".incidents tbody tr"), page.get_by_role("button", name=re.compile(r"^\d+ changed$"))
    page.wait_for_load_state("networkidle")
    rows.last.hover()
    before = rows.evaluate_all("(rows) => rows.map(({ id }) => id)")
    worker.do("until", worker.OVER)
    expect(changed).to_be_visible()
    assert rows.evaluate_all("(rows) => rows.map(({ id }) => id)") == before
    changed.click()
    expect(page.locator("#incidents")).to_contain_text("Service ring was away")
    expect(changed).to_have_count(0)


def test_many_are_acknowledged_and_that_is_undone_and_filters_are_applied_as_they_are_chosen(
    page: Page, own: str
) -> None:
    page.goto(own)
    rows = page.locator(".incidents tbody tr")
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(page.get_by_role("button", name="Acknowledge 2")).to_be_visible()
    page.get_by_role("checkbox", name=f"Select: {GAP}").uncheck()
    page.get_by_role("textbox", name="Note").fill("ticket 7")
    page.get_by_role("button", name="Acknowledge 1").click()
    expect(page.get_by_text("1 incident acknowledged.")).to_be_visible()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(GAP)
    page.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(2)

    namespace = page.get_by_label("Namespace")
    namespace.select_option("vol-restart")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?namespace=vol-restart&order=gravest$"))
    page.get_by_label("Words").fill("away")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile("q=away"))
    page.reload()
    expect(namespace).to_have_value("vol-restart")
    page.get_by_role("link", name="Clear").click()
    expect(rows).to_have_count(2)
    for typed, asked, many in (("07:52:00", "since:2026-11-21T07:51:30.000000Z until:2026-11-21T07:52:30.000000Z", 2),
                               ("since:07:59 ns:x", "since:2026-11-21T07:59:00.000000Z ns:x", 0)):  # fmt: skip
        page.get_by_label("Words").fill(typed)
        page.get_by_label("Words").press("Enter")
        expect(page.get_by_label("Words")).to_have_value(asked)
        expect(rows).to_have_count(many)
    page.get_by_role("link", name="Clear").click()
    page.locator(".totals").get_by_role("link", name="show").first.click()  # what does no harm
    expect(rows).to_have_count(4)


def test_the_page_of_an_incident_leads_to_its_timeline_and_to_a_silence(page: Page, own: str) -> None:
    page.goto(own)
    page.get_by_role("checkbox", name=f"Select: {GAP}").check()
    usable_everywhere(page)
    page.get_by_role("link", name=GAP).click()
    expect(page.get_by_role("heading", name="What to do")).to_be_visible()
    usable_everywhere(page)
    page.get_by_role("link", name="Show on the timeline").click()
    expect(page.locator(".finding.selected")).to_be_visible()
    settled(page)
    page.locator("#findings").get_by_role("link", name="All ›").click()
    expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()

    page.get_by_role("link", name=GAP).click()
    page.get_by_role("link", name="Silence…").click()
    expect(page.get_by_text("It matches 1 incident that is known now")).to_be_visible()
    usable_everywhere(page)
    page.get_by_label("Reason").fill("nightly")
    page.get_by_role("button", name="Silence", exact=True).click()
    expect(page.get_by_text(re.compile("^Silenced until .* UTC: nightly$"))).to_be_visible()
    page.goto(own)
    rows, totals = page.locator(".incidents tbody tr"), page.locator(".totals")
    expect(totals).to_contain_text("1 silenced")
    expect(rows).to_have_count(1)
    totals.locator("span", has_text="1 silenced").get_by_role("link", name="show").click()
    expect(rows).to_have_count(2)
    for address in ("/incidents/", own.replace("incidents/", "baseline/"), "/silences/"):
        page.goto(address)
        usable_everywhere(page)
    page.get_by_role("button", name=re.compile("^Expire now")).click()
    expect(page.get_by_role("button", name=re.compile("^Expire now"))).to_have_count(0)


@pytest.mark.usefixtures("own")
def test_the_home_page_leads_to_all_incidents_and_hears_of_an_acknowledgement(page: Page, site: str) -> None:
    page.goto("/")
    # Which incidents it shows depends on how many recordings there are.
    address = str(page.locator("a.newest-incident:not(.acknowledged)").first.get_attribute("href"))
    ((source, identity),) = re.findall(r"^/sources/(\d+)/incidents/(\w+)/", address)
    link = page.locator(f".newest a[href='{address}']")
    said = link.locator(".newest-words").inner_text()
    visitor, known = Visitor(site), json.dumps({"incidents": [identity]}).encode()
    visitor.ask("POST", f"/api/sources/{source}/acknowledgements", known, **JSON)
    expect(link).to_have_class(re.compile("acknowledged"))
    expect(link).to_contain_text("acknowledged")
    visitor.ask("DELETE", f"/api/sources/{source}/incidents/{identity}/acknowledgement")
    expect(link).not_to_have_class(re.compile("acknowledged"))
    expect(link).not_to_contain_text("acknowledged")
    link.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(said)
    page.go_back()
    page.locator("#newest").get_by_role("link", name="All incidents", exact=True).click()
    expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()
