"""Limit the time in which the head of a response must be complete, even if it arrives byte by byte.

A socket timeout applies to each read alone, so one byte now and then would keep a thread busy without end.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse

HEAD_SECONDS = 60.0  # in which the head of a response has to arrive


@contextlib.contextmanager
def _in_time(wire: socket.socket) -> Iterator[None]:
    """Shut the socket down after HEAD_SECONDS, and raise TimeoutError then."""
    late = threading.Event()
    timer = threading.Timer(HEAD_SECONDS, _cut, [wire, late])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    if late.is_set():  # for the reader, the head seems to end there
        raise TimeoutError


def _cut(wire: socket.socket, late: threading.Event) -> None:
    """Wake the reader by shutting the plain socket down; shutting a TLS socket down would disturb the read."""
    late.set()
    with contextlib.suppress(OSError):
        socket.socket.shutdown(wire, socket.SHUT_RDWR)


class Http(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        with _in_time(self.sock):
            return super().getresponse()


class Https(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        with _in_time(self.sock):
            return super().getresponse()


class HttpPool(HTTPConnectionPool):
    ConnectionCls = Http


class HttpsPool(HTTPSConnectionPool):
    ConnectionCls = Https
