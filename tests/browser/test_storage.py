"""What is kept and what was deleted, in a real browser: the page Storage, and a recording with freed spans."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from collectors.formats import own
from tests.browser.conftest import fits, imported, settled
from tests.browser.test_with_axe import complaints_of_axe, usable_everywhere
from tests.live import observations
from timeline.core.entries import Entry, Mark, MarkType

ENGINE = Path(__file__).parents[1] / "data" / "engine"


@pytest.fixture(scope="module")
def thinned(site: str) -> str:
    """Return the address of a recording of which some seconds were deleted."""
    observed = observations(ENGINE / "jobs-watch")
    first = min(each.arrived for each in observed if isinstance(each, Entry))
    freed = Mark("", "", "", MarkType.FREED, first + 4_000_000, since=first + 2_000_000)
    return imported(site, "thinned.jsonl", b"".join(own.write([*observed, freed])))


def test_a_hold_is_placed_and_lifted_and_days_are_changed(page: Page, recording: str) -> None:
    page.goto("/storage/")
    number = recording.strip("/").rpartition("/")[2]
    row = page.locator("li", has=page.locator(f"a[href='{recording}']"))
    summary = row.locator("summary", has_text="Put under a legal hold")
    summary.focus()
    page.keyboard.press("Enter")
    row.locator("summary", has_text="Change how long it is kept").click()
    usable_everywhere(page)
    row.locator(f"#reason-{number}").fill("Case 41")
    page.keyboard.press("Enter")
    expect(row.get_by_text("Held: Case 41.")).to_be_visible()
    expect(row.get_by_text("Nothing is deleted while the legal hold lasts.")).to_be_visible()
    usable_everywhere(page)
    row.get_by_role("button", name="Lift the legal hold").click()
    row.locator("summary", has_text="Change how long it is kept").click()
    row.get_by_label("Days", exact=True).fill("36500")
    row.get_by_role("button", name="Save").click()
    expect(row.get_by_text("It will be deleted")).to_be_visible()
    row.locator("summary", has_text="Change how long it is kept").click()
    expect(row.get_by_label("Days", exact=True)).to_have_value("36500")
    row.get_by_label("Days", exact=True).fill("")
    row.get_by_role("button", name="Save").click()
    expect(row.get_by_text("It is kept until somebody deletes it.")).to_be_visible()


def test_deleted_times_are_shown_with_words(page: Page, thinned: str) -> None:
    page.goto(thinned)
    settled(page)
    words = "Changes of this time were deleted by retention."
    expect(page.locator("#minimap-picture title", has_text=words)).to_have_count(1)
    expect(page.locator("rect.gap").first).to_be_attached()
    page.goto(f"{thinned}coverage/")
    expect(page.get_by_role("heading", name="What was deleted")).to_be_visible()
    fits(page)
    assert complaints_of_axe(page, ("light", "dark")) == []
