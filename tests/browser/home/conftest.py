"""How recordings come in."""

from pathlib import Path

from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.inputs.recordings import SAMPLE

FOUND = "775 changes · 4 incidents · 10 findings"


def drop(page: Page, path: Path) -> Locator:
    """Drop a file or a folder on the page, as the desktop does; the row of its upload."""
    session, veil = page.context.new_cdp_session(page), page.locator("#veil")
    carried = {"items": [], "files": [str(path)], "dragOperationsMask": 1}

    def drag(kind: str) -> None:
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 400, "data": carried})

    drag("dragEnter")
    drag("dragOver")
    expect(veil).to_be_visible()
    drag("drop")
    expect(veil).to_be_hidden()
    return page.locator(".upload", has_text=path.name)


def choose(page: Page, *paths: Path) -> None:
    page.locator("#file").set_input_files(paths)


def chosen(page: Page, name: str) -> Locator:
    """Have the sample imported from the home page; the row of the recording."""
    page.goto("/")
    file: FilePayload = {"name": f"{name}.zst", "mimeType": "application/zstd", "buffer": SAMPLE.read_bytes()}
    page.locator("#file").set_input_files(file)
    expect(page.locator(".upload", has_text=name)).to_contain_text("Open timeline")
    row = page.locator(".recordings tbody tr", has_text=name).first
    return page.locator(f"[data-source='{row.get_attribute('data-source')}']")
