"""A real HTTP server for tests of what Causeline sends: it remembers every request and answers as it is asked to.

Other small servers of tests have `Quiet`, `Handler` and `serving` in common with it.
"""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOCALHOST = "http://localhost:*"  # for CAUSELINE_DESTINATION_HOSTS


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Print nothing about clients that hang up."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, document: Any, *headers: tuple[str, str]) -> None:
        """Answer with bytes as they are, and with anything else as JSON."""
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), *headers, ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    """Serve in a thread as long as the context lasts."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@dataclass
class Request:
    path: str
    headers: dict[str, str]  # with names in lower case
    body: bytes
    at: float  # time.monotonic()


@dataclass
class Receiver:
    """This server answers 200 until `answers` says otherwise; a number is a status, "hang" waits for `release`."""

    port: int
    requests: list[Request] = field(default_factory=list)
    answers: list[int | str] = field(default_factory=list)  # for the next requests, in order
    always: int | str = 200  # for all further requests
    hanging: str = "-"  # the end of the paths whose requests hang
    headers: dict[str, str] = field(default_factory=dict)  # that each answer has
    body: bytes = b"ok"  # of each answer
    release: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"


class _Server(Quiet):
    receiver: Receiver


class _Handler(Handler):
    server: _Server
    protocol_version = BaseHTTPRequestHandler.protocol_version  # each request on a connection of its own

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.requests.append(Request(self.path, headers, body, time.monotonic()))
        answer = receiver.answers.pop(0) if receiver.answers else receiver.always
        if answer == "hang" or self.path.endswith(receiver.hanging):
            receiver.release.wait(60)
            return
        if answer == "drip":  # a byte now and then, so no single wait is long
            self.send_response(200)
            self.end_headers()
            while not receiver.release.wait(0.05):
                self.wfile.write(b".")
            return
        self.send_response(int(answer))
        for name, value in receiver.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(receiver.body)))
        self.end_headers()
        self.wfile.write(receiver.body)

    do_GET = do_POST


@contextmanager
def receiving(context: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Yield a server on a free port of this machine, with TLS if a context is given."""
    server = _Server(("127.0.0.1", 0), _Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.receiver = Receiver(server.server_address[1])
    with serving(server):
        try:
            yield server.receiver
        finally:
            server.receiver.release.set()


def closed_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
