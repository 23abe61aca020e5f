"""Pure: in which order changes were committed, and when.

Commit order is the order of resource versions. An audit log also brackets each commit: it lies between the moment the
request was received and the moment its response was finished. The time to draw is the running maximum of the received
times in revision order: it never leaves a bracket and never shows a later revision left of an earlier one.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class Stamp(NamedTuple):
    """What is known of a commit's place in time; microseconds since 1970."""

    resource_version: int | None
    received: int
    staged: int


class CommitClock:
    """From a revision to the time at which it is drawn, for one space of revisions.

    Which stamps are given, not their order, decides: permutation and repetition change nothing.
    """

    def __init__(self, stamps: Iterable[Stamp]) -> None:
        first: dict[int, tuple[int, int]] = {}
        for revision, received, staged in stamps:
            if revision is None:
                continue
            known = first.get(revision)
            if known is None or (received, staged) < known:  # a no-op write repeats the revision later on
                first[revision] = (received, staged)
        self._revisions: list[int] = []
        self._times: list[int] = []
        self._read_off(sorted(first.items()))

    def _read_off(self, commits: list[tuple[int, tuple[int, int]]]) -> None:
        """Keep the steps of the running maximum, without revisions that cannot be their entry's own.

        A revision received only after a later one had been answered was written before the log says: a stale answer.
        """
        answered = [0] * len(commits)
        soonest = None
        for index in range(len(commits) - 1, -1, -1):
            answered[index] = soonest if soonest is not None else commits[index][1][1]
            staged = commits[index][1][1]
            soonest = staged if soonest is None else min(soonest, staged)
        highest = -1
        for index, (revision, (received, _)) in enumerate(commits):
            if received > highest and received <= answered[index]:
                highest = received
                self._revisions.append(revision)
                self._times.append(received)

    def drawn(self, stamp: Stamp) -> int:
        """The time to draw; within [received, staged] always."""
        if stamp.resource_version is None:
            return stamp.received
        step = bisect_right(self._revisions, stamp.resource_version) - 1
        if step < 0:
            return stamp.received
        return min(max(self._times[step], stamp.received), stamp.staged)


def precedes(a: Stamp, b: Stamp) -> bool | None:
    """Whether a was surely committed before b: True, False (b before a), or None where no clock tells."""
    if a.resource_version is not None and b.resource_version is not None:
        return a.resource_version < b.resource_version if a.resource_version != b.resource_version else None
    if a.staged < b.received:
        return True
    if b.staged < a.received:
        return False
    return None


def delay_bounds(a: Stamp, b: Stamp) -> tuple[float, float]:
    """Seconds between two commits, at least and at most."""
    return max(0, b.received - a.staged) / 1e6, max(0, b.staged - a.received) / 1e6
