"""The run that did not go well is put beside runs that went well, from the page of its object."""

import re

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests import DATA
from tests.browser.conftest import imported
from tests.browser.test_with_axe import EVERYWHERE, WIDE, Themes, complaints_of_axe


@pytest.fixture(scope="module")
def jobs(site: str) -> str:
    """The path of the timeline of a recording in which some Jobs got too many Pods."""
    return imported(site, "stale-jobs.jsonl.zst", (DATA / "compare/stale-jobs.jsonl.zst").read_bytes())


@EVERYWHERE
def test_an_object_is_compared_with_others_like_it(page: Page, jobs: str, size: ViewportSize, themes: Themes) -> None:
    page.emulate_media(color_scheme=themes[0])
    page.set_viewport_size(size)
    page.goto(f"{jobs}incidents/")
    page.get_by_role("link", name="Job queue").first.click()
    page.get_by_role("link", name="Compare with…").click()
    expect(page.get_by_role("heading", name="Which of these went well?")).to_be_visible()
    assert complaints_of_axe(page, themes) == []
    for name in ("nightly-before", "nightly-after"):
        page.get_by_role("checkbox", name=f"queue {name} ").check()
    page.get_by_role("button", name="Compare", exact=True).press("Enter")
    expect(page.get_by_role("heading", name=re.compile("Job queue in nightly: [0-9]+ differences"))).to_be_visible()
    expect(page.locator(".steps-of-runs .moved")).to_have_count(2)
    assert complaints_of_axe(page, themes) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    if size == WIDE:
        page.get_by_text("Which steps").press("Enter")
        expect(page.get_by_text("last Pod ready").first).to_be_visible()
