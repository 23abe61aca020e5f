"""Keep what was read of a log and has to wait for its end. It is packed, since that may be a sixth of all lines."""

import pickle
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Generic, TypeVar

import zstandard

T = TypeVar("T")
_TOGETHER = 2_000  # items that are packed together
_END = 2**63


class Waiting(Generic[T]):
    """Items in the order of their lines. `line` returns the number of an item's line."""

    def __init__(self, line: Callable[[T], int]) -> None:
        self._line = line
        self._latest: list[T] = []
        self._packed: list[tuple[int, bytes]] = []  # the first line of items, and the items

    def add(self, item: T) -> None:
        self._latest.append(item)
        if len(self._latest) == _TOGETHER:
            first = min(map(self._line, self._latest))
            self._packed.append(
                (first, zstandard.compress(pickle.dumps(self._latest, pickle.HIGHEST_PROTOCOL), level=1))
            )
            self._latest = []

    def __iter__(self) -> Iterator[T]:
        """Yield all items in the order of their lines. Only a few of them are unpacked at a time, if they were nearly
        in order when they were added."""
        firsts = [first for first, _ in self._packed]
        later = [*accumulate(reversed([*firsts, min(map(self._line, self._latest), default=_END)]), min)]
        held: list[T] = []
        for (_, packed), following in zip(self._packed, later[-2::-1], strict=True):
            held = sorted([*held, *pickle.loads(zstandard.decompress(packed))], key=self._line)
            until = bisect_left(held, following, key=self._line)
            yield from held[:until]
            held = held[until:]
        yield from sorted([*held, *self._latest], key=self._line)
