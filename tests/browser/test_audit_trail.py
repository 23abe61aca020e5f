"""The audit trail in a real browser: it lists what was done, is filtered, and can be downloaded."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.test_with_axe import usable_everywhere


def test_what_was_seen_is_listed_filtered_and_downloaded(page: Page, recording: str) -> None:
    page.goto(f"{recording}coverage/")
    page.goto("/clusters/")
    page.get_by_role("link", name="Audit trail").click()
    expect(page.get_by_text("volcano-restart.jsonl.zst").first).to_be_visible()
    usable_everywhere(page)
    page.get_by_label("Action").select_option("see")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile("action=see"))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download what matches as lines of JSON").click()
    lines = [json.loads(each) for each in Path(download.value.path()).read_text(encoding="utf-8").splitlines()]
    assert {each["action"] for each in lines} == {"see"}
    page.get_by_role("link", name="Clear").click()
    expect(page).to_have_url(re.compile("/audit-trail/$"))
