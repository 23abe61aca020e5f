"""Read a streaming response line by line, with a watchdog for connections that are silent.

A read may block forever on a dead network. One thread for each API server checks all its streams: it shuts down a
stream that was silent for too long, or whose reader must stop, and the reader wakes up.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

import urllib3

from collectors.watch.server.failures import Unreachable

_PIECE = 1 << 18  # bytes that are read at once
LINE_BYTES = 16 << 20  # bytes of a line at most; etcd stores no object of more than a few MB
_LINE_SECONDS = 120.0  # seconds in which a line has to end once it has begun
_CHECK_SECONDS = 0.4  # seconds between two checks of the watchdog
_PATIENCE = 8  # a stream may be silent for so many times the mean time between two pieces
_WEIGHT = 0.2  # of the last interval in that mean
_STEADY = 50  # pieces after which silence of a stream also says something about the network


class Silent(Unreachable):
    """Nothing was received for longer than usual: the connection may be dead."""


class Stopped(Exception):
    """The reader shall stop."""


Silence = tuple[float, float]  # seconds that a stream may be silent: if it was busy before, if it was not


class Stream:
    """Read one response line by line. The caller closes it (use `with`)."""

    def __init__(
        self, response: urllib3.BaseHTTPResponse, watchdog: "Watchdog", stop: threading.Event, silence: Silence
    ) -> None:
        """`silence` are the seconds without data after which the stream is shut down: if it was busy, if it was not."""
        self._response = response
        self._watchdog = watchdog
        self._shortest_silence, self._longest_silence = silence
        self._mean_interval: float | None = None  # seconds between two pieces, the running mean; None before the first
        self._pieces = 0
        self.stop = stop
        self.arrived = time.monotonic()  # when the last piece arrived, by time.monotonic
        self.closed_as_silent = False
        watchdog.guard(self)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.release(self)
        self._response.close()

    def lines(self) -> Iterator[list[bytes]]:
        """Yield the lines that each piece completes, without line breaks; return when the server ends the response.

        Raise Unreachable if it breaks off, also within a line; its subclass Silent; Stopped.
        """
        line = bytearray()  # the line whose end has not arrived
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
            # A read raises the last two if its connection is shut down meanwhile.
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
        """Raise Stopped or Silent if this side has ended the stream."""
        if self.stop.is_set():
            raise Stopped
        if self.closed_as_silent:
            raise Silent("The watch was silent for too long, so it is restarted.")

    @property
    def has_steady_rate(self) -> bool:
        """Return whether it has received enough pieces for its silence to say something about the network."""
        return self._pieces >= _STEADY

    def is_silent(self, now: float) -> bool:
        """Return whether nothing has arrived for longer than usual."""
        patience = self._longest_silence if self._mean_interval is None else _PATIENCE * self._mean_interval
        return now - self.arrived > min(self._longest_silence, max(self._shortest_silence, patience))

    def end(self) -> None:
        """Shut the connection down, which wakes its reader."""
        self.closed_as_silent = True
        with contextlib.suppress(Exception):  # it has ended by itself; the watchdog must continue
            self._response.shutdown()


class Watchdog:
    """Check the streams of one API server, as long as there are any.

    A quiet stream receives only one bookmark a minute. A busy one, such as that of Leases, shows within seconds that
    the network is dead; then all streams are restarted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: set[Stream] = set()
        self._thread: threading.Thread | None = None

    def guard(self, stream: Stream) -> None:
        """Check this stream from now on."""
        with self._lock:
            self._streams.add(stream)
            if self._thread is None:
                self._thread = threading.Thread(target=self._check_streams, name="watchdog", daemon=True)
                self._thread.start()

    def release(self, stream: Stream) -> None:
        """Stop checking this stream."""
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
            # A stream that received nothing since a steady one became silent may depend on the same dead network.
            last_heard = max((stream.arrived for stream in silent if stream.has_steady_rate), default=0.0)
            for stream in streams:
                if stream in silent or stream.stop.is_set() or stream.arrived <= last_heard:
                    stream.end()
