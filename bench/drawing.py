"""Measure how quickly a real browser shows a timeline and follows gestures.

    python -m bench.drawing [URL or FILE] [--lines 1000000] [--gestures 60] [--browser PATH]

URL is the address of a timeline, with the start-up token (http://127.0.0.1:8000/sources/1/?token=…). Without it, the
bench starts a Causeline of its own, which imports FILE or else the sample. The server is warm: the page is opened once
before. The bench prints the first paint, the number of marks, the layout shift, and for pans and zooms the milliseconds
until the next frame that shows them: of the whole recording, which soon has few marks in view, and of a dense window.
"""

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Response, sync_playwright

from bench.figures import SAMPLE, Figure, loop, percentile, show
from bench.larger import large

BROWSERS = ("chromium-headless-shell", "google-chrome", "chromium", "chromium-browser")
WAIT_SECONDS = 900
# This runs in the page. It records the first paint, the layout shift, and the time from each gesture to its frame.
WATCH = """
  window.bench = { first: null, shift: 0, began: null, drawn: [] };
  const add = (each) => { bench.shift += each.hadRecentInput ? 0 : each.value; };
  const shifted = (list) => list.getEntries().forEach(add);
  new PerformanceObserver(shifted).observe({ type: "layout-shift", buffered: true });
  const begin = (event) => { if (event.buttons || event.type !== "pointermove") bench.began ??= event.timeStamp; };
  for (const name of ["keydown", "wheel", "pointermove"]) addEventListener(name, begin, true);
  new MutationObserver((changes) => {
    if (!changes.some((each) => each.attributeName === "data-drawn")) return;
    const began = bench.began;
    bench.began = null;
    requestAnimationFrame(() => {
      bench.first ??= performance.now();
      if (began !== null) bench.drawn.push(performance.now() - began);
    });
  }).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-drawn"] });
"""
COLUMNS = ("bars", "marks", "births", "strips", "holes", "shades", "arrows", "dots")


@contextmanager
def causeline(recording: Path) -> Iterator[str]:
    """Yield the address of the timeline of a recording, on a server that runs until the context ends."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder:
        command = [sys.executable, "-m", "dashboard.cli", "demo", "--data-dir", folder, "--port", str(port)]
        where = Path(__file__).resolve().parents[1]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=where, text=True)
        try:
            assert server.stdout
            yield timeline_of(server.stdout.readline().strip(), recording)
        finally:
            server.terminate()  # a shell lets its background processes ignore SIGINT
            server.wait(60)


def timeline_of(door: str, recording: Path) -> str:
    """Import the recording, and return the address of its timeline. `door` is an address with the start-up token."""
    parts = urlsplit(door)
    site, token = f"http://{parts.netloc}", parse_qs(parts.query)["token"][0]
    deadline = time.monotonic() + WAIT_SECONDS
    headers = {"Content-Type": "application/octet-stream", "Authorization": f"Bearer {token}"}

    def request(path: str, body: bytes | None = None) -> Any:
        return json.load(urllib.request.urlopen(urllib.request.Request(f"{site}{path}", body, headers)))

    upload = request(f"/api/uploads?name={recording.name}", recording.read_bytes())
    while upload["state"] != "done":
        if upload["state"] in {"failed", "cancelled"} or time.monotonic() > deadline:
            sys.exit(f"{recording}: {upload['error'] or upload['state']}")
        time.sleep(0.5)
        upload = request(f"/api/uploads/{upload['id']}")
    return f"{site}{upload['url']}?token={token}"


class Visit:
    """Open a timeline in a page, and measure it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self._answers: list[Response] = []
        page.on("response", lambda answer: self._answers.append(answer))
        page.goto(address)
        page.locator("#figure[data-drawn]").wait_for()
        page.wait_for_load_state("networkidle")
        self.first = float(page.evaluate("bench.first"))
        self.shift = float(page.evaluate("bench.shift"))

    def marks(self) -> int:
        """Return the largest number of marks in one window. The first window comes with the opening."""
        openings = [answer.json() for answer in self._answers if "/opening" in answer.url and answer.ok]
        windows = [opening["window"] for opening in openings if opening["window"]]
        windows += [answer.json() for answer in self._answers if "/window?" in answer.url and answer.ok]
        return max(sum(len(next(iter(window[name].values()))) for name in COLUMNS) for window in windows)

    def gestures(self, count: int, deep: int = 12) -> list[float]:
        """Return milliseconds of pans and zooms by keys, wheel and drag: `deep` of them inwards, then as many back."""
        page = self.page
        page.wait_for_timeout(800)
        box = page.locator("#figure").bounding_box()
        assert box
        x, y = box["x"] + box["width"] / 2, box["y"] + 80
        page.mouse.move(x, y)
        page.evaluate("bench.drawn = []")
        for number in range(count):
            match number % 6:
                case 0 | 1:
                    page.mouse.wheel(0, -160 if number % (2 * deep) < deep else 160)
                case 2:
                    page.keyboard.press("d")
                case 3:
                    page.keyboard.press("w" if number % (2 * deep) < deep else "s")
                case 4:
                    page.keyboard.press("a")
                case 5:
                    page.mouse.down()
                    page.mouse.move(x - 60, y)
                    page.mouse.up()
                    page.mouse.move(x, y)
            page.wait_for_timeout(450 if number % 4 == 0 else 90)  # now and then long enough for a window to come
        page.wait_for_timeout(500)
        return [float(each) for each in page.evaluate("bench.drawn")]


def densest(page: Page, site: str) -> str:
    """Return the address of the window with the most marks, among ever shorter ones in the middle of a recording."""
    asked = site.replace("/sources/", "/api/sources/")
    whole = page.context.request.get(f"{asked}overview").json()
    first, last = whole["first"], whole["last"]
    found = []
    for part in range(12):
        query = f"?start={(first + last) // 2}&end={(first + last) // 2 + ((last - first) >> part)}"
        window = page.context.request.get(f"{asked}window{query}&limit=64&fold=1").json()
        found.append((sum(len(next(iter(window[name].values()))) for name in COLUMNS), query))
    return site + max(found)[1]


def measure(address: str, gestures: int, browser_path: str | None = None, runs: int = 3) -> Iterator[Figure]:
    """Yield the figures of a timeline in a real browser, after one visit that warms the server."""
    found = browser_path or next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        paints, loops, drawn, dense, marks = [], [], [], [], 0
        for number in range(runs + 1):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.context.request.get(address)  # signs in with the token of the address
            page.add_init_script(WATCH)
            visit = Visit(page, address.partition("?")[0])
            if number:
                paints.append(visit.first)
                page.keyboard.press("r")  # shows the whole recording
                drawn.append(visit.gestures(gestures))
                marks = max(marks, visit.marks())
                visit = Visit(page, densest(page, address.partition("?")[0]))
                dense.append(visit.gestures(gestures, 6))
                marks = max(marks, visit.marks())
                loops.append(loop())
            page.close()
        browser.close()
    beside = tuple(loops)
    yield Figure("first useful paint", tuple(paints), "ms", 1200, at_most=True, loops=beside)
    for where, times in (("", drawn), (" in a dense window", dense)):
        for part, asked in ((0.5, None), (0.95, 60)):
            took = tuple(percentile(each, part) for each in times)
            name = f"pan or zoom{where} to drawn, p{100 * part:.0f}"
            yield Figure(name, took, "ms", asked, at_most=True, loops=beside)
    yield Figure("layout shift", (visit.shift,), at_most=True)
    yield Figure("marks in a window, at most", (marks,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default=str(SAMPLE), metavar="URL or FILE")
    parser.add_argument("--lines", type=int, default=0, help="of FILE, which is repeated; 0: as it is")
    parser.add_argument("--gestures", type=int, default=60)
    parser.add_argument("--browser", help="Chrome or Chromium; else one in PATH, else Playwright's own")
    options = parser.parse_args()
    if options.what.startswith("http"):
        show(measure(options.what, options.gestures, options.browser))
        return
    with large(Path(options.what), options.lines) as path, causeline(path) as address:
        show(measure(address, options.gestures, options.browser))


if __name__ == "__main__":
    main()
