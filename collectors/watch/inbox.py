"""What many streams tell, one after the other, for the one who takes it in; they wait while that is behind."""

import threading
import time

from timeline.entries import Observation

ROOM = 4000  # observations that wait before the streams do


class Inbox:
    """Each stream's observations come out in the order in which it told them."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._waiting: list[Observation] = []
        self._open = True
        self._called = False
        self._changed = threading.Condition()

    def put(self, observations: list[Observation]) -> None:
        """Returns once there is room. What comes after `end` or `close` is dropped."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < self._room or not self._open)
            if self._open:
                self._waiting += observations
                self._changed.notify_all()

    def take(self, most: int, within: float, not_before: float) -> list[Observation]:
        """At most so many of those that wait.

        Unless they are that many, not before a moment of `time.monotonic`. None where nothing has come within so many
        seconds, or `call` or `end` was called.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._called or not self._open, within)
            self._called = False
            while 0 < len(self._waiting) < most and self._open and (left := not_before - time.monotonic()) > 0:
                self._changed.wait(left)
            taken, self._waiting = self._waiting[:most], self._waiting[most:]
            self._changed.notify_all()
            return taken

    def call(self) -> None:
        """Have `take` return, now or the next time."""
        with self._changed:
            self._called = True
            self._changed.notify_all()

    def end(self) -> None:
        """Nothing more is let in; what waits can be taken."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more is let in, and what waits is dropped."""
        with self._changed:
            self._open = False
            self._waiting.clear()
            self._changed.notify_all()
