"""Listen to PostgreSQL's notifications once in each process, and hand them to every consumer."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson
import psycopg
from asgiref.sync import sync_to_async
from django.db import close_old_connections

from dashboard.access import listeners
from dashboard.access.roles import grants
from dashboard.metrics.requests import WAITING_MESSAGES
from dashboard.push import feeds
from timeline.models import Upload
from timeline.queries.sources import uploads
from timeline.storage import notify, sessions
from timeline.storage.permitted.limits import EVERYTHING, Permitted

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


@dataclass(eq=False)
class Listener:
    """Somebody who listens, and whose rights are checked regularly."""

    session: str  # as `listeners.withdrawn` knows the listener
    dismiss: Callable[[], None]  # called when the session is no longer valid
    account: int | None = None  # whose roles are compared; None for somebody who has no account
    held: str = ""  # the fingerprint of the roles that the account had
    renew: Callable[[], None] = lambda: None  # called when it has other roles


class Hub:
    """Hand messages as bytes to consumers, which subscribe to "uploads" or "incidents", or follow a source. Listen to
    PostgreSQL while there are consumers."""

    def __init__(self) -> None:
        self._queues: dict[str, set[Queue]] = {}
        self._feeds: dict[str, feeds.Feed] = {}  # by topic
        self._listeners: set[Listener] = set()
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
            self._queues.get(topic, set()).discard(queue)
            if not any(self._queues.values()):
                self._measure_waiting()
                for task in self._tasks:
                    task.cancel()
                self._tasks = []  # they have not ended yet, and the next subscriber must not use them

    @asynccontextmanager
    async def follow(self, source_id: int, cursor: int | None, seen: Permitted = EVERYTHING) -> AsyncIterator[Queue]:
        """Queue the health of a source, and its commits after the cursor, or from now on if there is none, as somebody
        sees them. All who see the same of the source share one feed."""
        seen = seen.within(source_id)
        topic = _topic(source_id, seen)
        async with self.subscribe(topic) as queue:
            if topic not in self._feeds:
                self._feeds[topic] = feeds.Feed(source_id, seen, lambda message: self._send(topic, message))
            feed = self._feeds[topic]
            try:
                await feed.started()
                if not feed.health and not feed.over:
                    health = (await feeds.healths([source_id])).get(source_id)
                    feed.health = feeds.health_message(health, seen) if health else b""
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
                    del self._feeds[topic], self._queues[topic]

    @asynccontextmanager
    async def watch_rights(self, listener: Listener) -> AsyncIterator[None]:
        """Check the rights of a listener regularly during the context."""
        self._listeners.add(listener)
        try:
            yield
        finally:
            self._listeners.discard(listener)

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

    def _feeds_of(self, source_id: int | None) -> list[feeds.Feed]:
        return [feed for feed in self._feeds.values() if feed.source == source_id]

    async def _announce(self, ids: dict[str, Any]) -> None:
        if "upload" in ids and self._queues.get("uploads") and (message := await _upload_message(ids["upload"])):
            self._send("uploads", message)
        for feed in self._feeds_of(ids.get("source")):
            feed.wake()
        if "alerts" in ids:
            self._tell_of_alerts()
        if "incidents" in ids:
            about = {"namespaces": ids["namespaces"]} if "namespaces" in ids else {}
            self._send("incidents", orjson.dumps({"type": "incidents", "source": ids.get("source"), **about}))
        elif ids.keys() & {"source", "cluster"} and "sequence" not in ids:
            self._send("uploads", SOURCES)
            self._send("incidents", SOURCES)
        if "cluster" in ids and self._feeds:
            await self._send_health(await feeds.sources_of(ids["cluster"]))

    def _tell_of_alerts(self) -> None:
        """Tell all timelines soon that there are new alerts, once for all that arrive together."""
        if self._alerts is None or self._alerts.done():
            self._alerts = asyncio.create_task(self._send_alerts())

    async def _send_alerts(self) -> None:
        await asyncio.sleep(TOGETHER)
        for topic in self._feeds:
            self._send(topic, ALERTS)

    async def _check_regularly(self) -> None:
        while True:
            await asyncio.sleep(CHECK)
            try:
                await self._check_rights()
                await self._send_health(feed.source for feed in self._feeds.values())
                self._measure_waiting()
            except Exception as error:
                logger.warning("checking who listens failed, again in %s s: %r", CHECK, error)

    async def _check_rights(self) -> None:
        gone = await listeners.withdrawn(each.session for each in self._listeners)
        held = await _fingerprints({each.account for each in self._listeners if each.account is not None})
        for listener in [*self._listeners]:
            if listener.session in gone:
                listener.dismiss()
            elif listener.account in held and held[listener.account] != listener.held:
                listener.held = held[listener.account]
                listener.renew()

    async def _send_health(self, sources: Iterable[int]) -> None:
        followed = {feed.source for feed in self._feeds.values()}
        if wanted := followed.intersection(sources):
            found = await feeds.healths(wanted)
            for topic, feed in self._feeds.items():
                if (health := found.get(feed.source)) and not feed.over:
                    feed.health = feeds.health_message(health, feed.seen)
                    self._send(topic, feed.health)

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
        feed = self._feeds.get(topic)
        return feeds.refetch(feed.sequence) if feed else REFETCH


def _drained(queue: Queue) -> list[bytes]:
    return [queue.get_nowait() for _ in range(queue.qsize())]


def _topic(source_id: int, seen: Permitted) -> str:
    """Return the topic of a source for all who see the same of it."""
    return f"sources/{source_id}" if seen.everything else f"sources/{source_id}/{seen.fingerprint}"


@sync_to_async
def _fingerprints(accounts: Collection[int]) -> dict[int, str]:
    close_old_connections()
    return grants.fingerprints(accounts) if accounts else {}


@sync_to_async
def _upload_message(upload_id: int) -> bytes | None:
    close_old_connections()
    upload = Upload.objects.filter(pk=upload_id).first()
    return orjson.dumps({"type": "upload", "upload": uploads.upload_payload(upload)}) if upload else None


hub = Hub()
