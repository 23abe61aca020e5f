"""Recordings come in: dropped or chosen, several files or a folder, and what is none is refused with the reason."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests import DATA
from tests.browser.conftest import Complaints
from tests.browser.everyone import usable_everywhere
from tests.browser.home.conftest import FOUND, choose, drop
from tests.inputs.recordings import SAMPLE

WATCH = DATA / "objects/watch"
KUBECONFIG = "it is a kubeconfig, which holds credentials"


def test_recordings_dropped_on_the_page_become_timelines(page: Page, tmp_path: Path) -> None:
    page.goto("/")
    files = [tmp_path / f"{name}.jsonl.zst" for name in ("first", "second")]
    for file in files:
        file.write_bytes(SAMPLE.read_bytes())
    rows = [drop(page, file) for file in files]  # at once
    for file, row in zip(files, rows, strict=True):
        expect(row).to_contain_text(FOUND)
        listed = page.locator(".recordings tbody tr", has_text=file.name.partition(".")[0])
        expect(listed).to_have_count(1)
        expect(listed).to_contain_text("2 incidents · 4 symptoms · 7 findings")
    rows[0].get_by_role("link", name="Open timeline").click()
    expect(page.locator(".finding.selected h4")).to_contain_text("Service ring was away for ≈ 50 ms")


def test_several_files_become_one_recording_without_a_kubeconfig_among_them(
    page: Page, complaints: Complaints, tmp_path: Path
) -> None:
    complaints.expect("status of 400")
    page.goto("/")
    (tmp_path / "kubeconfig").write_bytes(b"kind: Config\n")
    (tmp_path / "notes.txt").write_bytes(b"apiVersion: v1\nkind: Config\nusers: []\n")
    choose(page, *sorted(WATCH.iterdir()), tmp_path / "kubeconfig", tmp_path / "notes.txt")
    row = page.locator(".upload", has_text="endpointslices.jsonl.zst and 8 more")
    expect(row).to_contain_text("Open timeline")
    reason = f"{KUBECONFIG}; it was not kept"
    expect(row.locator(".skipped li")).to_have_text([f"kubeconfig: {reason}", f"notes.txt: {reason}"])
    expect(page.locator(".recordings tbody tr", has_text="endpointslices.jsonl.zst and 8 more")).to_have_count(1)


def test_a_folder_becomes_one_recording_of_its_name(page: Page, tmp_path: Path) -> None:
    """Chosen, and as the desktop drops it: a folder has no bytes of its own, and its files are asked for."""
    folder = tmp_path / "cluster-7"
    (folder / "pods/er").mkdir(parents=True)
    for number, path in enumerate(sorted(WATCH.iterdir())):
        (folder / ("pods/er" if number % 2 else ".") / path.name).write_bytes(path.read_bytes())
    (folder / ".hidden").write_bytes(b"not to be sent\n")
    (folder / ".kube").mkdir()
    (folder / ".kube/config").write_bytes(b"kind: Config\n")
    page.goto("/")
    row = drop(page, folder)
    expect(row).to_contain_text("Open timeline")
    expect(row.locator(".skipped")).to_have_count(0)
    expect(page.locator(".recordings tbody tr", has_text="cluster-7")).to_have_count(1)

    (folder / "notes.txt").write_bytes(b"only words\n")
    chosen = folder.rename(tmp_path / "must-gather")
    page.locator("#folder").set_input_files(chosen)
    row = page.locator(".upload", has_text="must-gather")
    expect(row).to_contain_text("Open timeline")
    expect(row.locator(".skipped")).to_contain_text("1 piece skipped")
    expect(row.locator(".skipped li")).to_contain_text("must-gather/notes.txt")


def test_what_is_no_recording_is_refused_and_every_state_can_be_used_by_everyone(
    page: Page, complaints: Complaints, recording: str, tmp_path: Path
) -> None:
    complaints.expect("status of 400", "ERR_FAILED")
    refused = {"empty.jsonl": b"", "prod.kubeconfig": b"kind: Config\n"}
    contents = {**refused, "cut.jsonl.zst": SAMPLE.read_bytes()[:60_000], "prose.txt": b"only words\n"}
    contents["waits.jsonl"] = b'{"auditID":"x"}\n'
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    page.goto("/")
    alert = page.get_by_role("alert")
    choose(page, tmp_path / "empty.jsonl")
    expect(alert).to_contain_text("The file is empty")
    page.get_by_role("button", name="Dismiss").click()
    expect(alert).to_have_count(0)
    expect(page.get_by_role("button", name="Choose files…")).to_be_enabled()
    choose(page, tmp_path / "cut.jsonl.zst")
    cut = page.locator(".upload", has_text="cut.jsonl.zst")
    expect(cut.locator(".alert, .skipped").first).to_be_visible()

    page.route("**/files/0", lambda route: route.abort())
    for name in "prose.txt", "waits.jsonl", "prod.kubeconfig":
        choose(page, tmp_path / name)
    expect(alert.filter(has_text=KUBECONFIG)).to_be_visible()
    expect(page.locator(".upload", has_text="waits.jsonl")).to_contain_text("waiting for the connection")
    page.unroute("**/files/0")
    expect(page.locator(".upload", has_text="prose.txt")).to_contain_text("Not a recording.")
    page.locator("[data-rename]").first.click()
    expect(page.locator(".rename-input")).to_be_visible()
    usable_everywhere(page)
