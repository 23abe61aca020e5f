"""These tests send slow requests: those that arrive too slowly are cut off, and those that only take long are not."""

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import uvicorn

from dashboard.web import __main__ as web
from tests.patience import patient

SECONDS = 0.6  # on a quiet machine: on a busy one, the sender itself may be held up for as long
PATIENCE = 10  # seconds; a request that lasts longer fails the test
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n"


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer with the length of the body. A part of the path says how slowly the body is read."""
    length, more = 0, True
    while more:
        if scope["path"] == "/slow":
            await asyncio.sleep(2 * SECONDS)
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length += len(message["body"])
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(length).encode()})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(sys.modules[__name__], "SECONDS", min(3, patient(SECONDS)))
    monkeypatch.setattr(web, "HEAD_SECONDS", SECONDS)
    monkeypatch.setattr(web, "BODY_SECONDS", SECONDS)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(echo, lifespan="off", **web.OPTIONS))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def answer(port: int, begin: bytes, drop: bytes = b"", every: float = 0.05) -> bytes:
    """Return the whole answer to a client that sends `begin` and then `drop` again and again until it is cut off."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=every) as line:
        line.sendall(begin)
        end = time.monotonic() + patient(PATIENCE)
        while time.monotonic() < end:
            try:
                if drop:
                    line.sendall(drop)
                if not (got := line.recv(65536)):
                    return received
                received += got
            except TimeoutError:
                continue
            except ConnectionError:
                return received
    pytest.fail(f"it was not cut off, but answered {received!r}")


SLOW: dict[str, Callable[[int], bytes]] = {
    "nothing": lambda port: answer(port, b""),
    "empty lines": lambda port: answer(port, b"", b"\r\n"),
    "half a head": lambda port: answer(port, HEAD),
    "a head byte by byte": lambda port: answer(port, HEAD + b"X: ", b"x"),
    "headers one by one": lambda port: answer(port, HEAD, b"X: y\r\n"),
    "half a body": lambda port: answer(port, HEAD + b"\r\nabc"),
    "a body byte by byte": lambda port: answer(port, HEAD + b"\r\n", b"x"),
    "chunks byte by byte": lambda port: answer(
        port, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"
    ),
    "a second request": lambda port: answer(port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /", b"x"),
    "a body behind an expectation": lambda port: answer(port, HEAD + b"Expect: 100-continue\r\n\r\n", b"x"),
}


def test_whoever_sends_too_slowly_is_cut_off_with_a_reason(port: int) -> None:
    with ThreadPoolExecutor(len(SLOW)) as pool:
        running = {name: pool.submit(slow, port) for name, slow in SLOW.items()}
    for name, done in running.items():
        received = done.result()
        assert b"HTTP/1.1 408" in received or not received, name
        assert b"\r\n\r\nThe request " in received, name


def test_a_head_without_end_is_refused(port: int) -> None:
    received = answer(port, HEAD, b"X: " + b"y" * 1000 + b"\r\n", every=0.001)
    assert received.startswith(b"HTTP/1.1 431")


def test_a_body_that_takes_long_but_keeps_coming_is_taken(port: int) -> None:
    size, pieces = 2000, 50
    with socket.create_connection(("127.0.0.1", port), timeout=patient(PATIENCE)) as line:
        line.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (size * pieces))
        for _ in range(pieces):
            line.sendall(b"x" * size)
            time.sleep(4 * SECONDS / pieces)
        assert line.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_server_that_reads_slowly_is_not_the_sender_s_fault(port: int) -> None:
    size = 400_000
    with socket.create_connection(("127.0.0.1", port), timeout=patient(30)) as line:
        line.sendall(b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
        line.sendall(b"x" * size)
        assert line.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_connection_that_waits_for_its_answer_is_kept(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=patient(PATIENCE)) as line:
        line.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 200")
