"""Estimate the clock of an API server from the Date headers of its responses. It does no I/O.

A header has whole seconds, and the response was written between the request and its arrival. So each response limits
the difference to the local monotonic clock, and several responses limit it closely.
"""

import threading
import time
from email.utils import parsedate_to_datetime

from timeline.core import times

_SECOND = 1_000_000  # µs
_LATEST = 4_102_444_800 * _SECOND  # 2100; a later time is ignored
_DRIFT = 100  # µs a second by which the clocks may drift apart


class ServerClock:
    """Give times by the server's clock, in µs since 1970."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The local clock, until a server has answered.
        self._offset = time.time_ns() // 1000 - _micros(time.monotonic())
        self._low = self._high = 0
        self._learned = 0  # when the last Date was learned, µs of the local clock; 0: never

    def now(self) -> int:
        return self.at(time.monotonic())

    def at(self, local: float) -> int:
        """Return the time of a moment that `time.monotonic` gave, in seconds."""
        return _micros(local) + self._offset

    def learn(self, date: str | None, sent: float, answered: float) -> None:
        """Learn from the Date header of a response; ignore a header that is not a date.

        `sent` and `answered` are the moments of the request and of the response by `time.monotonic`.
        """
        try:
            server_time = times.of(parsedate_to_datetime(date or ""))
        except (ValueError, TypeError, OverflowError):
            return
        if not 0 < server_time < _LATEST:
            return
        low, high = server_time - _micros(answered), server_time + _SECOND - _micros(sent)
        with self._lock:
            if self._learned:
                wider = _DRIFT * (_micros(answered) - self._learned) // _SECOND
                narrowed = max(low, self._low - wider), min(high, self._high + wider)
                if narrowed[0] <= narrowed[1]:  # otherwise the clock was set, or another server has answered
                    low, high = narrowed
            self._low, self._high, self._learned = low, high, _micros(answered)
            self._offset = min(max(self._offset, low), high)


def _micros(seconds: float) -> int:
    return round(seconds * _SECOND)
