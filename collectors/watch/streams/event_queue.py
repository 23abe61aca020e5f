"""A bounded queue between the threads that watch a cluster and the one that stores."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
CAPACITY = 4000  # items that may wait before `put` blocks
CAPACITY_BYTES = 16 * 1024**2  # about how many bytes of memory the items that wait may take before `put` blocks


class EventQueue(Generic[T]):
    """Keep the order of the items of each thread. `size_of` returns about how many bytes an item takes."""

    def __init__(self, size_of: Callable[[T], int], capacity: int = CAPACITY, most_bytes: int = CAPACITY_BYTES) -> None:
        self._size_of = size_of
        self._capacity, self._most_bytes = capacity, most_bytes
        self._items: list[T] = []
        self._bytes = 0  # of the items that wait
        self._open = True
        self._interrupted = False
        self._changed = threading.Condition()

    def put(self, items: Sequence[T], *, last: bool = False) -> None:
        """Add items, once there is room. Drop those that come after the `last` ones, or after `close`."""
        size = sum(map(self._size_of, items))
        with self._changed:
            self._changed.wait_for(lambda: self._has_room() or not self._open)
            if self._open:
                self._items += items
                self._bytes += size
                self._open = not last
                self._changed.notify_all()

    def take(self, most: int, timeout: float, not_before: float) -> list[T]:
        """Return at most so many of the waiting items.

        With fewer, wait until the moment `not_before` of `time.monotonic`, as long as there is room for more. Return
        none if none has come within `timeout` seconds, or if `interrupt` was called.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._interrupted or not self._open, timeout)
            while 0 < len(self._items) < most and self._has_room() and not self._interrupted and self._open:
                if (left := not_before - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            self._interrupted = False
            batch, self._items = self._items[:most], self._items[most:]
            self._bytes = sum(map(self._size_of, self._items))
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
            self._bytes = 0
            self._changed.notify_all()

    def _has_room(self) -> bool:
        return len(self._items) < self._capacity and self._bytes < self._most_bytes
