"""Keep long lists of whole numbers in 8 bytes each. It does no I/O."""

from array import array
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice

_RUN = 200_000  # rows that are sorted at a time
Row = tuple[int, int, int]


def column(values: Iterable[int]) -> "list[int] | array[int]":
    """Return whole numbers as an array; as a list if one of them has more than 64 bits, as revisions may have."""
    values = list(values)
    try:
        return array("q", values)
    except OverflowError:
        return values


class Numbers:
    """A list of whole numbers that grows, as `column` returns it."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[int] | array[int] = array("q")

    def append(self, value: int) -> None:
        try:
            self.values.append(value)
        except OverflowError:
            self.values = [*self.values, value]


def in_order(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows of whole numbers, sorted. Only a part of them is in memory as Python objects at a time."""
    rest = iter(rows)
    runs: list[list[list[int] | array[int]]] = []
    while run := sorted(islice(rest, _RUN)):
        if not runs and len(run) < _RUN:
            return iter(run)
        runs.append([column(each) for each in zip(*run, strict=True)])
    return merge(*(zip(*run, strict=True) for run in runs))
