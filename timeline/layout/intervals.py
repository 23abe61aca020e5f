"""Compute the gaps in the observation to draw.

The module is pure. Times are microseconds since 1970, UTC.
"""

from collections.abc import Iterable

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
