"""What tests do with any page: wait for what it announces, ask whether it fits, read the clipboard."""

import re
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.overlap import readable

PATIENCE = (
    120_000  # ms that a test waits for what the page shows: on a busy machine an import waits long for the worker
)
expect.set_options(timeout=PATIENCE)
CONNECTED = re.compile("^connected")
# The module that the page runs. From another address, it would be a second one with a state of its own.
TIMELINE = """import(document.querySelector('script[type="module"]').src.replace(/js\\/.*/, "js/timeline.js"))"""
# A timeline writes its address and loads its lanes a moment after the view has moved, and draws with the next frame.
SETTLED = """async (drawing) => {
  const { parts, store } = await TIMELINE;
  const loaded = () => !drawing || (!parts.loader.stale() && !document.querySelector("#figure[aria-busy]"));
  const asked = (search) => JSON.stringify([...new URLSearchParams(search)].filter(([name]) => name in store).sort());
  const rests = () => asked(location.search) === asked(store.search()) && loaded();
  if (!rests()) return false;
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return rests() && { search: location.search };
}""".replace("TIMELINE", TIMELINE)
TOO_WIDE = """() => {
  const width = document.documentElement.scrollWidth;
  if (width <= innerWidth) return null;
  const cut = (element) => element && element !== document.body
    && (getComputedStyle(element).overflowX !== "visible" || cut(element.parentElement));
  const reasons = [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5 && !cut(element.parentElement))
    .map((element) => `${Math.round(element.getBoundingClientRect().right)} px: ${element.outerHTML.slice(0, 200)}`);
  return `${width} px in a window of ${innerWidth} px: ${reasons.slice(0, 10).join(" | ")}`;
}"""
NOTE = """(element) => {
  window.noted = [];
  const note = () => noted.push(element.textContent);
  new MutationObserver(note).observe(element, { childList: true, characterData: true, subtree: true });
}"""
COPIED = "(part) => navigator.clipboard.readText().then((text) => text.includes(part) && text)"
LINKS = "() => [...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))"


def becomes(page: Page, script: str, argument: object = None) -> Any:
    """Wait until a script answers with something that is true. `wait_for_function` takes any promise for an answer,
    and asks when the browser draws a frame, which it may not do while nothing changes."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not (answer := page.evaluate(script, argument)):
        assert time.monotonic() < deadline, f"it does not become true: {script}"
        page.wait_for_timeout(50)
    return answer


def happens(page: Page, condition: Callable[[], bool]) -> None:
    """Wait until it happens, while the browser goes on to tell of its events."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        page.wait_for_timeout(50)


def settled(page: Page, *, drawing: bool = True) -> str:
    """Wait until a timeline shows what it was asked to; the part of its address from "?" on, which says the same.

    Without `drawing` only the address is waited for: a live source goes on to load lanes.
    """
    return str(becomes(page, SETTLED, drawing)["search"])


def opened(page: Page, address: str) -> Page:
    """Open a timeline, and wait until its lanes are drawn."""
    page.goto(address)
    settled(page)
    expect(page.locator("#figure[data-drawn]")).to_be_attached()
    expect(page.locator(".scatterlayer").first).to_be_attached()
    expect(page.locator(".lane").first).to_be_attached()
    return page


def range_in_view(page: Page) -> tuple[int, int]:
    """The start and the end (µs) of what a timeline shows, from its address."""
    start, end = re.findall(r"\b(?:start|end)=(\d+)", settled(page, drawing=False))
    return int(start), int(end)


def box_of(page: Page, selector: str) -> dict[str, float]:
    """Where an element is on the page. What is drawn anew replaces elements, so it is waited for."""
    return dict(becomes(page, "(each) => document.querySelector(each)?.getBoundingClientRect().toJSON()", selector))


def fits(page: Page) -> None:
    """Wait until nothing is wider than the page, and no two texts lie over each other: what is drawn is drawn anew for
    another width."""
    deadline = time.monotonic() + PATIENCE / 1000
    while wide := page.evaluate(TOO_WIDE):
        assert time.monotonic() < deadline, f"{page.url} is {wide}"
        page.wait_for_timeout(50)
    readable(page)


def press_and_read(button: Locator, words: str) -> None:
    """Press a button, and expect that it then says so for a moment, however late the test looks at it."""
    button.evaluate(NOTE)
    button.click()
    button.page.wait_for_function("(words) => noted.includes(words)", arg=words)


def copied(page: Page, part: str) -> str:
    """Wait until the clipboard holds something with this part."""
    return str(becomes(page, COPIED, part))
