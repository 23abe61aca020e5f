"""Receive the bodies that programs send, before Django sees their requests, and say whose turn it is to be read.

Everything is counted by cluster, so that whoever holds the token of one cluster takes nothing from the others.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import orjson
from django.conf import settings
from django.db import Error, close_old_connections

from collectors import readers

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
logger = logging.getLogger(__name__)
BODY_SECONDS = 60  # in which a body has to arrive
RETRY_SECONDS = 5  # after which a sender is asked to try again
_IN_MEMORY = 256 * 1024  # bytes of a body; a longer one waits on disk
_PIECE = 64 * 1024
_READ = "causeline.body is read"  # a key of the ASGI scope


class Answered(Exception):
    """End a request with an answer."""

    def __init__(self, status: int, detail: str, *, retry: bool = False) -> None:
        super().__init__(detail)
        self.status, self.retry = status, retry


@contextmanager
def database(waits: str) -> Iterator[None]:
    """Use the database in this context alone. Raise Answered if it fails: the sender has to try again. `waits` says in
    the log what has to wait."""
    close_old_connections()
    try:
        yield
    except Error as error:
        logger.warning("%s, because the database fails: %s", waits, type(error).__name__)
        raise Answered(503, "The database cannot be reached.", retry=True) from None
    finally:
        close_old_connections()


class Intake:
    """Admit so many requests of one cluster at a time, and let one of each cluster be read.

    If another one comes, the one of the same cluster is cut off whose body has been arriving for the longest time; it
    is refused if all bodies are there. So whoever sends slowly keeps nobody out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._admitted: dict[int, list[asyncio.Timeout | None]] = {}  # by cluster; None for a body that is there
        self._of_cluster: dict[int, asyncio.Lock] = {}
        self._turns = asyncio.Semaphore(readers.AT_ONCE)

    @asynccontextmanager
    async def turn(self, cluster: int, scope: dict[str, Any], receive: Receive, most: int) -> AsyncIterator[IO[bytes]]:
        """Receive a body of at most so many bytes, as it is sent, and wait until it may be read. Raise Answered."""
        admitted = self._admitted.setdefault(cluster, [])
        if len(admitted) >= self._most:
            arriving = next((at for at, each in enumerate(admitted) if each), None)
            if arriving is None:
                raise Answered(429, "More of this cluster waits to be read than one server takes.", retry=True)
            if oldest := admitted.pop(arriving):
                oldest.reschedule(asyncio.get_running_loop().time())
        place: asyncio.Timeout | None = asyncio.timeout(BODY_SECONDS)
        admitted.append(place)
        try:
            with _file() as body:
                try:
                    async with place:  # type: ignore[union-attr]
                        await _receive(scope, receive, body, most)
                except TimeoutError:
                    raise Answered(408, "The body took too long to arrive.", retry=True) from None
                admitted[admitted.index(place)] = place = None
                async with self._of_cluster.setdefault(cluster, asyncio.Lock()), self._turns:
                    yield body
        finally:
            if place in admitted:  # it is not if another one has taken its place
                admitted.remove(place)
            if not admitted and self._admitted.get(cluster) is admitted:
                del self._admitted[cluster]
                self._of_cluster.pop(cluster, None)


def pieces_of(body: IO[bytes]) -> Iterator[bytes]:
    """Yield a body in pieces."""
    return iter(lambda: body.read(_PIECE), b"")


def is_packed(scope: dict[str, Any]) -> bool:
    """Return whether a body comes as gzip. Raise Answered if it is compressed otherwise."""
    encoding = dict(scope["headers"]).get(b"content-encoding", b"identity").lower()
    if encoding not in (b"gzip", b"identity"):
        raise Answered(415, "The body has a Content-Encoding other than gzip.")
    return bool(encoding == b"gzip")


async def body_of(scope: dict[str, Any], receive: Receive, most: int) -> bytes:
    """Return a short body, which must not be compressed. Raise Answered if it is longer than `most` bytes."""
    if is_packed(scope):
        raise Answered(415, "The body must not be compressed.")
    with _file() as body:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                await _receive(scope, receive, body, most)
        except TimeoutError:
            raise Answered(408, "The body took too long to arrive.", retry=True) from None
        return body.read()


def _file() -> SpooledTemporaryFile[bytes]:
    settings.UPLOAD_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SpooledTemporaryFile(_IN_MEMORY, "w+b", dir=str(settings.UPLOAD_DIR))


async def _receive(scope: dict[str, Any], receive: Receive, body: IO[bytes], most: int) -> None:
    """Write a body to a file, and go back to its beginning. Raise Answered."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Answered(400, "The body was cut off.")
        more = message.get("more_body", False)
        try:
            body.write(message.get("body", b""))
        except OSError as error:
            raise Answered(503, f"The body could not be kept: {error.strerror or error}.", retry=True) from None
        if body.tell() > most:
            raise too_long(most)
    scope[_READ] = True
    body.seek(0)


def too_long(most: int) -> Answered:
    """Return the answer to a body that has more than `most` bytes."""
    return Answered(413, f"The body has more than {most} bytes.")


async def respond(send: Send, status: int, body: Any, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Send an answer in JSON."""
    content = orjson.dumps(body)
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": content})


async def refuse(scope: dict[str, Any], receive: Receive, send: Send, answer: Answered) -> None:
    """Read the rest of a body, for many clients read the answer only after they have sent all, and send the answer."""
    await drain(scope, receive, 64 * 1024**2)
    more = [(b"retry-after", b"%d" % RETRY_SECONDS)] if answer.retry else []
    said = {"detail": str(answer), "status": answer.status, **getattr(answer, "more", {})}
    await respond(send, answer.status, said, more)


async def drain(scope: dict[str, Any], receive: Receive, most: int, seconds: float | None = BODY_SECONDS) -> None:
    """Read and discard the rest of a body, as far as it has at most so many bytes and comes within so many seconds."""
    taken = 0
    more = _READ not in scope and (b"expect", b"100-continue") not in scope["headers"]
    try:
        async with asyncio.timeout(seconds):
            while more and taken < most:
                message = await receive()
                taken += len(message.get("body", b""))
                more = message.get("more_body", False)
    except TimeoutError:
        pass
