"""Read the commits of a live source once for all browsers whose readers see the same of it, at most ten times a
second."""

import asyncio
import logging
from collections.abc import Callable, Iterable

import orjson
from asgiref.sync import sync_to_async
from django.db import close_old_connections

from timeline.models import Source
from timeline.payloads.live import HealthPayload
from timeline.queries.sources import live
from timeline.queries.window import deltas as deltas_queries
from timeline.queries.window.deltas import Deltas, Missed
from timeline.storage.permitted.limits import Permitted, seeing

logger = logging.getLogger(__name__)
APART = 0.1  # seconds between two messages on average; commits in between become one message
LEAST = 0.05  # seconds between two messages if the first was late
RETRY = 0.5  # seconds, after PostgreSQL went away
GONE = b'{"type":"gone"}'  # the source was deleted


class Feed:
    """A feed reads what was committed after its cursor when it is woken, and hands each message to `send`.

    It leaves out what its readers may not see; a commit that is left without content makes no message.
    """

    def __init__(self, source_id: int, seen: Permitted, send: Callable[[bytes], None]) -> None:
        self.source = source_id
        self.seen = seen  # of this source
        self._send = send
        self.over = False  # whether the source was deleted, or its readers see nothing of it
        self.health = b""  # the last health message of the source
        self._woken = asyncio.Event()
        self._started = asyncio.Event()
        self._deltas: Deltas | None = None
        self._greetings: dict[tuple[int | None, int], asyncio.Task[list[bytes]]] = {}
        self._running = asyncio.create_task(self._run())

    @property
    def sequence(self) -> int:
        """Return the sequence of the last commit that was read."""
        return self._deltas.cursor if self._deltas else 0

    async def started(self) -> None:
        """Wait until the feed has its cursor; every later commit is sent."""
        await self._started.wait()

    async def greeting(self, cursor: int | None) -> list[bytes]:
        """Return the messages for a browser that connects with a cursor. They are read once for all browsers with the
        same cursor until the next commit, because after a restart of this process all browsers connect at once."""
        known = cursor, self.sequence
        if known not in self._greetings:
            self._greetings = {key: task for key, task in self._greetings.items() if key[1] == self.sequence}
            self._greetings[known] = asyncio.create_task(_greeting(self.source, self.seen, cursor))
            self._greetings[known].add_done_callback(lambda task: task.exception() and self._greetings.pop(known, None))
        return await asyncio.shield(self._greetings[known])

    def wake(self) -> None:
        """Let the feed read, because something was committed or may have been."""
        self._woken.set()

    def stop(self) -> None:
        self._running.cancel()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due = 0.0  # when the next message may be sent
        while True:
            try:
                if self._deltas is None:
                    self._deltas = Deltas(self.source, await _sequence(self.source, self.seen))
                    self._started.set()
                await self._woken.wait()
                self._woken.clear()
                began = loop.time()
                if message := await _read(self._deltas, self.seen):
                    self._send(message)
                    # After a message that was late, the next one is on time again.
                    due = max(due + APART, began + LEAST)
                    await asyncio.sleep(due - loop.time())
            except Source.DoesNotExist:
                self.over = True
                self._started.set()
                self._send(GONE)
                return
            except Exception as error:  # after any error the browsers must not wait for ever
                logger.warning("reading source %s failed, again in %s s: %r", self.source, RETRY, error)
                self._woken.set()
                await asyncio.sleep(RETRY)


def refetch(sequence: int) -> bytes:
    """Return the message that tells a browser to fetch the window again."""
    return orjson.dumps({"type": "refetch", "sequence": sequence})


def sequence_of(message: bytes) -> int:
    """Return up to which commit a browser knows the source after a message; 0 for a message that is not about that."""
    parsed = orjson.loads(message)
    return int(parsed["sequence"]) if parsed["type"] in {"delta", "refetch"} else 0


@sync_to_async
def _sequence(source_id: int, seen: Permitted) -> int:
    close_old_connections()
    with seeing(seen):
        return Source.objects.values_list("sequence", flat=True).get(pk=source_id)


@sync_to_async
def _read(deltas: Deltas, seen: Permitted) -> bytes | None:
    close_old_connections()
    try:
        if deltas.skip(seen):
            return None
        with seeing(seen):
            payload = deltas.read()
    except Missed:
        return refetch(deltas.cursor)
    return orjson.dumps(payload) if payload else None


@sync_to_async
def _greeting(source_id: int, seen: Permitted, cursor: int | None) -> list[bytes]:
    """Return the messages for what was committed since the cursor."""
    close_old_connections()
    if cursor is None:
        return []
    try:
        with seeing(seen):
            payload = deltas_queries.missed(source_id, cursor)
    except Missed:
        return [refetch(cursor)]
    except Source.DoesNotExist:
        return [GONE]
    return [orjson.dumps(payload)] if payload else []


@sync_to_async
def healths(sources: Iterable[int]) -> dict[int, HealthPayload]:
    """Return the health of each of these sources."""
    close_old_connections()
    return live.live_health(sources)


def health_message(health: HealthPayload, seen: Permitted) -> bytes:
    """Return the health of a source as a message. Whoever does not see all of the source does not learn how many
    entries it has, nor what an error says, which may name anything in the cluster."""
    if not seen.everything:
        error = "Those who see all of this source see why." if health["error"] else ""
        health = {**health, "entries": 0, "error": error}
    return orjson.dumps(health)


@sync_to_async
def sources_of(cluster_id: int) -> list[int]:
    close_old_connections()
    return list(Source.objects.filter(cluster=cluster_id).values_list("pk", flat=True))
