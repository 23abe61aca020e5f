"""Pure: whether writes are missing from an audit log, told by those that are there.

An update names the revision that it replaces, and a changed object names the time of its creation. Where the log should
show that write and does not, it has a hole. One hole at one time concerns every kind; losses all over the log concern
the whole of it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from timeline.entries import Change, Clock, Level
from timeline.ledger import GroupKind, Ledger
from timeline.lifelines import Track
from timeline.order import SECOND

_MARGIN = SECOND  # µs around the beginning of a log in which a missing write proves nothing


class Loss(NamedTuple):
    """A write that should be in the log and is not, between two times in microseconds."""

    kind: GroupKind
    earliest: int
    latest: int
    creation: bool


def losses(track: Track, ledger: Ledger) -> list[Loss]:
    """What the moments of one life say of those that are missing."""
    first = track.first
    if len(track.moments) == 1 and first.change is Change.CREATED:
        return []
    kind = track.name[:2]
    clock = ledger.clocks[first.space]
    begins = ledger.answered + _MARGIN
    found = []
    if first.change not in (Change.CREATED, Change.OBSERVED) and first.clock is Clock.AUDIT:
        born = first.facts.created
        if first.entry.level is Level.FULL and born > begins:
            found.append(Loss(kind, born, min(born + 2 * SECOND, first.time), True))
    known = {moment.entry.resource_version for moment in track.moments}
    before = None
    for moment in track.moments:
        replaced = moment.replaces
        told = before is None or before.entry.resource_version is not None
        if replaced is not None and told and replaced not in known and moment.clock is Clock.AUDIT:
            earliest = clock.time_of(replaced)
            after = before is None or replaced > (before.entry.resource_version or 0)
            if earliest > begins and after:
                found.append(Loss(kind, earliest, earliest, False))
        before = moment
    return found


class Completeness:
    """Where absence may be judged."""

    def __init__(self, found: Iterable[Loss], tracks: Iterable[Track]) -> None:
        self.losses = list(found)
        self.whole_log = False
        self.kinds: set[GroupKind] = set()
        self.holes: list[tuple[int, int]] = []
        if not self.losses:
            return
        times = sorted({moment.time for track in tracks for moment in track.moments if moment.clock is Clock.AUDIT})
        holes = sorted({_around(loss, times) for loss in self.losses})
        if len(holes) == 1:
            self.holes = holes  # a file that is missing, or was rotated away
            return
        self.kinds = {loss.kind for loss in self.losses}
        # Of one kind a policy may drop some writes, but none that drops creations keeps others.
        self.whole_log = len(self.kinds) > 1 or any(loss.creation for loss in self.losses)

    def judges(self, kind: GroupKind, start: int, end: int) -> bool:
        """Whether nothing of this kind is known to be missing between two drawn times."""
        if self.whole_log or kind in self.kinds:
            return False
        return not any(hole_start <= end and start <= hole_end for hole_start, hole_end in self.holes)


def _around(loss: Loss, times: list[int]) -> tuple[int, int]:
    """The longest stretch without a line that the lost write may lie in."""
    first = max(0, bisect_right(times, loss.earliest) - 1)
    last = min(len(times) - 1, max(first + 1, bisect_left(times, loss.latest)))
    stretches = [(times[at], times[at + 1]) for at in range(first, last)] or [(loss.earliest, loss.latest)]
    return max(stretches, key=lambda stretch: (stretch[1] - stretch[0], -stretch[0]))
