"""Find where values that are kept elsewhere are, with about 12 bytes in memory for each. It does no I/O."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

_BITS = 2**63 - 1
_LONGEST_RUN = 65_536  # digests that are sorted together with those before them at most: it takes memory


def digest(value: object) -> int:
    """Return 63 bits by which equal values are found in this process and its copies. Other values may have the same
    bits, so a value that is found has to be compared."""
    return hash(value) & _BITS


class _Run(NamedTuple):
    """Sorted digests of values, each with a number."""

    digests: "array[int]"
    numbers: "array[int]"


class Digests:
    """Know values by their digests, each with a number, such as that of the place where it is."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def add(self, values: Iterable[tuple[object, int]]) -> None:
        """Add values, each with its number. They are sorted together with earlier ones if these are not more than they,
        so that each value is sorted only a few times."""
        rows = [(digest(value), number) for value, number in values]
        while self._runs and len(self._runs[-1].digests) <= len(rows) <= _LONGEST_RUN:
            rows += zip(*self._runs.pop(), strict=True)
        rows.sort()
        self._runs.append(_Run(array("q", [each for each, _ in rows]), array("I", [number for _, number in rows])))

    def find(self, value: object) -> list[int]:
        """Return the numbers of a value, the highest one first. A few may be those of other values."""
        wanted = digest(value)
        found: list[int] = []
        for digests, numbers in self._runs:
            at = bisect_left(digests, wanted)
            while at < len(digests) and digests[at] == wanted:
                found.append(numbers[at])
                at += 1
        return sorted(found, reverse=True)
