"""These tests check streams that fall silent: which are opened again, and which stay open."""

import queue
import threading
import time
from typing import cast

import pytest
import urllib3

from collectors.watch.server.failures import Unreachable
from collectors.watch.server.stream import Silent, Stopped, Stream, Watchdog
from tests.clients.reflecting import until


class Response:
    """This answer returns what a test puts into it."""

    def __init__(self) -> None:
        self.pieces: queue.Queue[bytes] = queue.Queue()

    def read1(self, most: int, decode_content: bool) -> bytes:
        return self.pieces.get()

    def shutdown(self) -> None:
        self.pieces.put(b"")

    def close(self) -> None:
        pass


class Read:
    """This class reads a stream in a thread."""

    def __init__(self, watchdog: Watchdog, *pieces: bytes, silence: tuple[float, float] = (0.4, 60)) -> None:
        self.response = Response()
        self.stop = threading.Event()
        self.lines: list[bytes] = []
        self.ended: BaseException | None = None
        for piece in pieces:
            self.response.pieces.put(piece)
        response = cast("urllib3.BaseHTTPResponse", self.response)
        self.stream = Stream(response, watchdog, self.stop, silence)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            with self.stream:
                for lines in self.stream.lines():
                    self.lines += lines
            self.ended = StopIteration()
        except Exception as error:
            self.ended = error


def test_lines_are_put_together_from_pieces_and_half_a_line_is_not_an_end() -> None:
    read = Read(Watchdog(), b"a\nb", b"b", b"\nc\nd\n", b"")
    cut = Read(Watchdog(), b'a\n{"type"', b"")
    until(lambda: read.ended and cut.ended)
    assert isinstance(read.ended, StopIteration)
    assert [line for line in read.lines if line] == [b"a", b"bb", b"c", b"d"]
    assert type(cut.ended) is Unreachable and cut.lines == [b"a"]


def test_one_that_is_stopped_wakes_up() -> None:
    read = Read(Watchdog(), b"a\n")
    until(lambda: read.lines)
    read.stop.set()
    until(lambda: read.ended, 2)
    assert isinstance(read.ended, Stopped)


def test_one_that_was_busy_and_falls_silent_is_ended() -> None:
    watchdog = Watchdog()
    busy, quiet = Read(watchdog, *[b"a\n"] * 20), Read(watchdog)
    until(lambda: busy.ended, 5)
    assert isinstance(busy.ended, Silent)
    assert quiet.ended is None
    quiet.stop.set()


def test_a_steady_one_shows_it_for_those_that_have_heard_nothing_since() -> None:
    watchdog = Watchdog()
    quiet = Read(watchdog, silence=(60, 60))
    time.sleep(0.1)
    busy = Read(watchdog, *[b"a\n"] * 100)
    until(lambda: len(busy.lines) == 100)
    lively = Read(watchdog, b"b\n", silence=(60, 60))
    until(lambda: quiet.ended and busy.ended, 5)
    assert isinstance(quiet.ended, Silent)
    assert lively.ended is None
    lively.stop.set()


@pytest.mark.parametrize("error", [urllib3.exceptions.ProtocolError("x"), ConnectionResetError(), ValueError()])
def test_whatever_a_read_says_it_broke_off(error: Exception) -> None:
    class Broken(Response):
        def read1(self, most: int, decode_content: bool) -> bytes:
            raise error

    stream = Stream(cast("urllib3.BaseHTTPResponse", Broken()), Watchdog(), threading.Event(), (1, 1))
    with stream, pytest.raises(Unreachable, match="broke off"):
        list(stream.lines())
