"""These tests check that commits of a live source reach its browsers once, in order, and without loss."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from dashboard.push import hub as hubs
from dashboard.push.consumers import UNAUTHORISED
from dashboard.push.feeds import APART
from dashboard.push.hub import QUEUE, Hub, Queue
from tests.database.push.sockets import PATIENCE, Page, in_a_loop, listeners, next_in, opened, terminate
from tests.inputs.recordings import SAMPLE, entries_of
from tests.patience import patient
from tests.rows.following import Followed
from tests.rows.people import member
from timeline import pipeline
from timeline.core.entries import Entry, Mark, MarkType, moment
from timeline.history.world.world import World
from timeline.layout.excerpt import excerpt
from timeline.models import Delta, Stream
from timeline.queries.incidents.findings import findings
from timeline.queries.window import deltas, windows
from timeline.queries.window.view import View
from timeline.storage import notify, store

pytestmark = pytest.mark.django_db(transaction=True)
ENTRIES = sorted(entries_of(SAMPLE), key=lambda entry: entry.received)
HALF = len(ENTRIES) // 2
Way = Callable[[User, Client], object]


@pytest.fixture
def live() -> Followed:
    made = Followed()
    made.commit(ENTRIES[:HALF])
    return made


async def follow(live: Followed, cursor: int | str = "", **headers: str) -> Page:
    return await opened(f"/ws/sources/{live.source.pk}/", f"cursor={cursor}", **headers)


def commit(live: Followed, entries: list[Entry]) -> Any:
    return sync_to_async(live.commit)(entries)


def ends_of(live: Followed) -> dict[int, int | None]:
    """Return when each life ends, as windows over the whole source show it."""
    found: dict[int, int | None] = {}
    for offset in range(0, 1000, 200):
        window = windows.window(live.source.pk, offset=offset, limit=200, view=View(noise=True))
        bars = window["bars"]
        for track, end, goes_on in zip(bars["track"], bars["end"], bars["open_end"], strict=True):
            found[track] = None if goes_on else end
    return found


@in_a_loop
async def test_a_commit_is_listed_with_what_it_changed_and_the_next_one_with_what_is_new(live: Followed) -> None:
    page = await follow(live, live.source.sequence)
    sequence = await commit(live, ENTRIES[HALF:-10])
    message = await page.news("delta")
    assert message["sequence"] == sequence
    assert message["behind"] < 10_000_000
    window = await sync_to_async(windows.window)(live.source.pk)
    assert (message["first"], message["last"]) == (window["first"], window["last"])
    assert window["sequence"] == sequence
    known = await sync_to_async(ends_of)(live)
    ends = {tail["track"]: tail["bars"][-1][1] for tail in message["tracks"] if tail["bars"]}
    assert len(ends) > 20
    assert ends.items() <= known.items()
    assert {group["key"] for group in message["findings"]}
    found = json.loads(json.dumps((await sync_to_async(findings)(live.source.pk))["findings"]))
    assert all(group in found for group in message["findings"])
    await commit(live, ENTRIES[-10:])
    second = await page.news("delta")
    before = {tail["track"]: set(map(str, tail["marks"])) for tail in message["tracks"]}
    assert not [tail for tail in second["tracks"] if set(map(str, tail["marks"])) & before.get(tail["track"], set())]
    assert len(str(second)) < len(str(message))
    await page.leave()


@in_a_loop
async def test_who_comes_back_gets_what_was_missed_and_after_too_long_fetches_anew(live: Followed) -> None:
    before = live.source.sequence
    for index in range(3):
        await commit(live, ENTRIES[HALF + index * 10 : HALF + index * 10 + 10])
    page = await follow(live, before)
    missed = await page.news("delta")
    assert missed["sequence"] == before + 3
    assert missed["tracks"]
    await commit(live, ENTRIES[HALF + 30 : HALF + 40])
    assert (await page.news("delta"))["sequence"] == before + 4
    await page.leave()
    await sync_to_async(Delta.objects.filter(sequence__lte=before + 2).delete)()
    for cursor in (before, before + 100):
        page = await follow(live, cursor)
        assert (await page.news("refetch"))["sequence"] == cursor
        await page.leave()


@in_a_loop
async def test_without_a_cursor_it_gets_news_from_now_on(live: Followed) -> None:
    pages = [await follow(live, cursor) for cursor in ("", "x", "-1", "٣", "9" * 30)]
    for page in pages:
        assert (await page.news())["type"] == "health"
    sequence = await commit(live, ENTRIES[HALF : HALF + 10])
    for page in pages:
        assert (await page.news("delta"))["sequence"] == sequence
        await page.leave()


@in_a_loop
async def test_close_commits_are_one_message_for_all_and_a_slow_browser_fetches_anew(live: Followed) -> None:
    shared, known = Hub(), live.source.sequence
    async with shared.follow(live.source.pk, known) as one, shared.follow(live.source.pk, known) as other:
        began = time.monotonic()
        for _ in range(30):
            await sync_to_async(live.tell)()
        first, second = await collected(one, known + 30), await collected(other, known + 30)
        assert first == second
        assert len(first) <= 2 + (time.monotonic() - began) / APART
    async with shared.follow(live.source.pk, None) as slow:
        for _ in range(QUEUE + 1):
            shared._send(f"sources/{live.source.pk}", b"{}")
        assert await next_in(slow) == b'{"type":"refetch","sequence":%d}' % live.source.sequence


async def collected(queue: Queue, until: int) -> list[bytes]:
    found: list[bytes] = []
    while not found or f'"sequence":{until},'.encode() not in found[-1]:
        message = await next_in(queue)
        if b'"delta"' in message:
            found.append(message)
    return found


@in_a_loop
async def test_nothing_is_lost_while_postgresql_does_not_answer(live: Followed) -> None:
    page = await follow(live, live.source.sequence)
    await page.news("health")
    (pid,) = await listeners()
    await terminate(pid)
    sequence = await commit(live, ENTRIES[HALF : HALF + 10])  # no notification is received
    assert (await page.news("delta"))["sequence"] == sequence
    await page.leave()


@in_a_loop
async def test_a_source_that_was_deleted_says_so(live: Followed) -> None:
    key, page = live.source.pk, await follow(live, live.source.sequence)

    @sync_to_async
    def delete() -> None:
        store.discard_source(live.source)
        notify.notify(source=key)

    await delete()
    assert await page.news("gone") == {"type": "gone"}
    stranger = await opened(f"/ws/sources/{key}/", "cursor=3")
    assert await stranger.news("gone") == {"type": "gone"}
    for each in (page, stranger):
        await each.leave()


@in_a_loop
async def test_who_loses_rights_is_cut_off(live: Followed, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "CHECK", 0.2)
    settings.LOGIN_REQUIRED = True

    @sync_to_async
    def somebody() -> tuple[User, Client, str]:
        client = Client()
        client.force_login(user := member("responder"))
        return user, client, f"causeline_session={client.cookies['causeline_session'].value}"

    def with_another_password(user: User) -> None:
        user.set_password("another")
        user.save()

    assert await (await follow(live)).code_of_end() == UNAUTHORISED
    staying = await follow(live, cookie=(await somebody())[2])
    ways: list[Way] = [
        lambda _, client: client.logout(),
        lambda user, _: User.objects.filter(pk=user.pk).update(is_active=False),
        lambda user, _: with_another_password(user),
        lambda user, _: user.delete(),
    ]
    for withdraw in ways:
        user, client, cookie = await somebody()
        page, uploads = await follow(live, cookie=cookie), await opened(cookie=cookie)
        await page.news("health")
        await sync_to_async(withdraw)(user, client)
        for closed in (page, uploads):
            assert await closed.code_of_end() == UNAUTHORISED
            await closed.leave()
    sequence = await commit(live, ENTRIES[HALF : HALF + 10])
    assert (await staying.news("delta"))["sequence"] == sequence
    await staying.leave()


@in_a_loop
async def test_how_the_collection_stands_is_reported(live: Followed) -> None:
    @sync_to_async
    def change(**values: Any) -> None:
        for name, value in values.items():
            setattr(live.cluster, name, value)
        live.cluster.save()
        notify.notify(cluster=live.cluster.pk)

    await sync_to_async(Stream.objects.create)(
        source=live.source, group="", version="v1", kind="Pod", resource="pods", state="listing"
    )
    page = await follow(live, live.source.sequence)
    for changed, wanted in (
        ({}, {"state": "live", "listing": ["pods"]}),
        ({"state": "failing", "error": "connection refused"}, {"state": "failing", "error": "connection refused"}),
        ({"paused": True}, {"state": "paused"}),
        ({"paused": False, "state": "live", "expires_at": moment(0)}, {"state": "waiting"}),
    ):
        await change(**changed)
        async with asyncio.timeout(patient(PATIENCE)):
            while not wanted.items() <= (await page.news("health")).items():
                pass
    await page.leave()


def test_a_long_life_is_reported_by_its_end(live: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "ROWS", 4)
    message = deltas.missed(live.source.pk, 0)
    assert message is not None
    long = [tail for tail in message["tracks"] if tail["since"]]
    assert long
    for tail in long:
        since = tail["since"] or 0
        assert len(tail["bars"]) <= 4
        assert tail["bars"][0][0] is None
        assert all((start or 0) >= since for start, *_ in tail["bars"][1:])
        assert all(mark[0] >= since for mark in tail["marks"])


def test_a_recording_of_a_live_source_shows_its_gaps_too() -> None:
    middle = ENTRIES[HALF].received
    gap = Mark("", "v1", "Pod", MarkType.GAP, middle + 1_000_000, since=middle, reason="The watch was away.")
    source, world = store.open_source("recorded"), World()
    pipeline.ingest(source, world, [*ENTRIES, gap])
    store.show_source(source)
    values = {"kind": ["Pod"], "start": [middle], "end": [middle + 1_000_000], "text": ["The watch was away."]}
    assert windows.window(source.pk)["gaps"] == values
    assert windows.window(source.pk, middle + 60_000_000, middle + 60_001_000)["gaps"]["kind"] == []
    assert excerpt(world, []).window["gaps"] == values


def test_a_window_of_the_past_shows_what_came_just_now(live: Followed) -> None:
    """Cached totals must not hide the change, and are updated once no more changes come."""
    live.commit(ENTRIES[HALF:])
    last = windows.window(live.source.pk)["last"]
    shown = windows.window(live.source.pk, last - 12_000_000, last - 10_000_000, limit=200)
    everything = windows.window(live.source.pk, limit=200)
    bars = everything["bars"]
    lived = {
        everything["lanes"][lane]["key"]
        for lane, start, end in zip(bars["lane"], bars["start"], bars["end"], strict=True)
        if start <= last - 10_000_000 and end >= last - 12_000_000
    }
    assert {lane["key"] for lane in shown["lanes"]} == lived


@in_a_loop
async def test_alerts_that_come_together_are_one_message(live: Followed) -> None:
    page = await follow(live)
    await page.news("alerts")  # what came before this page listened may have been missed
    began = time.monotonic()
    for count in range(20):
        await sync_to_async(notify.notify)(alerts=count + 1)
    most = 1 + (time.monotonic() - began) / hubs.TOGETHER
    await page.news("alerts")
    await commit(live, ENTRIES[HALF:])
    kinds = []
    while "delta" not in kinds:
        kinds.append((await page.news())["type"])
    assert kinds.count("alerts") <= most  # a machine that takes long to send the 20 sends them in parts
    await page.leave()
