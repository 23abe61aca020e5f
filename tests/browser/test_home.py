"""The home page: recordings and what was found in them; how they come in, are renamed, and go."""

import base64
import gzip
import json
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.conftest import SAMPLE, Complaints, fits, happens
from tests.running import running
from tests.visitor import Visitor

DROP = """
([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], name));
  for (const type of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer: carried, bubbles: true, cancelable: true }));
}
"""
SHIFTS = """
() => new Promise((resolve) => {
  let total = 0;
  new PerformanceObserver((list) => { for (const each of list.getEntries()) total += each.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(total), 800);
})
"""
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
WATCH = Path(__file__).parents[1] / "data/objects/watch"


def drop(page: Page, name: str, content: bytes) -> None:
    page.evaluate(DROP, [name, base64.b64encode(content).decode()])


def choose(page: Page, *paths: Path) -> None:
    page.locator("#file").set_input_files(paths)


def test_without_recordings_it_says_what_to_do(page: Page, tmp_path: Path) -> None:
    with running(tmp_path, "web") as fresh:
        page.goto(fresh.door)
        expect(page.get_by_role("heading", name="No recordings yet")).to_be_visible()
        expect(page.get_by_role("button", name="Choose files…")).to_be_visible()
        expect(page.get_by_role("button", name="Choose a folder…")).to_be_visible()
        page.goto("about:blank")


def test_a_recording_dropped_on_the_page_becomes_a_timeline(page: Page) -> None:
    page.goto("/")
    drop(page, "dropped.jsonl.zst", SAMPLE.read_bytes())
    row = page.locator(".upload", has_text="dropped.jsonl.zst")
    expect(row).to_contain_text("changes · 6 incidents · 10 findings")
    expect(page.locator(".recordings tbody tr", has_text="dropped")).to_contain_text("6 incidents · 10 findings")
    row.get_by_role("link", name="Open timeline").click()
    expect(page.locator(".finding.selected h4")).to_contain_text("Service ring was away for ≈ 50 ms")


def test_it_shows_what_was_recorded_when_and_what_was_found(page: Page, recording: str) -> None:
    page.goto("/")
    row = page.locator(f"tr:has(a[href='{recording}'])")
    expect(row).to_contain_text("21 Nov 2026")
    expect(row).to_contain_text("07:52:59")
    expect(row).to_contain_text("6 incidents · 10 findings")
    expect(row.locator(".entries")).to_contain_text("775")


def test_a_new_incident_leads_to_its_page(page: Page, recording: str) -> None:
    page.goto("/")
    words = page.locator(f".newest-incident[href^='{recording}incidents/']").first
    said = words.locator(".newest-words").inner_text()
    words.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(said)


def test_an_incident_that_somebody_looks_after_says_so(page: Page, recording: str, site: str) -> None:
    visitor = Visitor(site)
    page.goto("/")
    row = page.locator(f".newest-incident[href^='{recording}incidents/']").first
    path = f"/api{row.get_attribute('href')}".rstrip("/")
    body = json.dumps({"incidents": [path.rpartition("/")[2]], "note": "mine"}).encode()
    source = recording.split("/")[2]
    where = f"/api/sources/{source}/acknowledgements"
    assert visitor.ask("POST", where, body, Content_Type="application/json")[0] == 200
    page.reload()
    expect(row).to_contain_text("acknowledged")
    visitor.ask("DELETE", f"{path}/acknowledgement")
    page.reload()
    expect(row).not_to_contain_text("acknowledged")


def test_several_files_become_one_recording(page: Page) -> None:
    page.goto("/")
    choose(page, *sorted(WATCH.iterdir()))
    row = page.locator(".upload", has_text="endpointslices.jsonl.zst and 6 more")
    expect(row).to_contain_text("Open timeline")
    expect(page.locator(".recordings tbody tr", has_text="endpointslices.jsonl.zst and 6 more")).to_have_count(1)


def test_a_folder_becomes_one_recording_of_its_name(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "cluster-7"
    (folder / "pods").mkdir(parents=True)
    (folder / "pods/pods.jsonl.zst").write_bytes((WATCH / "pods.jsonl.zst").read_bytes())
    (folder / "services.jsonl.zst").write_bytes((WATCH / "services.jsonl.zst").read_bytes())
    (folder / "notes.txt").write_bytes(b"only words\n")
    (folder / ".hidden").write_bytes(b"not to be sent\n")
    page.goto("/")
    page.locator("#folder").set_input_files(folder)
    row = page.locator(".upload", has_text="cluster-7")
    expect(row).to_contain_text("Open timeline")
    expect(row.locator(".skipped")).to_contain_text("1 piece skipped")
    expect(row.locator(".skipped li")).to_contain_text("cluster-7/notes.txt")


def test_a_folder_that_is_dropped_becomes_one_recording(page: Page, tmp_path: Path) -> None:
    """As the desktop drops it: a folder has no bytes of its own, and its files are asked for."""
    folder = tmp_path / "must-gather"
    (folder / "deep/er").mkdir(parents=True)
    for number, path in enumerate(sorted(WATCH.iterdir())):
        (folder / ("deep/er" if number % 2 else ".") / path.name).write_bytes(path.read_bytes())
    (folder / ".kube").mkdir()
    (folder / ".kube/config").write_bytes(b"kind: Config\n")
    page.goto("/")
    session = page.context.new_cdp_session(page)
    carried = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 400, "data": carried})
    expect(page.locator("#veil")).to_be_visible()
    session.send("Input.dispatchDragEvent", {"type": "drop", "x": 300, "y": 400, "data": carried})
    expect(page.locator("#veil")).to_be_hidden()
    row = page.locator(".upload", has_text="must-gather")
    expect(row).to_contain_text("Open timeline")
    expect(row.locator(".skipped")).to_have_count(0)
    expect(page.locator(".recordings tbody tr", has_text="must-gather")).to_have_count(1)


def test_two_uploads_at_once_become_two_recordings(page: Page) -> None:
    page.goto("/")
    drop(page, "first.jsonl.zst", SAMPLE.read_bytes())
    drop(page, "second.jsonl.zst", SAMPLE.read_bytes())
    for name in ("first", "second"):
        expect(page.locator(".upload", has_text=f"{name}.jsonl.zst")).to_contain_text(
            "775 changes · 6 incidents · 10 findings"
        )
        expect(page.locator(".recordings tbody tr", has_text=name)).to_have_count(1)


def test_deleting_asks_first(page: Page) -> None:
    page.goto("/")
    drop(page, "to-delete.zst", SAMPLE.read_bytes())
    expect(page.locator(".upload").first).to_contain_text("Open timeline")
    mine = page.locator(".recordings tbody tr", has_text="to-delete").first
    number = mine.get_attribute("data-source")
    mine.get_by_role("button", name="Delete to-delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    expect(page.locator(f"[data-source='{number}']")).to_have_count(1)
    expect(mine.get_by_role("button", name="Delete to-delete")).to_be_focused()
    mine.get_by_role("button", name="Delete to-delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("775 changes")
    expect(page.get_by_role("dialog")).to_contain_text("10 findings")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(f"[data-source='{number}']")).to_have_count(0)
    undo = page.get_by_role("button", name="Undo: restore to-delete")
    expect(undo).to_be_focused()
    undo.press("Enter")
    expect(page.locator(f"[data-source='{number}']")).to_have_count(1)
    expect(undo).to_have_count(0)


def test_undo_has_the_focus_although_the_list_was_being_renewed_when_it_was_deleted(page: Page, site: str) -> None:
    page.goto("/")
    drop(page, "deleted-meanwhile.zst", SAMPLE.read_bytes())
    expect(page.locator(".upload").first).to_contain_text("Open timeline")
    expect(page.get_by_role("button", name="Delete deleted-meanwhile")).to_be_visible()
    held: list[tuple[Route, APIResponse]] = []
    page.route(f"{site}/", lambda route: held.append((route, route.fetch())), times=1)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    happens(page, lambda: bool(held))
    page.get_by_role("button", name="Delete deleted-meanwhile").click()
    with page.expect_response("**/api/sources/*"):
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    for route, before in held:
        route.fulfill(response=before)
    expect(page.get_by_role("button", name="Undo: restore deleted-meanwhile")).to_be_focused()


def test_a_recording_is_renamed_where_it_stands_and_every_page_hears_of_it(page: Page) -> None:
    page.goto("/")
    drop(page, "to-rename.zst", SAMPLE.read_bytes())
    expect(page.locator(".upload").first).to_contain_text("Open timeline")
    mine = page.locator(".recordings tbody tr", has_text="to-rename").first
    row = page.locator(f"[data-source='{mine.get_attribute('data-source')}']")
    other = page.context.new_page()
    other.goto("/")
    expect(other.get_by_role("link", name="to-rename", exact=True)).to_be_visible()
    row.get_by_role("button", name="Rename to-rename").press("Enter")
    name = row.get_by_role("textbox", name="New name of to-rename")
    expect(name).to_be_focused()
    name.press("Escape")
    expect(row.get_by_role("link", name="to-rename", exact=True)).to_be_visible()
    expect(row.get_by_role("button", name="Rename to-rename")).to_be_focused()
    row.get_by_role("button", name="Rename to-rename").press("Enter")
    name.fill("Friday's outage")
    name.press("Enter")
    expect(row.get_by_role("link", name="Friday's outage", exact=True)).to_be_visible()
    expect(other.get_by_role("link", name="Friday's outage", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.jsonl", b"", "The file is empty"),
        ("picture.png", PNG, "picture.png"),
        ("prose.txt", b"It was a dark and stormy night.\n" * 50, "prose.txt"),
        ("not-gzip.jsonl.gz", gzip.compress(b"nothing of ours\n" * 50, mtime=0)[:40], "not-gzip.jsonl.gz"),
        ("notes.yaml", b"apiVersion: v1\nkind: Config\nusers: []\n", "it is a kubeconfig, which holds credentials"),
        ("prod.kubeconfig", b"apiVersion: v1\nkind: Config\n", "it is a kubeconfig, which holds credentials"),
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
    expect(page.get_by_role("button", name="Choose files…")).to_be_enabled()


def test_a_kubeconfig_among_the_files_is_left_out_and_told(page: Page, complaints: Complaints, tmp_path: Path) -> None:
    complaints.expect("status of 400")
    (tmp_path / "a.jsonl.zst").write_bytes(SAMPLE.read_bytes())
    (tmp_path / "kubeconfig").write_bytes(b"kind: Config\n")
    (tmp_path / "notes.txt").write_bytes(b"apiVersion: v1\nkind: Config\nusers: []\n")
    page.goto("/")
    choose(page, *(tmp_path / name for name in ("a.jsonl.zst", "kubeconfig", "notes.txt")))
    row = page.locator(".upload", has_text="a.jsonl.zst and 2 more")
    expect(row).to_contain_text("775 changes · 6 incidents · 10 findings")
    reason = "it is a kubeconfig, which holds credentials; it was not kept"
    expect(row.locator(".skipped li")).to_have_text([f"kubeconfig: {reason}", f"notes.txt: {reason}"])


def test_a_recording_that_breaks_off_says_so(page: Page, complaints: Complaints, tmp_path: Path) -> None:
    complaints.expect("status of 400")
    page.goto("/")
    (tmp_path / "cut.jsonl.zst").write_bytes(SAMPLE.read_bytes()[:60_000])
    choose(page, tmp_path / "cut.jsonl.zst")
    expect(page.locator(".upload")).to_contain_text("cut.jsonl.zst")
    expect(page.locator(".upload .alert, .upload .skipped").first).to_be_visible()
    expect(page.get_by_role("button", name="Choose files…")).to_be_enabled()


def test_the_keyboard_reaches_everything_in_the_order_of_the_page(page: Page, recording: str) -> None:
    page.goto("/")
    page.locator("#choose").focus()
    names = []
    for _ in range(30):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.className")
        )
    assert names[0] == "button"  # choose a folder
    # The newest incidents follow, or the field that filters the table of many recordings by name.
    beside = next(name for name in names[1:] if not name.startswith("Undo: "))  # of what was deleted a moment ago
    assert beside in ("newest-all", "newest-incident", "")
    rename = next(place for place, name in enumerate(names) if name.startswith("Rename "))
    assert names[rename + 1].startswith("Delete ")
    assert "" in names[:rename]  # the recording itself


def test_the_lists_that_are_renewed_keep_the_focus(page: Page, recording: str) -> None:
    page.goto("/")
    row = page.locator(f"tr:has(a[href='{recording}'])")
    newest = page.locator("#newest a").first
    for place in row.locator("th a"), row.locator("[data-rename]"), row.locator("[data-delete]"), newest:
        place.focus()
        page.evaluate("document.querySelector('#recordings').dataset.old = 'yes'")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("#recordings[data-old]")).to_have_count(0)
        expect(place).to_be_focused()


def test_the_theme_is_kept(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_it_fits_a_phone(page: Page, recording: str) -> None:
    page.set_viewport_size({"width": 360, "height": 720})
    page.goto("/")
    expect(page.locator(".newest-incident, .fleet-table tbody tr").first).to_be_in_viewport()
    fits(page)


@pytest.mark.parametrize("width", [360, 1440])
def test_nothing_moves_while_it_loads(newcomer: Page, recording: str, width: int) -> None:
    newcomer.set_viewport_size({"width": width, "height": 900})
    newcomer.goto("/")
    assert newcomer.evaluate(SHIFTS) < 0.005
