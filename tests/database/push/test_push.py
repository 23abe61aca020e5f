"""These tests follow notifications from PostgreSQL to the browser: all receive them, nobody waits forever, nothing is
left over."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction
from pytest_django import Settings

from dashboard.push import hub as hubs
from dashboard.push.consumers import UNAUTHORISED
from dashboard.push.hub import REFETCH, Hub, hub
from tests.database.push.sockets import (
    PATIENCE,
    Page,
    cookie_of,
    in_a_loop,
    listeners,
    listening,
    new_upload,
    next_in,
    notify,
    opened,
    terminate,
)
from tests.patience import patient
from tests.rows.people import member
from timeline.models import Upload
from timeline.queries.sources import uploads
from timeline.storage import notify as push

pytestmark = pytest.mark.django_db(transaction=True)


@in_a_loop
async def test_the_home_page_hears_of_uploads_recordings_and_clusters_but_not_of_each_commit() -> None:
    page = await listening()
    for text, data in (("text", "anything"), ("bytes", b"\xff")):  # what a browser sends changes nothing
        await page.send({"type": "websocket.receive", text: data})
    upload = await new_upload()
    await notify(upload=upload.pk)
    assert await page.news() == {"type": "upload", "upload": await sync_to_async(uploads.upload_payload)(upload)}
    await notify(source=5)
    assert await page.news() == {"type": "sources"}
    await notify(source=1, sequence=7)
    await notify(cluster=3)
    assert await page.news() == {"type": "sources"}
    await notify(upload=upload.pk)
    assert (await page.news())["type"] == "upload"
    await page.leave()


@in_a_loop
async def test_lists_of_incidents_hear_of_which_source_they_changed() -> None:
    page = await listening("/ws/incidents/")
    await notify(source=1, sequence=7)
    await notify(source=1, incidents=2)
    assert await page.news() == {"type": "incidents", "source": 1}
    await notify(incidents=1)
    assert await page.news() == {"type": "incidents", "source": None}
    await notify(source=5)
    assert await page.news() == {"type": "sources"}
    await page.leave()


@in_a_loop
async def test_what_is_rolled_back_is_never_reported() -> None:
    @sync_to_async
    def roll_back() -> None:
        with transaction.atomic():
            push.notify(upload=Upload.objects.create(name="never").pk)
            transaction.set_rollback(True)

    async with Hub().subscribe("uploads") as queue:
        assert await next_in(queue) == REFETCH
        await roll_back()
        await notify(upload=(await new_upload("told")).pk)
        assert b'"told"' in await next_in(queue)


@in_a_loop
async def test_all_subscribers_get_the_same_bytes_by_one_listener() -> None:
    shared = Hub()
    async with shared.subscribe("uploads") as a, shared.subscribe("uploads") as b, shared.subscribe("uploads") as c:
        for queue in (a, b, c):
            assert await next_in(queue) == REFETCH
        await notify(upload=(await new_upload()).pk)
        first, second, third = [await next_in(queue) for queue in (a, b, c)]
        assert first is second is third
        assert len(await listeners()) == 1


@in_a_loop
async def test_a_slow_browser_fetches_anew_and_does_not_hold_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "QUEUE", waiting := 10)
    shared = Hub()
    async with shared.subscribe("uploads") as slow, shared.subscribe("uploads") as quick:
        assert await next_in(quick) == REFETCH
        upload = await new_upload()
        for _ in range(waiting + 5):
            await notify(upload=upload.pk)
            assert b'"upload"' in await next_in(quick)
        assert await next_in(slow) == REFETCH
        assert 0 < slow.qsize() < waiting


@in_a_loop
async def test_a_connection_that_was_cut_is_made_again_and_all_fetch_anew(caplog: pytest.LogCaptureFixture) -> None:
    page = await listening()
    (pid,) = await listeners()
    await terminate(pid)
    await notify(upload=(await new_upload("unheard")).pk)
    assert await page.news() == {"type": "refetch"}
    await notify(upload=(await new_upload("heard")).pk)
    assert (await page.news())["upload"]["name"] == "heard"
    assert await listeners() != [pid]
    await page.leave()
    assert "listening to PostgreSQL failed, again in" in caplog.text


@in_a_loop
async def test_a_message_that_is_not_ours_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    @sync_to_async
    def send(text: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [push.CHANNEL, text])

    async with Hub().subscribe("uploads") as queue:
        assert await next_in(queue) == REFETCH
        await send("not JSON")
        assert await next_in(queue) == REFETCH
        await notify(upload=10**6)  # an upload that was deleted meanwhile
        await notify(other=5)
        await notify(upload=(await new_upload("heard")).pk)
        assert b'"heard"' in await next_in(queue)
    assert "JSONDecodeError" in caplog.text


@in_a_loop
async def test_who_comes_when_the_last_one_goes_is_heard() -> None:
    shared = Hub()
    for _ in range(4):
        async with shared.subscribe("uploads") as queue:
            assert await next_in(queue) == REFETCH
            await notify(upload=(await new_upload("heard")).pk)
            assert b'"heard"' in await next_in(queue)


@in_a_loop
async def test_pages_that_leave_leave_nothing() -> None:
    before = len(asyncio.all_tasks())
    pages = [await listening(), *[await opened() for _ in range(19)]]
    await notify(upload=(await new_upload("heard")).pk)
    for page in pages:
        assert (await page.news("upload"))["upload"]["name"] == "heard"
    assert len(hub._queues["uploads"]) == 20
    for page in pages:
        await page.leave()
    async with asyncio.timeout(patient(PATIENCE)):
        while hub._queues["uploads"] or len(asyncio.all_tasks()) > before:
            await asyncio.sleep(0.02)


@in_a_loop
async def test_only_our_own_pages_and_with_login_only_who_signed_in_get_news(settings: Settings) -> None:
    for origin in ("https://evil.example", "http://localhost.evil.example", "null"):
        assert not await Page(origin=origin).connect(), origin
    settings.LOGIN_REQUIRED = True
    assert await (await opened()).code_of_end() == UNAUTHORISED
    cookie = await sync_to_async(lambda: cookie_of(member("responder", name="sre")))()
    await (await listening(cookie=cookie)).leave()
