"""This module looks at a live source for as long as a test wants: with sockets that connect again as the page's script
does, and with a real browser."""

import asyncio
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Error, Page
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.browser.conftest import context_of, launched
from tests.clients.visitor import Visitor
from tests.patience import eventually, patient

FIRST_PAUSE, LONGEST_PAUSE, SILENCE = 0.25, 5.0, 10.0  # seconds, as in js/live/socket.js


class Reported(NamedTuple):
    """This is a message about commits that a socket received."""

    at: float  # by the clock of `time.monotonic`
    sequence: int
    committed: float | None  # seconds since 1970, by the database's clock


class Listener:
    """This class is one socket that follows a source, and connects again as `js/live/socket.js` does."""

    def __init__(self, address: str, source: int, cookies: dict[str, str]) -> None:
        self.reported: list[Reported] = []
        self.connections = 0
        self.failures: list[str] = []
        self._host = address.removeprefix("http://")
        self._source, self._cursor = source, 0
        self._headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}

    async def listen(self) -> None:
        pause = FIRST_PAUSE
        while True:
            cursor = self._cursor or ""
            address = f"ws://{self._host}/ws/sources/{self._source}/?cursor={cursor}"
            own: dict[str, Any] = {"origin": f"http://{self._host}", "additional_headers": self._headers}
            try:
                async with connect(address, compression=None, max_size=None, open_timeout=SILENCE, **own) as socket:
                    self.connections += 1
                    while True:
                        message = json.loads(await asyncio.wait_for(socket.recv(), SILENCE))
                        pause = FIRST_PAUSE
                        self._take(message)
            except (OSError, WebSocketException, TimeoutError) as error:
                self.failures.append(repr(error))
            await asyncio.sleep(pause * random.uniform(0.7, 1.3))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] in {"delta", "refetch"}:
            at = message.get("at")
            self.reported.append(Reported(time.monotonic(), message["sequence"], at and at / 1e6))
            self._cursor = max(self._cursor, message["sequence"])

    def knows(self, sequence: int) -> bool:
        """Return whether the socket was notified of this commit, or of a later one."""
        return bool(self.reported) and self.reported[-1].sequence >= sequence

    @property
    def sequences(self) -> list[int]:
        return [each.sequence for each in self.reported]


class Onlooker(threading.Thread):
    """This thread looks at the timeline of a source with a real browser until it is stopped."""

    def __init__(self, address: str, source: int) -> None:
        super().__init__(name="browser", daemon=True)
        self._address, self._source = address, source
        self._stopped = threading.Event()
        self.shown = 0  # the last commit that the page has drawn
        self.says = ""  # what the page says about its connection
        self.complaints: list[str] = []  # what the page reported last, to explain what it does not show

    def run(self) -> None:
        with launched() as browser:
            page = self._opened(browser)
            while page and not self._stopped.is_set():
                try:
                    self.shown = int(page.locator("#figure").get_attribute("data-edge") or 0)
                    self.says = page.locator("#live").inner_text()
                    page.wait_for_timeout(200)  # ms
                except Error as error:
                    self._note(f"{page.url}: {error}")
                    page = self._opened(browser)

    def _opened(self, browser: Browser) -> Page | None:
        """Return the page of the timeline. As a person does, try again while no web process answers."""
        while not self._stopped.wait(0.5):
            with suppress(AssertionError, Error):
                page = context_of(browser, self._address).new_page()
                page.on("console", lambda message: self._note(message.text))
                page.on("pageerror", lambda error: self._note(str(error)))
                page.on("requestfailed", lambda request: self._note(f"{request.url}: {request.failure}"))
                answer = page.goto(f"/sources/{self._source}/")
                if answer and answer.ok:
                    return page
        return None

    def _note(self, complaint: str) -> None:
        self.complaints = [*self.complaints[-9:], complaint[:200]]

    def shown_after(self, sequence: int) -> bool:
        """Return whether the page has drawn this commit, or a later one."""
        return self.shown >= sequence

    def shows(self, sequence: int, seconds: float = 30) -> None:
        """Wait until the page has drawn this commit, or a later one; say what the page says if it does not."""
        try:
            eventually(lambda: self.shown_after(sequence), seconds)
        except AssertionError as error:
            state = f"the page shows commit {self.shown} and says {self.says!r}; it reported {self.complaints}"
            raise AssertionError(f"commit {sequence} {error}: {state}") from None

    def stop(self) -> None:
        self._stopped.set()
        self.join()


@contextmanager
def listening(address: str, source: int, count: int) -> Iterator[list[Listener]]:
    """Keep so many sockets open, in a thread of their own."""
    listeners = [Listener(address, source, Visitor(address).cookies) for _ in range(count)]
    stop = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def all_of_them() -> None:
        loops.append(asyncio.get_running_loop())
        tasks = [asyncio.create_task(each.listen()) for each in listeners]
        await stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    thread = threading.Thread(target=lambda: asyncio.run(all_of_them()), name="sockets", daemon=True)
    thread.start()
    try:
        yield listeners
    finally:
        eventually(lambda: loops)
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(patient(10))
