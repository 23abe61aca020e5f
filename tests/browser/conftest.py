"""A running Causeline (web and worker, on a database of its own) and a browser that looks at it."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright

from tests import ROOT
from tests.answering import LOCALHOST
from tests.browser.overlap import readable
from tests.patience import patient
from tests.running import START_SECONDS, TOKEN, running
from tests.visitor import Visitor

SAMPLE = ROOT / "dashboard/samples/volcano-restart.jsonl.zst"
BROWSERS = ("chromium-headless-shell", "google-chrome", "google-chrome-stable", "chromium", "chromium-browser")
BROWSER_OPTIONS = [
    "--no-sandbox",  # containers and CI run as root
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Playwright gives this option, too, and the last one counts: so these are its features that matter here, and two
    # more. By SpareRendererForSitePerProcess, Chromium keeps a process ready for a page that nobody opens, an eighth of
    # the time of each page. By ScriptStreaming, it compiles scripts while they arrive, even those that the process of
    # the page has compiled before, another ninth.
    "--disable-features=AvoidCorsURLLoaderRestartOnRedirect,AvoidUnnecessaryBeforeUnloadCheckSync,"
    "DestroyProfileOnBrowserClose,HttpsFirstBalancedModeAutoEnable,HttpsUpgrades,MediaRouter,OptimizationHints,"
    "NetworkTimeServiceQuerying,PaintHolding,ScriptStreaming,SpareRendererForSitePerProcess,"
    "ThirdPartyStoragePartitioning",
    "--process-per-site",  # the process of a page that stays open serves the others, with the scripts it has compiled
]
PATIENCE = (
    120_000  # ms that a test waits for what the page shows: on a busy machine an import waits long for the worker
)
expect.set_options(timeout=PATIENCE)
RETRIES = 3  # of a request without a page: the server may close the connection, which was idle, as it is used again
# The module that the page runs. From another address, it would be a second one with a state of its own.
TIMELINE = """import(document.querySelector('script[type="module"]').src.replace(/js\\/.*/, "js/timeline.js"))"""
# A timeline writes its address and loads its lanes a moment after the view has moved, and draws with the next frame.
SETTLED = """async (drawing) => {
  const { parts, store } = await TIMELINE;
  const loaded = () => !drawing || (!parts.loader.stale() && !document.querySelector("#figure[aria-busy]"));
  const told = (search) => JSON.stringify([...new URLSearchParams(search)].filter(([name]) => name in store).sort());
  const rests = () => told(location.search) === told(store.search()) && loaded();
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


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Causeline without accounts and without recordings."""
    with running(tmp_path_factory.mktemp("site"), CAUSELINE_DESTINATION_HOSTS=LOCALHOST) as started:
        yield started.address


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@contextmanager
def launched() -> Iterator[Browser]:
    """CAUSELINE_BROWSER, else a Chrome or Chromium in PATH, else Playwright's own. Without any, the tests fail."""
    named = os.environ.get("CAUSELINE_BROWSER")
    found = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        path = shutil.which(found) if found else playwright.chromium.executable_path
        if path is None or not Path(path).exists():
            pytest.fail(
                f"No browser: {found or path} is not there. Install Chromium, name one in CAUSELINE_BROWSER, "
                "or run `python -m playwright install chromium`.",
                pytrace=False,
            )
        started = playwright.chromium.launch(executable_path=path, args=BROWSER_OPTIONS)
        yield started
        started.close()


@dataclass
class Complaints:
    """What the browser complained about: errors of scripts, of the network, of the content security policy."""

    seen: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    def expect(self, *texts: str) -> None:
        self.expected += texts

    @property
    def unexpected(self) -> list[str]:
        return [text for text in self.seen if not any(fine in text for fine in self.expected)]


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


def context_of(browser: Browser, site: str, **options: Any) -> BrowserContext:
    """Return a browser context of a signed-in user in Berlin, with a cache of its own. Pages show UTC at first."""
    context = browser.new_context(
        base_url=site,
        viewport={"width": 1440, "height": 900},
        color_scheme="light",
        timezone_id="Europe/Berlin",
        **options,
    )
    context.set_default_timeout(PATIENCE)
    come_in(context, site)
    return context


@contextmanager
def heard(context: BrowserContext, complaints: Complaints) -> Iterator[BrowserContext]:
    """Check at the end that the pages which were opened meanwhile reported no errors but the expected ones."""

    def listen(page: Page) -> None:
        page.on("pageerror", lambda error: complaints.seen.append(str(error)))
        page.on("console", note)

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.seen.append(message.text)

    context.on("page", listen)
    yield context
    context.remove_listener("page", listen)
    assert complaints.unexpected == []


@contextmanager
def lent(context: BrowserContext) -> Iterator[BrowserContext]:
    """Lend a context to one test. What the test leaves is removed: pages, cookies, permissions, stored choices."""
    kept, cookies = context.pages, context.cookies()
    yield context
    for page in context.pages:
        if page not in kept:
            page.close()
    context.clear_permissions()
    context.clear_cookies()
    context.add_cookies(cookies)  # type: ignore[arg-type]  # a Cookie has the keys of a SetCookieParam
    session = context.new_cdp_session(kept[0])
    session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "local_storage"})
    session.detach()


@contextmanager
def lasting(browser: Browser, site: str) -> Iterator[BrowserContext]:
    """One context for many tests, because scripts are loaded and compiled once. A page of it stays open.

    Animations are off: drawing one without a graphics card takes as much of the processor as loading a page.
    """
    context = context_of(browser, site, reduced_motion="reduce")
    context.new_page().goto("/rules/")
    yield context
    context.close()


@pytest.fixture(scope="package")
def shared(browser: Browser, site: str) -> Iterator[BrowserContext]:
    with lasting(browser, site) as context:
        yield context


@pytest.fixture
def context(shared: BrowserContext, complaints: Complaints) -> Iterator[BrowserContext]:
    with heard(shared, complaints), lent(shared) as context:
        yield context


@pytest.fixture
def newcomer(browser: Browser, site: str, complaints: Complaints) -> Iterator[Page]:
    """A page in a context of its own, which has nothing in its cache and shows animations."""
    context = context_of(browser, site)
    with heard(context, complaints):
        yield context.new_page()
        context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture(scope="package")
def recording(site: str) -> str:
    """The path of the sample's timeline, imported once for the tests that only look."""
    return imported(site, "volcano-restart.jsonl.zst", SAMPLE.read_bytes())


def come_in(context: BrowserContext, site: str) -> None:
    """As somebody does who opens the address that `causeline up` prints."""
    assert context.request.get(urljoin(site, f"/?token={TOKEN}"), max_retries=RETRIES).ok


def imported(site: str, name: str, content: bytes) -> str:
    """The path of the timeline of a recording."""
    visitor = Visitor(site)
    status, told = visitor.ask("POST", f"/api/uploads?name={name}", content)
    assert status == 201, told
    deadline = time.monotonic() + patient(START_SECONDS)
    while told["state"] != "done":
        assert told["state"] != "failed", told["error"]
        assert time.monotonic() < deadline, f"the import hangs: {told}"
        time.sleep(0.2)
        _, told = visitor.ask("GET", f"/api/uploads/{told['id']}")
    return str(told["url"])


def becomes(page: Page, script: str, argument: object = None) -> Any:
    """Wait until a script answers with something that is true. `wait_for_function` takes any promise for an answer."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not (answer := page.evaluate(script, argument)):
        assert time.monotonic() < deadline, f"it does not become true: {script}"
        page.wait_for_timeout(50)
    return answer


def settled(page: Page, *, drawing: bool = True) -> str:
    """Wait until a timeline shows what it was told to; the part of its address from "?" on, which says the same.

    Without `drawing` only the address is waited for: a live source goes on to load lanes.
    """
    return str(becomes(page, SETTLED, drawing)["search"])


def range_in_view(page: Page) -> tuple[int, int]:
    """The start and the end (µs) of what a timeline shows, from its address."""
    start, end = re.findall(r"\b(?:start|end)=(\d+)", settled(page, drawing=False))
    return int(start), int(end)


def fits(page: Page) -> None:
    """Wait until nothing is wider than the page, and no two texts lie over each other: what is drawn is drawn anew for
    another width.

    `wait_for_function` would ask when the browser draws a frame, which it may not do while nothing changes.
    """
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


def happens(page: Page, condition: Callable[[], bool]) -> None:
    """Wait until it happens, while the browser goes on to tell of its events."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        page.wait_for_timeout(50)
