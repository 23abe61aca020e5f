"""This module reads a streaming response line by line, and has a watchdog for connections that are silent.

A read may block without end on a dead network. One thread for each API server checks all its streams: it shuts down a
stream that was silent for too long, or whose reader must stop, and the reader wakes up.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

import urllib3

from collectors.watch.failures import Unreachable

_PIECE = 1 << 18  # bytes
LINE_BYTES = 16 << 20  # bytes of a line; etcd itself takes no object of more than a few MB
_LINE_SECONDS = 120.0  # in which a line that has begun has to end
_CHECK_SECONDS = 0.4  # seconds between two
_PATIENCE = 8  # times the mean time between two pieces
_WEIGHT = 0.2  # of the last one in that mean
_STEADY = 50  # pieces after which that mean says something of the network, too


class Silent(Unreachable):
    """Nothing was heard for longer than usual: the connection may be dead."""


class Stopped(Exception):
    """Whoever reads is to stop."""


Silence = tuple[float, float]


class Stream:
    """One answer, line by line. To be closed."""

    def __init__(
        self, response: urllib3.BaseHTTPResponse, watchdog: "Watchdog", stop: threading.Event, silence: Silence
    ) -> None:
        """`silence`: for how many seconds nothing may come, where much came before and where little did."""
        self._response = response
        self._watchdog = watchdog
        self._shortest_silence, self._longest_silence = silence
        self._mean_interval: float | None = None  # seconds between two pieces, the running mean; None before the first
        self._pieces = 0
        self.stop = stop
        self.arrived = time.monotonic()  # when the last piece did
        self.closed_as_silent = False
        watchdog.guard(self)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.release(self)
        self._response.close()

    def lines(self) -> Iterator[list[bytes]]:
        """The lines that each piece completes, without their ends; returns where the server ends the answer.

        Raises Unreachable where it breaks off, also within a line; Silent (which is one); Stopped.
        """
        line = bytearray()  # that has not ended yet
        began = 0.0
        while piece := self._piece():
            head, newline, rest = piece.rpartition(b"\n")
            if newline:
                line += head
                whole, line, began = bytes(line), bytearray(rest), self.arrived
                yield whole.split(b"\n")
            else:
                began = began if line else self.arrived
                line += piece
                if len(line) > LINE_BYTES:
                    raise Unreachable(f"A line of the watch is longer than {LINE_BYTES >> 20} MiB.")
                if self.arrived - began > _LINE_SECONDS:
                    raise Unreachable(f"A line of the watch did not end within {_LINE_SECONDS:.0f} s.")
        if line:
            raise Unreachable("The watch ended in the middle of a line.")

    def _piece(self) -> bytes:
        try:
            piece = self._response.read1(_PIECE, decode_content=False)
        except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as error:
            # The last two are what a read says whose connection is shut down meanwhile.
            self._ended()
            raise Unreachable(f"The watch broke off ({type(error).__name__}).") from None
        if not piece:
            self._ended()
        now = time.monotonic()
        interval = now - self.arrived
        self._mean_interval = (
            interval
            if self._mean_interval is None
            else self._mean_interval + _WEIGHT * (interval - self._mean_interval)
        )
        self.arrived = now
        self._pieces += 1
        return piece

    def _ended(self) -> None:
        """Raises Stopped or Silent where we ended it ourselves."""
        if self.stop.is_set():
            raise Stopped
        if self.closed_as_silent:
            raise Silent("The watch was silent for too long, so it is begun anew.")

    @property
    def has_steady_rate(self) -> bool:
        return self._pieces >= _STEADY

    def is_silent(self, now: float) -> bool:
        """Whether it is so for longer than it used to be."""
        patience = self._longest_silence if self._mean_interval is None else _PATIENCE * self._mean_interval
        return now - self.arrived > min(self._longest_silence, max(self._shortest_silence, patience))

    def end(self) -> None:
        """Wake its reader up."""
        self.closed_as_silent = True
        with contextlib.suppress(Exception):  # it has ended by itself; whoever looks must go on looking
            self._response.shutdown()


class Watchdog:
    """Looks at the streams of one API server, as long as there are any.

    A quiet one tells nothing but a bookmark a minute. A busy one, such as that of Leases, shows within seconds that the
    network is dead, and then all are begun anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: set[Stream] = set()
        self._thread: threading.Thread | None = None

    def guard(self, stream: Stream) -> None:
        with self._lock:
            self._streams.add(stream)
            if self._thread is None:
                self._thread = threading.Thread(target=self._check_streams, name="watchdog", daemon=True)
                self._thread.start()

    def release(self, stream: Stream) -> None:
        with self._lock:
            self._streams.discard(stream)

    def _check_streams(self) -> None:
        while True:
            time.sleep(_CHECK_SECONDS)
            with self._lock:
                streams = list(self._streams)
                if not streams:
                    self._thread = None
                    return
            now = time.monotonic()
            silent = [stream for stream in streams if stream.is_silent(now)]
            # Whoever has heard nothing since a steady one fell silent may hang on the same network, and cannot know.
            last_heard = max((stream.arrived for stream in silent if stream.has_steady_rate), default=0.0)
            for stream in streams:
                if stream in silent or stream.stop.is_set() or stream.arrived <= last_heard:
                    stream.end()
