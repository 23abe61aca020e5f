"""What many threads tell, one after the other, for the one who takes it in; they wait while that is behind."""

import threading
import time
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
ROOM = 2000  # that wait before those who tell do


class EventQueue(Generic[T]):
    """What each thread put in comes out in that order."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._waiting: list[T] = []
        self._open = True
        self._called = False
        self._changed = threading.Condition()

    def put(self, told: Sequence[T], *, last: bool = False) -> None:
        """Returns once there is room. What comes after the last, or after `close`, is dropped."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < self._room or not self._open)
            if self._open:
                self._waiting += told
                self._open = not last
                self._changed.notify_all()

    def take(self, most: int, within: float, not_before: float) -> list[T]:
        """At most so much of what waits.

        Unless it is that much, not before a moment of `time.monotonic`. Nothing where nothing has come within so many
        seconds, or `call` was called.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._called or not self._open, within)
            while 0 < len(self._waiting) < most and not self._called and self._open:
                if (left := not_before - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            self._called = False
            taken, self._waiting = self._waiting[:most], self._waiting[most:]
            self._changed.notify_all()
            return taken

    def call(self) -> None:
        """Have `take` return, now or the next time."""
        with self._changed:
            self._called = True
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more is let in, and what waits is dropped."""
        with self._changed:
            self._open = False
            self._waiting.clear()
            self._changed.notify_all()
