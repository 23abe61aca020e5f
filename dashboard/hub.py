"""One listener a process: what PostgreSQL announces is read once, serialised once, and handed to every consumer."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import psycopg
from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

from timeline import push, queries
from timeline.models import Upload

logger = logging.getLogger(__name__)
QUEUE = 100  # messages a slow browser may lie behind; then it is told to fetch anew
RETRY = 1.0  # seconds, after PostgreSQL went away
REFETCH = b'{"type":"refetch"}'
SOURCES = b'{"type":"sources"}'  # one was renamed or deleted


class Hub:
    """Consumers subscribe to a topic ("uploads") and get bytes. It listens as long as anybody does."""

    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[bytes]]] = {}
        self._listening: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncIterator["asyncio.Queue[bytes]"]:
        queue: asyncio.Queue[bytes] = asyncio.Queue(QUEUE)
        self._queues.setdefault(topic, set()).add(queue)
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen())
        try:
            yield queue
        finally:
            self._queues[topic].discard(queue)
            if self._listening and not any(self._queues.values()):
                self._listening.cancel()
                self._listening = None  # it is not done yet; who comes next must not rely on it

    async def _listen(self) -> None:
        while True:
            try:
                parameters = connections["default"].get_connection_params()
                known = {key: value for key, value in parameters.items() if key not in {"cursor_factory", "context"}}
                async with await psycopg.AsyncConnection.connect(**known, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {push.CHANNEL}")
                    self._send_all(REFETCH)  # what was announced before is not known here
                    async for notice in connection.notifies():
                        await self._announce(json.loads(notice.payload))
            except Exception as error:  # whatever it is, the browsers must not wait for ever
                logger.warning("listening to PostgreSQL failed, again in %s s: %r", RETRY, error)
                await asyncio.sleep(RETRY)

    async def _announce(self, ids: dict[str, int]) -> None:
        if "upload" in ids and self._queues.get("uploads") and (message := await _upload_message(ids["upload"])):
            self._send("uploads", message)
        if "source" in ids:
            self._send("uploads", SOURCES)

    def _send_all(self, message: bytes) -> None:
        for topic in self._queues:
            self._send(topic, message)

    def _send(self, topic: str, message: bytes) -> None:
        for queue in self._queues.get(topic, ()):
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(REFETCH)
            else:
                queue.put_nowait(message)


@sync_to_async
def _upload_message(upload_id: int) -> bytes | None:
    close_old_connections()
    upload = Upload.objects.filter(pk=upload_id).first()
    return orjson.dumps({"type": "upload", "upload": queries.upload_payload(upload)}) if upload else None


hub = Hub()
