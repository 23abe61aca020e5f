"""Compute the ranges of time of findings: within which they began and ended, and in which timelines show them.

The module is pure. Times are microseconds since 1970, UTC.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

from timeline.core.entries import microseconds
from timeline.payloads.findings import RangesPayload

_APART = 300_000_000  # µs without a new occurrence after which an incident counts as having happened again
_LEAST = 20_000  # µs that a finding takes on a timeline
_BEFORE, _AFTER = 1.9, 5.8  # room on both sides as multiples of that; more after it, where the consequences are
_BEFORE_LONG, _AFTER_LONG = (0.25, 2_000_000), (0.5, 10_000_000)  # the most room: a multiple, and µs added to that


def ranges(first: int, last: int, proof: Sequence[Any]) -> RangesPayload:
    """Return the ranges in which a timeline shows an occurrence that begins at `first` and ends at `last`. They contain
    all times at which its first and last events may have happened."""
    start, *_, end = bounds(first, last, proof)
    length = max(end - start, _LEAST)
    before = min(_BEFORE * length, _BEFORE_LONG[0] * length + _BEFORE_LONG[1])
    after = min(_AFTER * length, _AFTER_LONG[0] * length + _AFTER_LONG[1])
    around = max(0, round(start - before)), round(end + after)
    return {"time": around, "order": (max(0, start - length // 2), end + length // 2)}


def of_incident(times: Sequence[int], end: int, around: int) -> RangesPayload:
    """Return the ranges in which a timeline shows an incident whose occurrences began at these times and ended at
    `end`. If some of them are far apart, these are the ranges of those that began near the time `around`."""
    near = sorted({around, *times})
    at = near.index(around)
    earlier, later = pairwise(reversed(near[: at + 1])), pairwise(near[at:])
    before = next((each for each, other in earlier if each - other > _APART), near[0])
    after = next((each for each, other in later if other - each > _APART), end)
    room = max((after - before) // 10, _LEAST)
    return {"time": (max(0, before - room), after + room), "order": (before, after)}


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
