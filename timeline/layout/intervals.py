"""Compute intervals to draw: gaps in the observation, and the bounds of the time between two events.

The module is pure. Times are microseconds since 1970, UTC.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from timeline.core.entries import microseconds
from timeline.payloads.windows import Gaps

FREED = "Changes of this time were deleted by retention."


def gaps(intervals: Iterable[tuple[str, int, int, str]], pixel: int) -> Gaps:
    """Return the columns of gaps, from (kind with its API group, or "" for all kinds, start, end, reason).

    Gaps of one kind that are at most `pixel` microseconds apart are merged.
    """
    columns = Gaps(kind=[], start=[], end=[], text=[])
    for kind, start, end, reason in sorted(intervals):
        if columns["kind"][-1:] == [kind] and start - columns["end"][-1] <= pixel:
            columns["end"][-1] = max(columns["end"][-1], end)
        else:
            columns["kind"].append(kind)
            columns["start"].append(start)
            columns["end"].append(end)
            columns["text"].append(reason)
    return columns


def bounds(first: int, last: int, proof: Sequence[Any]) -> tuple[int, int, int, int]:
    """Return the bounds of an interval that begins and ends with events of a proof, drawn at `first` and `last`.

    They are its earliest and latest beginning, and its earliest and latest end. If beginning and end may overlap, the
    two inner bounds are both the middle. The items of `proof` have the fields of `ProofPayload`.
    """
    known = {_since_1970(each["time"]): each for each in proof}
    start, begun = committed(known[first]) if first in known else (first, first)
    over, end = committed(known[last]) if last in known else (last, last)
    end = max(end, start + 1)
    if begun > over:
        begun = over = (max(start, over) + min(begun, end)) // 2
    return start, begun, over, end


def committed(proof: Any) -> tuple[int, int]:
    """Return the earliest and the latest time at which an event can have been committed. Its drawn time takes the place
    of a bound that is not known."""
    earliest, latest, at = proof["earliest"], proof["latest"], _since_1970(proof["time"])
    return min(at, _since_1970(earliest)) if earliest else at, max(at, _since_1970(latest)) if latest else at


@lru_cache(10_000)  # a hole, its shades and its arrow tell the same times
def _since_1970(iso: str) -> int:
    return microseconds(datetime.fromisoformat(iso))
