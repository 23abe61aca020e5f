"""A running Causeline (web and worker, on a database of its own) and a browser that looks at it."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.running import ROOT, START_SECONDS, TOKEN, running
from tests.visitor import Visitor

SAMPLE = ROOT / "dashboard/samples/volcano-restart.jsonl.zst"
BROWSERS = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser")
BROWSER_OPTIONS = [
    "--no-sandbox",  # containers and CI run as root
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=20_000)  # ms: an import may have to wait for the worker


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Causeline without accounts and without recordings."""
    with running(tmp_path_factory.mktemp("site")) as started:
        yield started.address


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
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


@pytest.fixture
def context(browser: Browser, site: str, complaints: Complaints) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=site, viewport={"width": 1440, "height": 900}, color_scheme="light")
    context.set_default_timeout(20_000)
    come_in(context, site)

    def listen(page: Page) -> None:
        page.on("pageerror", lambda error: complaints.seen.append(str(error)))
        page.on("console", note)

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.seen.append(message.text)

    context.on("page", listen)
    yield context
    context.close()
    assert complaints.unexpected == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture(scope="package")
def recording(site: str) -> str:
    """The path of the sample's timeline, imported once for the tests that only look."""
    return imported(site, "volcano-restart.jsonl.zst", SAMPLE.read_bytes())


def come_in(context: BrowserContext, site: str) -> None:
    """As somebody does who opens the address that `causeline up` prints."""
    assert context.request.get(urljoin(site, f"/?token={TOKEN}")).ok


def imported(site: str, name: str, content: bytes) -> str:
    """The path of the timeline of a recording."""
    visitor = Visitor(site)
    status, told = visitor.ask("POST", f"/api/uploads?name={name}", content)
    assert status == 201, told
    deadline = time.monotonic() + START_SECONDS
    while told["state"] != "done":
        assert told["state"] != "failed", told["error"]
        assert time.monotonic() < deadline, f"the import hangs: {told}"
        time.sleep(0.2)
        _, told = visitor.ask("GET", f"/api/uploads/{told['id']}")
    return str(told["url"])
