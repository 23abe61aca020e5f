"""This module has a bounded queue between the threads that watch a cluster and the one that stores."""

import threading
import time
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
CAPACITY = 2000  # items that may wait before `put` blocks


class EventQueue(Generic[T]):
    """This class keeps the order of the items of each thread."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._items: list[T] = []
        self._open = True
        self._interrupted = False
        self._changed = threading.Condition()

    def put(self, items: Sequence[T], *, last: bool = False) -> None:
        """Add items, once there is room. Drop those that come after the `last` ones, or after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._items) < self._capacity or not self._open)
            if self._open:
                self._items += items
                self._open = not last
                self._changed.notify_all()

    def take(self, most: int, timeout: float, not_before: float) -> list[T]:
        """Return at most so many of the waiting items.

        With fewer, wait until the moment `not_before` of `time.monotonic`. Return none if none has come within
        `timeout` seconds, or if `interrupt` was called.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._interrupted or not self._open, timeout)
            while 0 < len(self._items) < most and not self._interrupted and self._open:
                if (left := not_before - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            self._interrupted = False
            batch, self._items = self._items[:most], self._items[most:]
            self._changed.notify_all()
            return batch

    def interrupt(self) -> None:
        """Let `take` return, now or the next time."""
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

    def close(self) -> None:
        """Drop the items that wait, and all that come later."""
        with self._changed:
            self._open = False
            self._items.clear()
            self._changed.notify_all()
