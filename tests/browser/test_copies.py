"""The timeline and the page of an incident show an act on an old copy, and how the copy differed from what stood."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import imported
from tests.browser.test_with_axe import EVERYWHERE, WIDE, Themes, complaints_of_axe

EXCESS = Path(__file__).parents[1] / "rules/stale-view/fires-after-its-job-was-complete.jsonl"


@pytest.fixture(scope="module")
def excess(site: str) -> str:
    """The path of the timeline of a recording in which a Pod was created on an old copy of its Job."""
    return imported(site, EXCESS.name, EXCESS.read_bytes())


@EVERYWHERE
def test_an_act_shows_its_copy_beside_what_stood(page: Page, excess: str, size: ViewportSize, themes: Themes) -> None:
    page.emulate_media(color_scheme=themes[0])
    page.set_viewport_size(size)
    page.goto(f"{excess}incidents/")
    page.get_by_role("link", name=re.compile("Pod report-0-r9wx8 was created ≈ 0.98 s after")).first.click()
    view = page.get_by_role("region", name="What job-controller had seen of Job report-0")
    expect(view.get_by_role("img", name=re.compile("^Revisions of Job report-0"))).to_be_visible()
    expect(view.locator(".view-copy")).to_contain_text("From its copy, revision 481, to what stood, revision 581")
    assert complaints_of_axe(page, themes) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    refused = view.get_by_role("button", name=re.compile("update refused")).first
    refused.press("Enter")
    expect(refused).to_have_attribute("aria-pressed", "true")
    expect(view.locator(".view-copy")).to_contain_text("All changes of Job report-0")
    if size != WIDE:
        return
    page.get_by_role("link", name="Show on the timeline").click()
    page.get_by_role("button", name="seen by job-controller").press("Enter")
    panel = page.get_by_role("dialog", name=re.compile("job-controller: "))
    expect(panel.locator(".diff")).to_contain_text("type: Complete")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="seen by job-controller")).to_be_focused()
    page.locator("#overlay .view-act.old").last.hover(force=True)
    expect(page.locator("#tip")).to_contain_text("of Job report-0")
    expect(page.locator("#tip .diff")).to_contain_text("reason: CompletionsReached")
    assert complaints_of_axe(page, themes) == []


@EVERYWHERE
def test_the_page_of_actors_leads_to_what_an_actor_changed(
    page: Page, excess: str, size: ViewportSize, themes: Themes
) -> None:
    page.emulate_media(color_scheme=themes[0])
    page.set_viewport_size(size)
    page.goto(f"{excess}actors/?order=lag")
    row = page.get_by_role("row", name=re.compile("job-controller"))
    expect(row).to_contain_text("stale")
    assert complaints_of_axe(page, themes) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    if size == WIDE:
        row.get_by_role("link", name="job-controller").click()
        expect(page.locator("#filtered")).to_contain_text("system:kube-controller-manager")
