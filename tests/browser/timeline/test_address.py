"""The address of a timeline holds the whole view, which is shared and gone back to; and what fails is said."""

import re

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Complaints
from tests.browser.looking import copied, opened, press_and_read, settled
from tests.browser.timeline.conftest import AT_ONCE, AWAY, SERVICE, START

ASKED = re.compile(r"/sources/\d+/(opening|window)\b")  # the requests that bring the first window
BERLIN = "Europe/Berlin +01:00"


def test_the_address_holds_the_whole_view(page: Page, address: str, context: BrowserContext) -> None:
    opened(
        page,
        f"{address}&axis=order&group=kind&kinds=Pods,Services&closed=Services&pins={SERVICE}"
        "&lane=Pod/vol-restart/ring-weak-0&arrows=470b8537531ff0cd",
    )
    page.get_by_role("button", name="2 Pods created before Service ring").click()
    page.keyboard.press("w")
    search = settled(page)
    other = opened(context.new_page(), f"{address.partition('?')[0]}{search}")
    for selector in (".lane-name", ".group-name", "#axis span", ".birth", ".pill-label", ".token", "#range"):
        expect(other.locator(selector)).to_have_text(page.locator(selector).all_text_contents())
    expect(other.locator(".lane.current .lane-name")).to_have_text("ring-weak-0")
    expect(other.locator(".finding.selected h4")).to_have_text(re.compile("^Pod ring-weak-0 was created ≈ 30 ms"))
    expect(other.locator("[data-kind=Pods]")).to_have_attribute("aria-pressed", "true")
    assert settled(other) == settled(page) == search


def test_the_back_button_leads_to_what_was_seen_last(timeline: Page) -> None:
    before = settled(timeline)
    seen = timeline.evaluate(AT_ONCE % "keys.d(); const seen = store.search(); keys.t(); return seen")
    assert seen != before
    expect(timeline.get_by_role("table")).to_be_visible()  # a step of the history
    timeline.evaluate(AT_ONCE % "keys.d(); history.go(-2)")  # the pan is a step, too
    expect(timeline.locator("#bench")).to_be_visible()
    assert settled(timeline) == seen
    timeline.wait_for_timeout(300)  # what the page left would be written by now
    assert settled(timeline) == seen


def test_a_view_is_shared_and_reported_with_its_address(timeline: Page, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    timeline.keyboard.press("w")
    timeline.get_by_role("button", name="Share view…").click()
    dialog = timeline.get_by_role("dialog", name="Share this view")
    press_and_read(dialog.get_by_role("button", name="Copy the address"), "Copied")
    dialog.get_by_role("button", name="Close").click()
    shared = copied(timeline, f"finding={AWAY}")
    assert shared.startswith("http") and str(START) not in shared
    timeline.get_by_role("button", name="Report").click()
    expect(timeline.get_by_label("The open incident")).to_be_checked()
    expect(timeline.locator("#report-incident")).to_contain_text("Service ring was away")
    timeline.get_by_label("What the timeline shows now").check()
    expect(timeline.locator("#report-view")).to_contain_text("UTC")
    with timeline.expect_request(lambda request: request.method == "POST") as asked:
        timeline.get_by_role("button", name="Copy as Markdown").click()
    assert asked.value.url.partition("?")[2] == shared.partition("?")[2]


def test_all_times_follow_the_zone_that_the_reader_chooses(timeline: Page, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    zone, axis = timeline.locator("#zone"), timeline.locator("#axis")
    column = timeline.get_by_role("columnheader", name="Time (Europe/Berlin)")
    expect(zone).to_have_text("UTC")
    expect(axis).to_contain_text("07:52:01.000")
    timeline.keyboard.press("z")
    expect(zone).to_have_text(BERLIN)
    expect(timeline.locator("#range")).to_have_text("08:52:00.740 – 08:52:01.200")
    expect(axis).to_contain_text("08:52:01.000")
    shown = timeline.locator(".incident.open .when").first
    expect(shown).to_contain_text("08:52:00")
    expect(shown).to_have_attribute("title", f"2026-11-21 08:52:00 {BERLIN}\n2026-11-21 07:52:00 UTC")
    timeline.locator(f'[data-lane="{SERVICE}"] a').focus()
    timeline.keyboard.press(".")
    expect(timeline.locator("#announce")).to_contain_text(f"deleted, 08:52:00.841106 {BERLIN}, revision 582")
    expect(timeline.locator("#tip .mono")).to_have_text(f"08:52:00.841106 {BERLIN} · RV 582\n07:52:00.841106 UTC")
    timeline.keyboard.press("t")
    expect(column).to_be_visible()
    expect(timeline.get_by_role("cell", name="08:52:00.841", exact=True).first).to_be_visible()

    timeline.locator(".incident.open").get_by_role("link", name="This incident").click()
    proof = timeline.locator(".events time").first
    expect(proof).to_have_text(re.compile(r"^08:52:00\.\d{6}$"))
    expect(column).to_be_visible()
    since = re.compile(r"[Ss]ince 2026-11-21 08:5\d:\d\d Europe/Berlin \+01:00")
    expect(timeline.locator(".course-of")).to_contain_text(since)
    expect(timeline.locator(".picture-axis")).to_contain_text("08:52:00")
    proof.evaluate("(element) => getSelection().selectAllChildren(element)")
    timeline.keyboard.press("ControlOrMeta+c")
    both = copied(timeline, "UTC")
    assert re.fullmatch(r"08:52:00\.(\d{6}) \(2026-11-21 07:52:00\.\1 UTC\)\s*", both)
    expect(proof).to_have_text(re.compile(r"^08:52:00\.\d{6}$"))  # as before the copy
    timeline.get_by_role("button", name="Show them in UTC").focus()
    timeline.keyboard.press("Enter")
    expect(proof).to_have_text(re.compile(r"^07:52:00\.\d{6}$"))
    expect(timeline.get_by_role("columnheader", name="Time (UTC)")).to_be_visible()


def test_what_fails_says_so_and_is_tried_again(page: Page, address: str, complaints: Complaints) -> None:
    complaints.expect("Failed to load resource")
    notice, lane = page.locator("#notice"), page.locator(".lane").first
    page.route(ASKED, lambda route: route.fulfill(status=500))
    page.goto(address)
    expect(notice).to_contain_text("The server failed")
    page.unroute(ASKED)
    page.get_by_role("button", name="Try again").click()
    expect(notice).to_be_hidden()
    expect(lane).to_be_visible()

    for nobody_answers in ASKED, re.compile(r"/api/sources/"):
        page.route(nobody_answers, lambda route: route.abort())
        page.goto(address)
        expect(notice).to_contain_text("cannot be reached")
        page.unroute(nobody_answers)
        expect(notice).to_be_hidden()  # it comes back by itself
        expect(lane).to_be_visible()
        expect(page.locator(".finding.selected")).to_be_visible()


def test_what_is_not_there_says_so(page: Page, complaints: Complaints) -> None:
    complaints.expect("status of 404")
    page.goto("/sources/999999/")
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    page.get_by_role("link", name="All recordings").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("recording", ignore_case=True)
