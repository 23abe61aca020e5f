"""HTTP/1.1 as far as clients of Kubernetes use it, with full control of the connection: a test wants it reset, half an
object sent, the door shut for a minute."""

import asyncio
import contextlib
import logging
import re
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

_HEAD_BYTES = 64 * 1024
_BODY_BYTES = 1024 * 1024
_IDLE_SECONDS = 90.0  # between two requests of one connection
_ARRIVE_SECONDS = 10.0  # in which a request that has begun has to arrive
_CONNECTIONS = 1024
_LENGTH = re.compile("[0-9]{1,15}")
_BUFFER_BYTES = 256 * 1024  # of one connection that wait for the reader, before the next are made


class Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in small letters
    body: bytes

    def flag(self, name: str) -> bool:
        return self.query.get(name, "") in ("1", "t", "true", "True")


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"


class Wire:
    """Towards one client, while an answer without a known end is sent."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Returns once most of it is on its way. Raises ConnectionError where nobody listens any more."""
        self._writer.writelines((b"%x\r\n" % len(data), data, b"\r\n"))
        await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def reset(self) -> None:
        """So that the other side reads an error, not an end."""
        wire = self._writer.get_extra_info("socket")
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Streaming = Callable[[Wire], Awaitable[None]]
Answering = Callable[[Request], Awaitable[Answer | Streaming | None]]  # None: hang up
Admitting = Callable[[Request], Answer | None]  # None: it is let in


class Server:
    """Listens on one address; each connection is answered in a task of its own."""

    def __init__(self, answer: Answering, now: Callable[[], float], admit: Admitting = lambda request: None) -> None:
        """`now` is what the Date header tells, seconds since 1970. `admit` sees a request before its body is read."""
        self._answer, self._admit = answer, admit
        self._now = now
        self._listener: asyncio.Server | None = None
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self.host, self.port = "", 0

    async def listen(self, host: str, port: int) -> None:
        """Raises OSError where the port is taken."""
        self._listener = await asyncio.start_server(self._accept, host, port, limit=_HEAD_BYTES)
        self.host, self.port = host, self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Nobody is let in any more, and whoever is in is thrown out."""
        if self._listener:
            self._listener.close()
        await self.disconnect()

    async def disconnect(self) -> None:
        """End all connections."""
        tasks = list(self._connections.values())
        for writer, task in list(self._connections.items()):
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def away(self, seconds: float) -> None:
        """As if the machine were not there for a while: connections are refused."""
        await self.close()
        await asyncio.sleep(seconds)
        await self.listen(self.host, self.port)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= _CONNECTIONS:
            writer.transport.abort()
            return
        writer.transport.set_write_buffer_limits(high=_BUFFER_BYTES)
        task = asyncio.create_task(self._converse(reader, writer))
        self._connections[writer] = task
        task.add_done_callback(lambda _: self._connections.pop(writer, None))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = (ConnectionError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        with contextlib.suppress(*ends):
            try:
                while await self._exchange(reader, writer):
                    pass
            finally:
                writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether another may follow."""
        async with asyncio.timeout(_IDLE_SECONDS):
            first = await reader.readexactly(1)
        async with asyncio.timeout(_ARRIVE_SECONDS):
            request = _request(first + await reader.readuntil(b"\r\n\r\n"))
        size = int(request.headers.get("content-length") or 0) if request else 0
        if request is None or size > _BODY_BYTES:
            writer.write(self._head(413 if size else 400, (("Connection", "close"),)))
            return False
        answer: Answer | Streaming | None = self._admit(request)
        if answer and size:  # nothing is read from whoever is not let in
            request = request._replace(headers={**request.headers, "connection": "close"})
        elif size:
            async with asyncio.timeout(_ARRIVE_SECONDS):
                request = request._replace(body=await reader.readexactly(size))
        try:
            answer = answer or await self._answer(request)
        except Exception:
            logging.getLogger(__name__).exception("%s %s could not be answered", request.method, request.path)
            answer = Answer(500, b"", (("Connection", "close"),))
        if answer is None:
            return False
        if not isinstance(answer, Answer):
            await self._stream(answer, reader, writer)
            return False
        lasting = request.headers.get("connection", "").lower() != "close"
        headers = (
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            *answer.headers,
            *(() if lasting else (("Connection", "close"),)),
        )
        body = b"" if request.method == "HEAD" else answer.body
        writer.writelines((self._head(answer.status, headers), body))
        await writer.drain()
        return lasting

    async def _stream(self, stream: Streaming, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers = ("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"), ("Connection", "close")
        writer.write(self._head(200, headers))
        streaming = asyncio.ensure_future(stream(Wire(writer)))
        leaving = asyncio.ensure_future(reader.read(1))  # the client says nothing more: it can only hang up
        try:
            await asyncio.wait((streaming, leaving), return_when=asyncio.FIRST_COMPLETED)
            if streaming.done():
                streaming.result()
        finally:
            for task in (streaming, leaving):
                task.cancel()
            await asyncio.gather(streaming, leaving, return_exceptions=True)

    def _head(self, status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
        date = ("Date", formatdate(self._now(), usegmt=True))
        told = "".join(f"{name}: {value}\r\n" for name, value in (date, *headers))
        return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{told}\r\n".encode("latin-1")


def _request(head: bytes) -> Request | None:
    """Without its body; None for what is no HTTP."""
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    headers = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    if words[2] == "HTTP/1.0":
        headers["connection"] = "close"
    if not _LENGTH.fullmatch(headers.get("content-length") or "0") or "transfer-encoding" in headers:
        return None
    try:
        address = urlsplit(words[1])
    except ValueError:
        return None
    query = dict(parse_qsl(address.query, keep_blank_values=True))
    return Request(words[0], unquote(address.path).rstrip("/") or "/", query, headers, b"")
