"""What an operator does in a real browser: tokens, routes, the audit trail, and how long something is kept."""

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from collectors.formats import own
from tests import ROOT
from tests.browser.conftest import imported
from tests.browser.everyone import usable_everywhere
from tests.browser.looking import copied, opened
from tests.inputs.live import observations
from tests.servers.answering import receiving
from timeline.core.entries import Entry, Mark, MarkType


def test_a_token_is_made_and_copied(page: Page, site: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site)
    page.goto("/clusters/")
    page.locator(".account summary").click()
    page.get_by_role("link", name="Access tokens").click()
    page.get_by_label("Name").fill("grafana")
    page.get_by_role("button", name="Create the token").click()
    text = page.locator("#text").inner_text()
    page.get_by_role("button", name="Copy the token").click()
    assert copied(page, text) == text
    usable_everywhere(page)
    page.goto("/tokens/")
    page.get_by_role("button", name="Revoke grafana").click()
    expect(page.get_by_role("heading", name="Revoke grafana?")).to_be_visible()
    usable_everywhere(page)


def test_the_pages_of_routes_can_be_used_by_everyone(page: Page, site: str) -> None:
    page.goto("/incidents/")
    page.get_by_role("link", name="Routes").click()
    with receiving() as receiver:
        page.get_by_label("New destination").select_option("webhook")
        page.get_by_role("button", name="Continue…").click()
        for label, value in {"Name": "pager", "Address": f"{receiver.url}/hook", "Secret": "s" * 32}.items():
            page.get_by_label(label).fill(value)
        usable_everywhere(page)
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Send a test message to pager").click()
        expect(page.get_by_role("status")).to_contain_text("sent. 200 OK")
    page.get_by_role("link", name="New route…").click()
    page.get_by_label("Name", exact=True).fill("pager")
    page.get_by_role("checkbox", name="pager").check()
    page.get_by_text("Quiet hours").click()
    page.get_by_label("Saturday").check()
    usable_everywhere(page)
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Disable pager").click()
    expect(page.get_by_role("button", name="Enable pager")).to_be_visible()
    usable_everywhere(page)
    page.get_by_role("link", name="Deliveries").click()
    expect(page.get_by_text("to pager")).to_be_visible()
    usable_everywhere(page)


def test_what_was_seen_is_listed_filtered_and_downloaded(page: Page, recording: str) -> None:
    page.goto(f"{recording}coverage/")
    page.goto("/clusters/")
    page.locator(".account summary").click()
    page.get_by_role("link", name="Audit trail").click()
    expect(page.locator("main li").first).to_contain_text("start-up token")
    usable_everywhere(page)
    page.get_by_label("Action").select_option("see")
    page.get_by_role("button", name="Show", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download what matches as lines of JSON").click()
    lines = [json.loads(each) for each in Path(download.value.path()).read_text(encoding="utf-8").splitlines()]
    assert {each["action"] for each in lines} == {"see"}


def test_a_hold_is_placed_with_the_keyboard_and_lifted(page: Page, recording: str) -> None:
    page.goto("/storage/")
    number = recording.strip("/").rpartition("/")[2]
    row = page.locator("li", has=page.locator(f"a[href='{recording}']"))
    row.locator("summary", has_text="Put under a legal hold").focus()
    page.keyboard.press("Enter")
    row.locator("summary", has_text="Change how long it is kept").click()
    usable_everywhere(page)
    row.locator(f"#reason-{number}").fill("Case 41")
    page.keyboard.press("Enter")
    expect(row.get_by_text("Held: Case 41.")).to_be_visible()
    expect(row.get_by_text("Nothing is deleted while the legal hold lasts.")).to_be_visible()
    usable_everywhere(page)
    row.get_by_role("button", name="Lift the legal hold").click()
    expect(row.get_by_text("Held: Case 41.")).to_have_count(0)


def test_deleted_times_are_shown_with_words(page: Page, site: str) -> None:
    observed = observations(ROOT / "tests/data/engine/jobs-watch")
    first = min(each.arrived for each in observed if isinstance(each, Entry))
    freed = Mark("", "", "", MarkType.FREED, first + 4_000_000, since=first + 2_000_000)
    thinned = imported(site, "thinned.jsonl", b"".join(own.write([*observed, freed])))
    opened(page, thinned)
    words = "Changes of this time were deleted by retention."
    expect(page.locator("#minimap-picture title", has_text=words)).to_have_count(1)
    expect(page.locator("rect.gap").first).to_be_attached()
    page.goto(f"{thinned}coverage/")
    expect(page.get_by_role("heading", name="What was deleted")).to_be_visible()
    usable_everywhere(page)
