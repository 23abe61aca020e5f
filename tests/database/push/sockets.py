"""Browsers' sockets that talk to the ASGI application directly, and what PostgreSQL tells them."""

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from dashboard.asgi import application
from tests.patience import patient
from timeline.models import Upload
from timeline.storage import notify as push

PATIENCE = 15  # seconds
P = ParamSpec("P")
notify = sync_to_async(push.notify)


def in_a_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a test in an event loop, after which nobody may listen to PostgreSQL any more.

    Synchronous code in it stays on this thread and its connection.
    """

    @functools.wraps(test)
    def run(*given: P.args, **named: P.kwargs) -> None:
        async def whole() -> None:
            await test(*given, **named)
            await nobody_listens()

        async_to_sync(whole)()

    return run


@sync_to_async
def new_upload(name: str = "audit.zst") -> Upload:
    return Upload.objects.create(name=name)


@sync_to_async
def listeners() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()")
        return [pid for (pid,) in cursor]


@sync_to_async
def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


async def nobody_listens() -> None:
    async with asyncio.timeout(patient(PATIENCE)):
        while await listeners():
            await asyncio.sleep(0.02)


async def next_in(queue: "asyncio.Queue[bytes]") -> bytes:
    async with asyncio.timeout(patient(PATIENCE)):
        return await queue.get()


def cookie_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return f"causeline_session={client.cookies['causeline_session'].value}"


class Page:
    """This class is a browser's WebSocket."""

    def __init__(self, path: str = "/ws/uploads/", query: str = "", **headers: str) -> None:
        sent = {"host": "localhost", "origin": "http://localhost", **headers}
        raw = [(name.encode(), value.encode()) for name, value in sent.items()]
        asked = query.encode()
        scope = {"type": "websocket", "path": path, "query_string": asked, "headers": raw, "subprotocols": []}
        communicator: Any = ApplicationCommunicator  # it has no type hints
        self._application = communicator(application, scope)

    async def send(self, message: dict[str, object]) -> None:
        await self._application.send_input(message)

    async def output(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._application.receive_output(timeout=patient(PATIENCE))
        return message

    async def connect(self) -> bool:
        await self.send({"type": "websocket.connect"})
        return bool((await self.output())["type"] == "websocket.accept")

    async def news(self, *kinds: str) -> Any:
        """Return the next message, or the next one of these kinds."""
        while (message := json.loads((await self.output())["text"]))["type"] not in (kinds or {message["type"]}):
            pass
        return message

    async def code_of_end(self) -> int:
        """Read what is sent until the server closes the socket; return the code with which it does."""
        while (said := await self.output())["type"] != "websocket.close":
            pass
        return int(said["code"])

    async def leave(self) -> None:
        await self.send({"type": "websocket.disconnect", "code": 1001})
        await self._application.wait(patient(PATIENCE))


async def opened(path: str = "/ws/uploads/", query: str = "", **headers: str) -> Page:
    page = Page(path, query, **headers)
    assert await page.connect()
    return page


async def listening(path: str = "/ws/uploads/", query: str = "", **headers: str) -> Page:
    """Return a page whose server listens to PostgreSQL, and sends the page that first."""
    page = await opened(path, query, **headers)
    assert (await page.news())["type"] == "refetch"
    return page
