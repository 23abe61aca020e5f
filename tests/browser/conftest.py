"""A running Causeline (web and worker, on a database of its own) and a browser that looks at it."""

import http.cookiejar
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
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
START_SECONDS = 60
expect.set_options(timeout=20_000)  # ms: an import may have to wait for the worker


def database_named(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_for(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"The server did not answer at {address}:\n{log.read_text()[-4000:]}")


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Causeline without sign-in and without recordings."""
    folder = tmp_path_factory.mktemp("site")
    server_url, name, port = os.environ["DATABASE_URL"], f"causeline_browser_{os.getpid()}", free_port()
    environment = {
        **os.environ,
        "DATABASE_URL": database_named(server_url, name),
        "REDIS_URL": database_named(os.environ["REDIS_URL"], "9"),
        "CAUSELINE_DATA_DIR": str(folder / "data"),
        "CAUSELINE_LOGIN": "off",
    }
    commands = {
        "web": ["uvicorn", "dashboard.asgi:application", "--port", str(port), "--timeout-graceful-shutdown", "2"],
        "worker": ["celery", "-A", "dashboard.celery", "worker", "--pool", "solo", "--loglevel", "info"],
    }
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    processes = {}
    try:
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
        for part, command in commands.items():
            with (folder / f"{part}.log").open("wb") as log:
                processes[part] = subprocess.Popen(
                    [sys.executable, "-m", *command], cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
                )
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/healthz", processes["web"], folder / "web.log")
        yield address
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


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
    cookies = http.cookiejar.CookieJar()
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    visitor.open(site).close()
    token = next(cookie.value for cookie in cookies if cookie.name == "csrftoken")
    upload = urllib.request.Request(
        f"{site}/api/uploads?name=volcano-restart.jsonl.zst",
        data=SAMPLE.read_bytes(),
        headers={"Content-Type": "application/octet-stream", "X-CSRFToken": token or ""},
    )
    with visitor.open(upload) as answer:
        told = json.load(answer)
    deadline = time.monotonic() + START_SECONDS
    while told["state"] != "done":
        assert told["state"] != "failed", told["error"]
        assert time.monotonic() < deadline, f"the import hangs: {told}"
        time.sleep(0.2)
        with urllib.request.urlopen(f"{site}/api/uploads/{told['id']}") as answer:
            told = json.load(answer)
    return str(told["url"])
