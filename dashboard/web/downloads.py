"""Stream downloads of any size. A slow client does not make the server hold much in memory."""

from __future__ import annotations

import asyncio
import weakref
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from collectors.formats import own
from timeline.models import Source
from timeline.storage.entries import chunks
from timeline.storage.permitted.limits import present

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

AT_ONCE = 8  # downloads of one web process
STALL_SECONDS = 60  # a client that reads nothing for so long is disconnected
_PIECE_BYTES = 256 * 1024
_slots = BoundedSemaphore(AT_ONCE)


class Gone(Exception):
    """The recording was deleted while it was read, so the download is not complete."""


def lines_of(source: Source) -> Iterator[bytes]:
    """Yield all entries of a recording in Causeline's own format. Raises Gone if it was deleted meanwhile."""
    yield from own.recording(chunks.lines(source.pk), part=not present().sees_whole(source.pk))
    if not Source.objects.filter(pk=source.pk).exists():
        raise Gone(f"the recording {source.name} was deleted while it was read")


class Busy(Exception):
    """The largest number of downloads at once is reached."""


class Download:
    """Feed a StreamingHttpResponse. The constructor raises Busy.

    Only the next piece is computed, in a thread of a pool. Between two pieces no thread, database connection or
    transaction is held, so `pieces` has to read page by page.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        if not _slots.acquire(blocking=False):
            raise Busy
        self.close = weakref.finalize(self, _slots.release)  # a response may be dropped unread
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop, reader = asyncio.get_running_loop(), asyncio.current_task()
        assert reader
        while piece := await sync_to_async(self._next_piece, thread_sensitive=False)():
            stalled = loop.call_later(STALL_SECONDS, reader.cancel)
            try:
                yield piece  # the server asks for the next one when it has sent this one
            finally:
                stalled.cancel()

    def _next_piece(self) -> bytes:
        held: list[bytes] = []
        size = 0
        try:
            for each in self._pieces:
                held.append(each)
                size += len(each)
                if size >= _PIECE_BYTES:
                    break
        finally:
            close_old_connections()
        return b"".join(held)
