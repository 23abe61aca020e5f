"""This module listens to PostgreSQL's notifications once in each process, and hands them to every consumer."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import orjson
import psycopg
from asgiref.sync import sync_to_async
from django.db import close_old_connections

from dashboard.access import links
from dashboard.metrics.requests import WAITING_MESSAGES
from dashboard.push import feeds
from timeline import queries
from timeline.models import Upload
from timeline.storage import notify, sessions

logger = logging.getLogger(__name__)
QUEUE = 100  # messages that may wait for a slow browser; after that it has to fetch again
RETRY = 0.5  # seconds, after PostgreSQL went away
TOGETHER = 0.5  # seconds in which notifications of alerts become one message
CHECK = 3.0  # seconds between two messages of health, and between two checks of who may listen
REFETCH = b'{"type":"refetch"}'
ALERTS = b'{"type":"alerts"}'  # alerts have arrived or changed; a page asks for those that it shows
SOURCES = b'{"type":"sources"}'  # a source was renamed or deleted
_SHARED = ("uploads", "incidents")  # topics that are about all sources
Queue = asyncio.Queue[bytes]


class Hub:
    """This class hands messages as bytes to consumers, which subscribe to "uploads" or "incidents", or follow a source.
    It listens to PostgreSQL while it has consumers."""

    def __init__(self) -> None:
        self._queues: dict[str, set[Queue]] = {}
        self._feeds: dict[int, feeds.Feed] = {}
        self._listeners: dict[Callable[[], None], str] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._alerts: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncIterator[Queue]:
        queue: Queue = asyncio.Queue(QUEUE)
        self._queues.setdefault(topic, set()).add(queue)
        if not self._tasks or any(task.done() for task in self._tasks):
            self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._check_regularly())]
        try:
            yield queue
        finally:
            self._queues[topic].discard(queue)
            if not any(self._queues.values()):
                self._measure_waiting()
                for task in self._tasks:
                    task.cancel()
                self._tasks = []  # they have not ended yet, and the next subscriber must not use them

    @asynccontextmanager
    async def follow(self, source_id: int, cursor: int | None) -> AsyncIterator[Queue]:
        """Queue the health of a source, and its commits after the cursor, or from now on if there is none."""
        topic = _topic(source_id)
        async with self.subscribe(topic) as queue:
            if source_id not in self._feeds:
                self._feeds[source_id] = feeds.Feed(source_id, lambda message: self._send(topic, message))
            feed = self._feeds[source_id]
            try:
                await feed.started()
                if not feed.health:
                    feed.health = (await feeds.health_messages([source_id])).get(source_id, b"")
                greeting = [feed.health, *await feed.greeting(cursor)]
                reached = max(map(feeds.sequence_of, filter(None, greeting)), default=0)
                # What the feed has sent meanwhile and the greeting contains, too, would lead the browser back.
                newer = [each for each in _drained(queue) if not 0 < feeds.sequence_of(each) <= reached]
                for message in [*filter(None, greeting), *newer]:
                    self._put(queue, topic, message)
                yield queue
            finally:
                if self._queues[topic] == {queue}:
                    feed.stop()
                    del self._feeds[source_id]

    @asynccontextmanager
    async def watch_rights(self, session: str | None, dismiss: Callable[[], None]) -> AsyncIterator[None]:
        """Call `dismiss` once if the session's rights are withdrawn during the context."""
        self._listeners[dismiss] = session or ""
        try:
            yield
        finally:
            self._listeners.pop(dismiss, None)

    async def _listen(self) -> None:
        while True:
            try:
                parameters = sessions.direct_parameters()
                async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {notify.CHANNEL}")
                    for topic in _SHARED:
                        self._send(topic, REFETCH)  # earlier notifications were not received
                    for feed in self._feeds.values():
                        feed.wake()
                    self._tell_of_alerts()
                    async for notice in connection.notifies():
                        await self._announce(json.loads(notice.payload))
            except Exception as error:  # after any error the browsers must not wait for ever
                logger.warning("listening to PostgreSQL failed, again in %s s: %r", RETRY, error)
                await asyncio.sleep(RETRY)

    async def _announce(self, ids: dict[str, int]) -> None:
        if "upload" in ids and self._queues.get("uploads") and (message := await _upload_message(ids["upload"])):
            self._send("uploads", message)
        if "source" in ids and (feed := self._feeds.get(ids["source"])):
            feed.wake()
        if "alerts" in ids:
            self._tell_of_alerts()
        if "incidents" in ids:
            self._send("incidents", orjson.dumps({"type": "incidents", "source": ids.get("source")}))
        elif ids.keys() & {"source", "cluster"} and "sequence" not in ids:
            self._send("uploads", SOURCES)
            self._send("incidents", SOURCES)
        if "cluster" in ids and self._feeds:
            await self._send_health({*await feeds.sources_of(ids["cluster"])} & self._feeds.keys())

    def _tell_of_alerts(self) -> None:
        """Tell all timelines soon that there are new alerts, once for all that arrive together."""
        if self._alerts is None or self._alerts.done():
            self._alerts = asyncio.create_task(self._send_alerts())

    async def _send_alerts(self) -> None:
        await asyncio.sleep(TOGETHER)
        for source_id in self._feeds:
            self._send(_topic(source_id), ALERTS)

    async def _check_regularly(self) -> None:
        while True:
            await asyncio.sleep(CHECK)
            try:
                gone = await links.withdrawn(self._listeners.values())
                for dismiss in [each for each, session in self._listeners.items() if session in gone]:
                    dismiss()
                await self._send_health(self._feeds.keys())
                self._measure_waiting()
            except Exception as error:
                logger.warning("checking who listens failed, again in %s s: %r", CHECK, error)

    async def _send_health(self, sources: Iterable[int]) -> None:
        if wanted := list(sources):
            for source, message in (await feeds.health_messages(wanted)).items():
                if feed := self._feeds.get(source):
                    feed.health = message
                self._send(_topic(source), message)

    def _send(self, topic: str, message: bytes) -> None:
        for queue in self._queues.get(topic, ()):
            self._put(queue, topic, message)

    def _put(self, queue: Queue, topic: str, message: bytes) -> None:
        if queue.full():
            _drained(queue)
            message = self._refetch(topic)
        queue.put_nowait(message)

    def _measure_waiting(self) -> None:
        waiting = dict.fromkeys((*_SHARED, "links", "sources"), 0)
        for topic, queues in self._queues.items():
            waiting[topic.partition("/")[0]] += sum(queue.qsize() for queue in queues)
        for kind, messages in waiting.items():
            WAITING_MESSAGES.labels(kind).set(messages)

    def _refetch(self, topic: str) -> bytes:
        source = topic.removeprefix("sources/")
        feed = self._feeds.get(int(source)) if source.isdecimal() else None
        return feeds.refetch(feed.sequence) if feed else REFETCH


def _drained(queue: Queue) -> list[bytes]:
    return [queue.get_nowait() for _ in range(queue.qsize())]


def _topic(source_id: int) -> str:
    return f"sources/{source_id}"


@sync_to_async
def _upload_message(upload_id: int) -> bytes | None:
    close_old_connections()
    upload = Upload.objects.filter(pk=upload_id).first()
    return orjson.dumps({"type": "upload", "upload": queries.upload_payload(upload)}) if upload else None


hub = Hub()
