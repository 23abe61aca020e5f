"""Recordings come in through the home page, and go."""

import base64
import gzip
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SAMPLE, Complaints

DROP = """
([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], name));
  for (const type of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer: carried, bubbles: true, cancelable: true }));
}
"""
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


def drop(page: Page, name: str, content: bytes) -> None:
    page.evaluate(DROP, [name, base64.b64encode(content).decode()])


def choose(page: Page, path: Path) -> None:
    page.locator("#file").set_input_files(path)


def test_without_recordings_it_says_what_to_do(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="No recordings yet")).to_be_visible()
    expect(page.get_by_role("button", name="Choose a file…")).to_be_visible()


def test_a_recording_dropped_on_the_page_becomes_a_timeline(page: Page) -> None:
    page.goto("/")
    drop(page, "dropped.jsonl.zst", SAMPLE.read_bytes())
    row = page.locator(".upload", has_text="dropped.jsonl.zst")
    expect(row).to_contain_text("entries · 6 findings")
    expect(page.locator(".recordings tbody tr", has_text="dropped")).to_contain_text("warning")
    row.get_by_role("link", name="Open timeline").click()
    expect(page.locator(".group-name").first).to_have_text("vcj ring")
    expect(page.locator(".finding.selected h3")).to_contain_text("Service ring was away for 53 ms")


def test_deleting_asks_first(page: Page) -> None:
    page.goto("/")
    choose(page, SAMPLE)
    expect(page.locator(".upload").first).to_contain_text("Open timeline")
    mine = page.locator(".recordings tbody tr", has_text="volcano-restart").first
    number = mine.get_attribute("data-source")
    mine.get_by_role("button", name="Delete volcano-restart").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    expect(page.locator(f"[data-source='{number}']")).to_have_count(1)
    mine.get_by_role("button", name="Delete volcano-restart").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(f"[data-source='{number}']")).to_have_count(0)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.jsonl", b"", "The file is empty"),
        ("picture.png", PNG, "picture.png"),
        ("prose.txt", b"It was a dark and stormy night.\n" * 50, "prose.txt"),
        ("not-gzip.jsonl.gz", gzip.compress(b"nothing of ours\n" * 50)[:40], "not-gzip.jsonl.gz"),
    ],
)
def test_what_is_no_recording_is_refused_with_the_reason(
    page: Page, complaints: Complaints, tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    complaints.expect("status of 400")
    page.goto("/")
    (tmp_path / name).write_bytes(content)
    choose(page, tmp_path / name)
    expect(page.get_by_role("alert")).to_contain_text(told)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("button", name="Choose a file…")).to_be_enabled()


def test_a_recording_that_breaks_off_says_so(page: Page, complaints: Complaints, tmp_path: Path) -> None:
    complaints.expect("status of 400")
    page.goto("/")
    (tmp_path / "cut.jsonl.zst").write_bytes(SAMPLE.read_bytes()[:60_000])
    choose(page, tmp_path / "cut.jsonl.zst")
    expect(page.locator(".upload")).to_contain_text("cut.jsonl.zst")
    expect(page.locator(".upload .alert, .upload .skipped").first).to_be_visible()
    expect(page.get_by_role("button", name="Choose a file…")).to_be_enabled()


def test_the_theme_is_kept(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Switch between light and dark").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_it_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 720})
    page.goto("/")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
