"""A running Causeline (web and worker, on a database of its own) and a browser that looks at it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from dashboard.services.program import guarded
from tests import ROOT
from tests.browser.looking import CONNECTED, PATIENCE
from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually, patient
from tests.servers.answering import LOCALHOST, Receiver, receiving
from tests.servers.running import START_SECONDS, TOKEN, Running, free_port, running

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
RETRIES = 3  # of a request without a page: the server may close the connection, which was idle, as it is used again


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
    status, reported = visitor.ask("POST", f"/api/uploads?name={name}", content)
    assert status == 201, reported
    return done(visitor, reported)


def done(visitor: Visitor, upload: Any) -> str:
    """Wait until an upload was imported; the path of its timeline."""
    deadline = time.monotonic() + patient(START_SECONDS)
    while upload["state"] != "done":
        assert upload["state"] != "failed", upload["error"]
        assert time.monotonic() < deadline, f"the import hangs: {upload}"
        time.sleep(0.2)
        _, upload = visitor.ask("GET", f"/api/uploads/{upload['id']}")
    return str(upload["url"])


class Worker:
    """Holds live sources, each of which tells the story of the sample, and commits when it is asked to."""

    AWAY = "Service ring was away under 3 Pods"
    CALM = 27  # seconds after the story began; the Service goes away a little later
    OVER = 50

    def __init__(self, site: Running) -> None:
        self.site = site
        self._process = site.beside("tests.servers.worker")
        self._count = 0

    def do(self, deed: str, *reported: Any) -> int:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([deed, *reported]) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline()))

    def begin(self, until: float | None = CALM) -> str:
        """The address of a new source, whose story was played up to some second of it; by now it comes to CALM."""
        self._count += 1
        source = self.do("begin", f"prod-{self._count}", self.CALM)
        if until is not None:
            self.do("until", until)
        return f"{self.site.address}/sources/{source}/"

    def end(self) -> None:
        self._process.communicate(timeout=patient(30))


@contextmanager
def working(site: Running) -> Iterator[Worker]:
    worker = Worker(site)
    yield worker
    worker.end()


def followed(page: Page, address: str) -> Page:
    """Open the timeline of a live source, and wait until it is connected."""
    if page.url == "about:blank":  # a second session would end the first one, which the page still uses
        come_in(page.context, address)
    page.goto(address)
    expect(page.locator("#live")).to_have_text(CONNECTED)
    return page


@pytest.fixture(scope="package")
def elsewhere() -> Iterator[list[Receiver]]:
    """A site of somebody else in which the operator allows timelines of `worker`, and one that nobody has named."""
    with receiving() as named, receiving() as other:
        named.headers = other.headers = {"Content-Type": "text/html; charset=utf-8"}
        yield [named, other]


@pytest.fixture(scope="package")
def worker(tmp_path_factory: pytest.TempPathFactory, elsewhere: list[Receiver]) -> Iterator[Worker]:
    """Beside a Causeline of its own without accounts, which a test may kill and start."""
    allowed = {"CAUSELINE_EMBED_ANCESTORS": elsewhere[0].url}
    with running(tmp_path_factory.mktemp("live"), "web", **allowed) as site, working(site) as worker:
        yield worker


@pytest.fixture(scope="package")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The issuer of an `oidc-provider-mock`, which knows ada."""
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true"]
    ada = {"sub": "ada-7", "email": "ada@example.org", "preferred_username": "ada", "groups": ["platform"]}
    log = tmp_path_factory.mktemp("provider") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            guarded([*command, "--user-claims", json.dumps(ada)], ROOT, None),
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "NO_COLOR": "1"},
        )
    try:
        eventually(lambda: "Uvicorn running" in log.read_text(), START_SECONDS)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="package")
def company(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A Causeline with that provider and local accounts: ada administers, vera sees, and the others have no role."""
    settings = {
        "CAUSELINE_LOGIN": "on",
        "CAUSELINE_OIDC_ISSUER": provider,
        "CAUSELINE_OIDC_CLIENT_ID": "causeline",
        "CAUSELINE_OIDC_CLIENT_SECRET": "of the client",
        "CAUSELINE_OIDC_NAME": "Example SSO",
        "CAUSELINE_CREDENTIALS_KEY": "the key of the tests which is long enough",
        "CAUSELINE_SECRET_KEY": "the secret key of the tests, which is long enough",
    }
    roles = {"ada": "admin", "vera": "viewer", "bob": "", "carol": "", "nora": ""}
    people = f"from tests.rows.people import member\nfor name, role in {roles}.items(): member(role, name=name)"
    with running(tmp_path_factory.mktemp("company"), "web", **settings) as started:
        started.manage("shell", "-c", people)
        yield started
