"""This module limits the time in which the head of a response must be complete, however slowly it trickles in.

A socket timeout applies to each read alone, so one byte now and then would keep a thread busy without end.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse

HEAD_SECONDS = 60.0


@contextlib.contextmanager
def _in_time(wire: socket.socket) -> Iterator[None]:
    late = threading.Event()
    timer = threading.Timer(HEAD_SECONDS, _cut, [wire, late])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    if late.is_set():  # to whoever read, the head has ended there
        raise TimeoutError


def _cut(wire: socket.socket, late: threading.Event) -> None:
    """Wake whoever reads. The method of a TLS socket would change it under the reader's hands."""
    late.set()
    with contextlib.suppress(OSError):
        socket.socket.shutdown(wire, socket.SHUT_RDWR)


class _Http(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        with _in_time(self.sock):
            return super().getresponse()


class _Https(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        with _in_time(self.sock):
            return super().getresponse()


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


POOLS = {"http": _HttpPool, "https": _HttpsPool}
