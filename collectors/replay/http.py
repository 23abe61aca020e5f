"""Serve HTTP/1.1 for the replay, with full control of each connection.

h11 parses requests and frames responses. The connection stays in our hands because tests need to reset it, to send half
an object, or to close the port for a minute, which no HTTP framework offers
(docs/decisions/0023-libraries-for-input.md).
"""

import asyncio
import contextlib
import logging
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import h11

_HEAD_BYTES = 64 * 1024  # of a request at most
_BODY_BYTES = 1024 * 1024  # of a request at most
_READ_BYTES = 16 * 1024  # that are read from a connection at once
_IDLE_SECONDS = 90.0  # seconds between two requests of one connection at most
_ARRIVE_SECONDS = 10.0  # seconds in which a request must arrive once it has begun: its head, and then its body
_CONNECTIONS = 1024  # that are open at the same time at most
_FILES_SECONDS = 1.0  # until connections are accepted again after there were too many open files
_BUFFER_BYTES = 256 * 1024  # that may wait for the client of one connection before more is produced


class Request(NamedTuple):
    """One request. The body is at most _BODY_BYTES long."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def flag(self, name: str) -> bool:
        """Return whether a boolean query parameter is set, as the API server parses it."""
        return self.query.get(name, "") in ("1", "t", "true", "True")


class Response(NamedTuple):
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"


class _BadRequest(Exception):
    """A request cannot be served. `status` is the HTTP status that says why."""

    def __init__(self, status: int) -> None:
        super().__init__(HTTPStatus(status).phrase)
        self.status = status


class _Connection:
    """One connection of a client: h11's state of it, and its two streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, now: Callable[[], float]) -> None:
        self.reader, self.writer, self._now = reader, writer, now
        self._protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)

    async def request(self) -> Request | None:
        """Return the head of the next request, or None if the client closed the connection.

        Raise _BadRequest for invalid HTTP, TimeoutError, and ConnectionError.
        """
        if not self._protocol.trailing_data[0]:  # otherwise this request has arrived together with the previous one
            async with asyncio.timeout(_IDLE_SECONDS):
                await self._receive()
        async with asyncio.timeout(_ARRIVE_SECONDS):
            event = await self._next_event()
        return _request(event) if isinstance(event, h11.Request) else None

    async def body(self) -> bytes:
        """Return the body of the request. Raise as `request` does."""
        body = bytearray()
        async with asyncio.timeout(_ARRIVE_SECONDS):
            while isinstance(event := await self._next_event(), h11.Data):
                body += event.data
                if len(body) > _BODY_BYTES:
                    raise _BadRequest(413)
        return bytes(body)

    async def begin_response(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        """Send the head of a response."""
        date = ("Date", formatdate(self._now(), usegmt=True))
        reason = HTTPStatus(status).phrase.encode()
        await self.send(h11.Response(status_code=status, headers=[date, *headers], reason=reason))

    async def send(self, event: h11.Event) -> None:
        """Send a part of a response, and return once most of it is sent. Raise ConnectionError."""
        self.writer.writelines(self._protocol.send_with_data_passthrough(event) or ())
        await self.writer.drain()

    def next_cycle(self) -> bool:
        """Return whether the connection can serve another request, and prepare for it."""
        if self._protocol.our_state is not h11.DONE or self._protocol.their_state is not h11.DONE:
            return False
        self._protocol.start_next_cycle()
        return True

    async def _next_event(self) -> object:
        try:
            while (event := self._protocol.next_event()) is h11.NEED_DATA:
                await self._receive()
        except h11.RemoteProtocolError as error:
            raise _BadRequest(error.error_status_hint) from None
        return event

    async def _receive(self) -> None:
        self._protocol.receive_data(await self.reader.read(_READ_BYTES))


class ResponseStream:
    """Write the body of a response without a known end, such as a watch, to one client."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    async def send(self, data: bytes) -> None:
        """Send data, and return once most of it is sent. Raise ConnectionError if the client is gone."""
        await self._connection.send(h11.Data(data=data))

    async def end(self) -> None:
        """End the response properly."""
        await self._connection.send(h11.EndOfMessage())

    def reset(self) -> None:
        """Reset the connection, so that the client reads an error and not an end."""
        writer = self._connection.writer
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


StreamingBody = Callable[[ResponseStream], Awaitable[None]]
Handler = Callable[[Request], Awaitable[Response | StreamingBody | None]]  # None: close the connection
AdmissionCheck = Callable[[Request], Response | None]  # None: the request is admitted


class _Protocol(asyncio.StreamReaderProtocol):
    """Add the transport of a connection to a set for as long as the connection is open."""

    def __init__(
        self, accept: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], opened: set[asyncio.BaseTransport]
    ) -> None:
        super().__init__(asyncio.StreamReader(), accept)
        self._opened = opened

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._made = transport
        self._opened.add(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._opened.discard(self._made)
        super().connection_lost(exc)


class Server:
    """Listen on one address, and serve each connection in a task of its own."""

    def __init__(self, answer: Handler, now: Callable[[], float], admit: AdmissionCheck = lambda request: None) -> None:
        """`now` gives the time of the Date header in seconds since 1970; `admit` gets a request without its body."""
        self._answer, self._admit = answer, admit
        self._now = now
        self._listening: list[socket.socket] = []
        self._accepting: set[asyncio.Task[Any]] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._opened: set[asyncio.BaseTransport] = set()
        self.host, self.port = "", 0

    async def listen(self, host: str, port: int) -> None:
        """Start to accept connections; port 0 takes any free port. Raise OSError if the port is taken.

        This class accepts connections by itself, because `asyncio.start_server` leaves the socket of a connection open
        that arrives while the server is being closed.
        """
        loop = asyncio.get_running_loop()
        bound = await loop.create_server(asyncio.Protocol, host, port, start_serving=False)
        self._listening = [each.dup() for each in bound.sockets]
        bound.close()
        self.host, self.port = host, self._listening[0].getsockname()[1]
        for listening in self._listening:
            listening.setblocking(False)
            listening.listen(_CONNECTIONS)
            self._watch(listening)

    def _watch(self, listening: socket.socket) -> None:
        """Accept connections of a listening socket from now on, unless it was closed meanwhile."""
        if listening in self._listening:
            asyncio.get_running_loop().add_reader(listening, self._take, listening)

    def _take(self, listening: socket.socket) -> None:
        """Accept one connection that waits in the backlog of a listening socket."""
        loop = asyncio.get_running_loop()
        try:
            accepted, _ = listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # the client is gone
        except OSError:  # there are too many open files
            loop.remove_reader(listening)
            loop.call_later(_FILES_SECONDS, self._watch, listening)
            return
        made = loop.create_task(loop.connect_accepted_socket(lambda: _Protocol(self._accept, self._opened), accepted))
        self._accepting.add(made)
        made.add_done_callback(self._accepting.discard)

    async def close(self) -> None:
        """Stop accepting connections, and end those that are open."""
        for listening in self._listening:
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._listening.clear()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await self.disconnect()

    async def disconnect(self) -> None:
        """End all connections."""
        tasks = list(self._connections)
        for transport in list(self._opened):
            cast("asyncio.WriteTransport", transport).abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        while self._opened:
            await asyncio.sleep(0)  # the loop closes a transport that was aborted in its next round

    async def away(self, seconds: float) -> None:
        """Refuse connections for so many seconds, as if the machine were down."""
        await self.close()
        await asyncio.sleep(seconds)
        await self.listen(self.host, self.port)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= _CONNECTIONS:
            writer.transport.abort()
            return
        writer.transport.set_write_buffer_limits(high=_BUFFER_BYTES)
        task = asyncio.create_task(self._serve(_Connection(reader, writer, self._now)))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, connection: _Connection) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            try:
                while (request := await connection.request()) and await self._serve_request(connection, request):
                    pass
            except _BadRequest as error:
                await connection.begin_response(error.status, (("Connection", "close"), ("Content-Length", "0")))
            finally:
                connection.writer.close()

    async def _serve_request(self, connection: _Connection, request: Request) -> bool:
        """Answer one request, and return whether another one may follow on its connection."""
        if int(request.headers.get("content-length", 0)) > _BODY_BYTES:
            raise _BadRequest(413)
        answer: Response | StreamingBody | None = self._admit(request)
        if answer is None:  # nothing but the head is read from a client that is not admitted
            request = request._replace(body=await connection.body())
            try:
                answer = await self._answer(request)
            except Exception:
                logging.getLogger(__name__).exception("%s %s could not be answered", request.method, request.path)
                answer = Response(500, b"", (("Connection", "close"),))
        if answer is None:
            return False
        if not isinstance(answer, Response):
            await self._stream(answer, connection)
            return False
        headers = ("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body))), *answer.headers
        await connection.begin_response(answer.status, headers)
        if request.method != "HEAD":
            await connection.send(h11.Data(data=answer.body))
        await connection.send(h11.EndOfMessage())
        return connection.next_cycle()

    async def _stream(self, stream: StreamingBody, connection: _Connection) -> None:
        await connection.begin_response(200, (("Content-Type", "application/json"), ("Connection", "close")))
        sending = asyncio.ensure_future(stream(ResponseStream(connection)))
        disconnected = asyncio.ensure_future(connection.reader.read(1))  # a client of a watch sends nothing more
        try:
            await asyncio.wait((sending, disconnected), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, disconnected):
                task.cancel()
            await asyncio.gather(sending, disconnected, return_exceptions=True)


def _request(head: h11.Request) -> Request:
    """Return a request without its body. Raise _BadRequest if its target is not a URL."""
    try:
        target = urlsplit(head.target.decode("latin-1"))
    except ValueError:
        raise _BadRequest(400) from None
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    query = dict(parse_qsl(target.query, keep_blank_values=True))
    return Request(head.method.decode("latin-1"), unquote(target.path).rstrip("/") or "/", query, headers, b"")
