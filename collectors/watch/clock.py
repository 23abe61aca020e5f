"""This pure module estimates the clock of an API server from the Date headers of its responses.

A header has whole seconds, and the response was written between the request and its arrival. So each response bounds
the difference to our monotonic clock, and together they bound it closely.
"""

import threading
import time
from email.utils import parsedate_to_datetime

from timeline.core.entries import microseconds

_SECOND = 1_000_000  # µs
_EARLIEST, _LATEST = 0, 4_102_444_800 * _SECOND  # 1970 and 2100: another time can be no cluster's
_DRIFT = 100  # µs a second: no clock of a computer goes further astray


class ServerClock:
    """Times are µs since 1970 by the server's clock; `at` takes what `time.monotonic` said, in seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offset = time.time_ns() // 1000 - _micros(time.monotonic())  # until a server tells its time
        self._low = self._high = 0
        self._learned = 0  # when, µs of our clock; 0: never

    def now(self) -> int:
        return self.at(time.monotonic())

    def at(self, local: float) -> int:
        return _micros(local) + self._offset

    def learn(self, date: str | None, sent: float, answered: float) -> None:
        """Take in the Date header of an answer. One that is no date tells nothing."""
        try:
            server_time = microseconds(parsedate_to_datetime(date or ""))
        except (ValueError, TypeError, OverflowError):
            return
        if not _EARLIEST < server_time < _LATEST:
            return
        low, high = server_time - _micros(answered), server_time + _SECOND - _micros(sent)
        with self._lock:
            if self._learned:
                wider = _DRIFT * (_micros(answered) - self._learned) // _SECOND
                narrowed = max(low, self._low - wider), min(high, self._high + wider)
                if narrowed[0] <= narrowed[1]:  # else somebody set the clock, or another server has answered
                    low, high = narrowed
            self._low, self._high, self._learned = low, high, _micros(answered)
            self._offset = min(max(self._offset, low), high)


def _micros(seconds: float) -> int:
    return round(seconds * _SECOND)
