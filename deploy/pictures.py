"""Take the pictures of docs/images again from a running demo. Run `make pictures` after the look of a page has changed.

They show what the tutorial describes: the timeline, a finding, a change of an object, an incident with its cause, the
coverage, and the home page after an import.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
WIDTH, HEIGHT, HOME_HEIGHT = 1280, 800, 640
WIDE, INCIDENT_HEIGHT = 1440, 1560  # the page of an incident down to what changed before it
NARROW = 1100  # where the page of an object has one column, so that a change is not beside empty space
WAIT_MS = 120_000  # an import has to wait for its worker
BROWSERS = ("chromium-headless-shell", "google-chrome", "google-chrome-stable", "chromium", "chromium-browser")


@contextmanager
def demo(data_dir: Path) -> Iterator[str]:
    """Run the demo, and yield the address of its home page with the start-up token."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "dashboard.cli", "demo", "--port", str(port), "--data-dir", str(data_dir)]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        if not address:
            raise SystemExit("The demo did not start.")
        yield address
    finally:
        running.send_signal(signal.SIGINT)
        running.wait()


def broken_recording(data_dir: Path, folder: Path) -> Path:
    """Return the demo's recording with a last line that is not valid, as in the tutorial."""
    recording = folder / "ring.jsonl"
    command = [sys.executable, "-m", "dashboard.cli", "export", "volcano-restart", "--format", "recording"]
    subprocess.run([*command, "--data-dir", data_dir, "-o", recording], cwd=ROOT, check=True)
    with recording.open("a", encoding="utf-8") as file:
        file.write("not a line of a log\n")
    return recording


def take(page: Page, name: str, height: int = HEIGHT) -> None:
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement?.blur()")
    page.mouse.move(0, 0)
    width = page.viewport_size["width"] if page.viewport_size else WIDTH
    page.screenshot(path=IMAGES / f"{name}.png", clip={"x": 0, "y": 0, "width": width, "height": height})
    print(f"docs/images/{name}.png")


def main() -> None:
    browser = os.environ.get("CAUSELINE_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data_dir = Path(folder) / "data"
        with demo(data_dir) as address:
            chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            page.set_default_timeout(WAIT_MS)
            home = address.split("?")[0]
            page.goto(address)
            page.get_by_role("link", name="volcano-restart", exact=True).click()
            page.locator("[data-drawn]").first.wait_for()
            take(page, "timeline")
            timeline = page.url

            page.get_by_role("link", name="This finding").first.click()
            take(page, "finding")

            page.goto(timeline)
            page.locator("[data-drawn]").first.wait_for()
            page.get_by_role("link", name="ring", exact=True).first.click()
            page.set_viewport_size({"width": NARROW, "height": HEIGHT})
            page.get_by_text("RV 586").first.evaluate(
                "line => scrollTo(0, line.getBoundingClientRect().top + scrollY - 60)"
            )
            take(page, "object")
            page.set_viewport_size({"width": WIDTH, "height": HEIGHT})

            page.goto(home)
            page.get_by_role("link", name="one-pod-too-many", exact=True).click()
            page.get_by_role("link", name="This incident").first.click()
            page.get_by_text("Because").first.wait_for()
            page.set_viewport_size({"width": WIDE, "height": INCIDENT_HEIGHT})
            take(page, "incident", INCIDENT_HEIGHT)
            page.set_viewport_size({"width": WIDTH, "height": HEIGHT})

            page.goto(timeline.split("?")[0] + "coverage")
            take(page, "coverage")

            page.goto(home)
            page.locator("input[type=file]").first.set_input_files(broken_recording(data_dir, Path(folder)))
            page.get_by_role("link", name="Open timeline").wait_for()
            page.get_by_role("link", name="ring", exact=True).wait_for()
            take(page, "home", HOME_HEIGHT)
            chromium.close()


if __name__ == "__main__":
    main()
