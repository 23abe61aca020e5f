"""These tests follow notifications from PostgreSQL to the browser: all receive them, nobody waits forever, nothing is
left over."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.db import connection, transaction
from django.test import Client
from pytest_django import Settings

from dashboard.asgi import application
from dashboard.push.consumers import UNAUTHORISED
from dashboard.push.hub import QUEUE, REFETCH, Hub, hub
from tests.patience import patient
from tests.people import member
from timeline.models import Upload
from timeline.queries.sources import uploads
from timeline.storage import notify as push

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 15  # seconds
Scenario = Callable[[], Awaitable[None]]


def run(scenario: Scenario) -> None:
    """Run a coroutine in an event loop. Synchronous code in it stays on this thread and its connection."""
    async_to_sync(scenario)()


notify = sync_to_async(push.notify)


@sync_to_async
def new_upload(name: str = "audit.zst") -> Upload:
    return Upload.objects.create(name=name)


@sync_to_async
def listeners() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()")
        return [pid for (pid,) in cursor]


async def nobody_listens() -> None:
    async with asyncio.timeout(patient(PATIENCE)):
        while await listeners():
            await asyncio.sleep(0.02)


class Page:
    """This class is a browser's WebSocket that talks to the ASGI application directly."""

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

    async def news(self) -> Any:
        return json.loads((await self.output())["text"])

    async def code_of_end(self) -> int:
        """Read what is sent until the server closes the socket; return the code with which it does."""
        while (said := await self.output())["type"] != "websocket.close":
            pass
        return int(said["code"])

    async def leave(self) -> None:
        await self.send({"type": "websocket.disconnect", "code": 1001})
        await self._application.wait(patient(PATIENCE))


async def opened(**headers: str) -> Page:
    page = Page(**headers)
    assert await page.connect()
    return page


async def next_in(queue: "asyncio.Queue[bytes]") -> bytes:
    async with asyncio.timeout(patient(PATIENCE)):
        return await queue.get()


def test_what_is_committed_reaches_the_browser() -> None:
    async def scenario() -> None:
        page = await opened()
        assert await page.news() == {"type": "refetch"}
        upload = await new_upload()
        await notify(upload=upload.pk)
        payload = await sync_to_async(uploads.upload_payload)(upload)
        assert await page.news() == {"type": "upload", "upload": payload}
        await page.leave()
        await nobody_listens()

    run(scenario)


def test_what_is_rolled_back_is_never_told() -> None:
    @sync_to_async
    def roll_back() -> None:
        with transaction.atomic():
            push.notify(upload=Upload.objects.create(name="never").pk)
            transaction.set_rollback(True)

    async def scenario() -> None:
        async with Hub().subscribe("uploads") as queue:
            assert await next_in(queue) == REFETCH
            await roll_back()
            upload = await new_upload("told")
            await notify(upload=upload.pk)
            assert b'"told"' in await next_in(queue)
        await nobody_listens()

    run(scenario)


def test_all_subscribers_get_the_same_bytes_by_one_listener() -> None:
    async def scenario() -> None:
        shared = Hub()
        async with shared.subscribe("uploads") as a, shared.subscribe("uploads") as b, shared.subscribe("uploads") as c:
            for queue in (a, b, c):
                assert await next_in(queue) == REFETCH
            await notify(upload=(await new_upload()).pk)
            first, second, third = [await next_in(queue) for queue in (a, b, c)]
            assert first is second is third
            assert len(await listeners()) == 1
        await nobody_listens()

    run(scenario)


def test_a_slow_browser_is_told_to_fetch_anew_and_does_not_hold_up_others() -> None:
    async def scenario() -> None:
        shared = Hub()
        async with shared.subscribe("uploads") as slow, shared.subscribe("uploads") as quick:
            assert await next_in(quick) == REFETCH
            upload = await new_upload()
            for _ in range(QUEUE + 10):
                await notify(upload=upload.pk)
                assert b'"upload"' in await next_in(quick)
            assert await next_in(slow) == REFETCH
            assert 0 < slow.qsize() < QUEUE
        await nobody_listens()

    run(scenario)


@sync_to_async
def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def test_a_connection_that_was_cut_is_made_again_and_all_fetch_anew(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        page = await opened()
        assert await page.news() == {"type": "refetch"}
        (pid,) = await listeners()
        await terminate(pid)
        await notify(upload=(await new_upload("unheard")).pk)
        assert await page.news() == {"type": "refetch"}
        await notify(upload=(await new_upload("heard")).pk)
        assert (await page.news())["upload"]["name"] == "heard"
        assert await listeners() != [pid]
        await page.leave()
        await nobody_listens()

    run(scenario)
    assert "listening to PostgreSQL failed, again in" in caplog.text


def test_a_recording_that_changed_is_listed_without_its_content() -> None:
    async def scenario() -> None:
        page = await opened()
        assert await page.news() == {"type": "refetch"}
        await notify(source=5)
        assert await page.news() == {"type": "sources"}
        await page.leave()
        await nobody_listens()

    run(scenario)


def test_the_home_page_hears_of_a_cluster_that_changed_but_not_of_each_commit() -> None:
    async def scenario() -> None:
        page = await opened()
        assert await page.news() == {"type": "refetch"}
        await notify(source=1, sequence=7)
        await notify(cluster=3)
        assert await page.news() == {"type": "sources"}
        await notify(upload=(await new_upload()).pk)
        assert (await page.news())["type"] == "upload"
        await page.leave()

    run(scenario)


def test_lists_of_incidents_hear_of_which_source_they_changed() -> None:
    async def scenario() -> None:
        page = await opened(path="/ws/incidents/")
        assert await page.news() == {"type": "refetch"}
        await notify(source=1, sequence=7)
        await notify(source=1, incidents=2)
        assert await page.news() == {"type": "incidents", "source": 1}
        await notify(incidents=1)
        assert await page.news() == {"type": "incidents", "source": None}
        await notify(source=5)
        assert await page.news() == {"type": "sources"}
        await page.leave()

    run(scenario)


def test_a_message_that_is_not_ours_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    @sync_to_async
    def send(text: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [push.CHANNEL, text])

    async def scenario() -> None:
        async with Hub().subscribe("uploads") as queue:
            assert await next_in(queue) == REFETCH
            await send("not JSON")
            assert await next_in(queue) == REFETCH
            await notify(upload=10**6)  # an upload that was deleted meanwhile
            await notify(other=5)
            await notify(upload=(await new_upload("heard")).pk)
            assert b'"heard"' in await next_in(queue)
        await nobody_listens()

    run(scenario)
    assert "JSONDecodeError" in caplog.text


def test_who_comes_when_the_last_one_goes_is_heard() -> None:
    async def scenario() -> None:
        shared = Hub()
        for _ in range(3):
            async with shared.subscribe("uploads") as queue:
                assert await next_in(queue) == REFETCH
        async with shared.subscribe("uploads") as queue:
            assert await next_in(queue) == REFETCH
            await notify(upload=(await new_upload("heard")).pk)
            assert b'"heard"' in await next_in(queue)
        await nobody_listens()

    run(scenario)


def test_pages_that_leave_leave_nothing() -> None:
    async def scenario() -> None:
        before = len(asyncio.all_tasks())
        pages = [await opened() for _ in range(20)]
        assert await pages[0].news() == {"type": "refetch"}
        await notify(upload=(await new_upload("heard")).pk)
        for page in pages:
            while (sent := await page.news())["type"] == "refetch":  # the page connected before the listener did
                pass
            assert sent["upload"]["name"] == "heard"
        assert len(hub._queues["uploads"]) == 20
        for page in pages:
            await page.leave()
        async with asyncio.timeout(patient(PATIENCE)):
            while hub._queues["uploads"] or len(asyncio.all_tasks()) > before:
                await asyncio.sleep(0.02)
        await nobody_listens()

    run(scenario)


def test_what_a_browser_sends_changes_nothing() -> None:
    async def scenario() -> None:
        page = await opened()
        await page.send({"type": "websocket.receive", "text": "anything"})
        await page.send({"type": "websocket.receive", "bytes": b"\xff"})
        assert await page.news() == {"type": "refetch"}
        await page.leave()
        await nobody_listens()

    run(scenario)


def test_a_page_of_another_site_is_refused() -> None:
    async def scenario() -> None:
        for origin in ("https://evil.example", "http://localhost.evil.example", "null"):
            assert not await Page(origin=origin).connect(), origin

    run(scenario)


def test_with_login_only_who_signed_in_is_told(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    signed_in = Client()
    signed_in.force_login(member("responder", name="sre"))
    cookie = f"causeline_session={signed_in.cookies['causeline_session'].value}"

    async def scenario() -> None:
        stranger = await opened()
        closed = await stranger.output()
        assert (closed["type"], closed["code"]) == ("websocket.close", UNAUTHORISED)
        page = await opened(cookie=cookie)
        assert await page.news() == {"type": "refetch"}
        await page.leave()
        await nobody_listens()

    run(scenario)
