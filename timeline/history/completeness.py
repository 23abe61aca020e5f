"""Pure: whether writes are missing from an audit log or a watch, told by those that are there.

An update names the revision that it replaces, and a changed object names the time of its creation. Where the log should
show that write and does not, it has a hole. One hole at one time concerns every kind; losses all over the log concern
the whole of it. Watches lose nothing by themselves: one that did is thinned, and the others may be, too.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from timeline.core.entries import Change, Clock
from timeline.core.order import SECOND, by_revision
from timeline.history.ledger import Ledger
from timeline.history.lifelines import Moment, Track
from timeline.history.seen import GroupKind

_JUMP = 10  # revisions missing at one place; logs that are whole leave out at most this many writes of the API server
_SPARSE = 0.05  # of the revisions may be missing elsewhere; where a policy leaves out more, jumps mean nothing
_SELDOM = 20  # revisions for each jump at least: an excerpt, such as the lines of one namespace, jumps all the time
_ALL_OVER = 3  # lines missing from watches, which lose none by themselves: all of them may have been thinned
_MARGIN = SECOND  # µs around the beginning of a log in which a missing write proves nothing


class Loss(NamedTuple):
    """A write that should be in the log and is not, between two times in microseconds."""

    kind: GroupKind
    earliest: int
    latest: int
    creation: bool
    streamed: bool = False  # by a watch, which tells nothing of other kinds


def losses(track: Track, ledger: Ledger, begins: int | None = None) -> list[Loss]:
    """What the moments of one life say of those that are missing since a log begins, microseconds."""
    first = track.first
    if len(track.moments) == 1 and first.change is Change.CREATED:
        return []
    kind = track.name[:2]
    clock = ledger.clocks.of_space(first.space)
    begins = ledger.extent.answered + _MARGIN if begins is None else begins
    found = []
    if first.change not in (Change.CREATED, Change.OBSERVED) and first.clock is Clock.AUDIT:
        born = track.value("created") or 0
        if born > begins:
            found.append(Loss(kind, born, min(born + 2 * SECOND, first.time), True))
    elif first.change not in (Change.CREATED, Change.OBSERVED):
        born = track.value("created") or 0
        if born > ledger.seen[kind].streamed_since + _MARGIN:
            found.append(Loss(kind, born, first.time, True, streamed=True))
    return found + [
        Loss(kind, earliest, earliest, False)
        for replaced in _unseen(track)
        if (earliest := clock.time_of(replaced)) > begins
    ]


def _unseen(track: Track) -> Iterator[int]:
    """The revisions that writes of this life replaced, and that none of them made."""
    known: set[int | None] = set()
    before: int | None = 0
    for moment in track.moments:
        entry = moment.entry
        replaced = entry.replaces
        if replaced is not None and replaced != before and before is not None and replaced > before:
            known = known or {each.entry.resource_version for each in track.moments}
            if replaced not in known and entry.clock is Clock.AUDIT:
                yield replaced
        before = entry.resource_version


class Completeness:
    """Where absence may be judged."""

    def __init__(self, found: Sequence[Loss], ledger: Ledger) -> None:
        self._ledger = ledger
        self.losses = found
        self.holes = [] if ledger.live else _jumps(ledger)  # streams tell their gaps themselves
        self.kinds: set[GroupKind] = set()
        self.whole_log = False
        streamed = [loss.kind for loss in found if loss.streamed]
        self._streams = set(streamed) if len(streamed) < _ALL_OVER else set(ledger.seen)
        logged = [loss for loss in found if not loss.streamed]
        times = sorted(ledger.logged_times()) if logged else []
        scattered = [loss for loss in logged if not any(_within(loss, hole) for hole in self.holes)]
        around = {_around(loss, times) for loss in scattered}
        if len(around) == 1:
            self.holes += around  # a file that is missing, or was rotated away
        elif around:
            self.kinds = {loss.kind for loss in scattered}
            # Of one kind a policy may drop some writes, but none that drops creations keeps others.
            self.whole_log = len(self.kinds) > 1 or any(loss.creation for loss in scattered)

    def follows(self, kind: GroupKind) -> bool:
        """Whether nothing of this kind is known to be missing from its watch, nor so much that all may be thinned."""
        return kind not in self._streams

    def judges(self, kind: GroupKind, start: int, end: int) -> bool:
        """Whether nothing of this kind is known to be missing between two drawn times."""
        if self.whole_log or kind in self.kinds:
            return False
        return not any(hole_start <= end and start <= hole_end for hole_start, hole_end in self.holes)

    def accounts_for(self, after: Moment, before: Moment) -> bool:
        """Whether each revision between two is known, so that no write of anything can be missing there."""
        start, end = after.stamp, before.stamp
        if not by_revision(start, end):
            return False
        assert start.resource_version is not None and end.resource_version is not None
        told, untold = self._commits
        first, last = bisect_right(told, (start.resource_version + 1,)), bisect_left(told, (end.resource_version,))
        seen = {told[at][0] for at in range(first, last) if told[at][1] <= end.staged and start.received <= told[at][2]}
        inside = untold[bisect_left(untold, (start.staged,)) : bisect_right(untold, (end.received,))]
        missing = end.resource_version - start.resource_version - 1 - len(seen)
        if any(each.streamed for each in self._ledger.seen.values()):
            return missing == 0  # a watch tells the revision of a write that the audit log tells without
        return missing == sum(staged <= end.received for _, staged in inside)

    def accounts_since(self, after: Moment, time: int) -> bool:
        """Whether each revision is known from a moment's on, until one that was committed at a time or later."""
        revision = after.stamp.resource_version
        if revision is None:
            return False
        told, untold = self._commits
        last = revision
        for each, received, _ in told[bisect_left(told, (revision,)) :]:
            if each > last + 1:
                break
            last = each
            if received >= time:
                return not untold[bisect_left(untold, (after.stamp.received,)) : bisect_left(untold, (time,))]
        return False

    @cached_property
    def _commits(self) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]]:
        """All that was seen, in order: revision and times of those that tell it, times of those that do not."""
        told, untold = [], []
        for revision, received, staged in self._ledger.stamps():
            if revision is None:
                untold.append((received, staged))
            else:
                told.append((revision, received, staged))
        return sorted(told), sorted(untold)


def _jumps(ledger: Ledger) -> list[tuple[int, int]]:
    """Where a log that else shows nearly every revision leaves out many at once."""
    revisions: dict[int, tuple[int, int]] = {}
    received, staged = [], []  # of writes that tell no revision
    for revision, arrived, answered in ledger.stamps():
        if revision is None:
            received.append(arrived)
            staged.append(answered)
        elif revision not in revisions or (arrived, answered) < revisions[revision]:
            revisions[revision] = arrived, answered
    if len(revisions) < 2:
        return []
    ordered = sorted(revisions)
    missing = ordered[-1] - ordered[0] + 1 - len(ordered) - len(received)
    for entry in ledger.entries():
        if entry.change is Change.DELETED and entry.resource_version is not None and entry.clock is Clock.AUDIT:
            received.append(entry.received)  # the API server may have marked it first, a write that no answer tells
            staged.append(entry.staged)
    received.sort()
    staged.sort()
    holes = []
    for before, after in pairwise(ordered):
        if after - before > _JUMP:
            (start, _), (end, answered) = revisions[before], revisions[after]
            between = bisect_right(received, answered) - bisect_left(staged, start)
            if after - before - 1 - between >= _JUMP:
                holes.append((min(start, end), max(start, end)))
                missing -= after - before - 1 - between
    seldom = len(holes) * _SELDOM <= len(ordered)
    return holes if seldom and missing <= len(ordered) * _SPARSE else []


def _within(loss: Loss, hole: tuple[int, int]) -> bool:
    return hole[0] <= loss.latest and loss.earliest <= hole[1]


def _around(loss: Loss, times: list[int]) -> tuple[int, int]:
    """The longest stretch without a line that the lost write may lie in."""
    first = max(0, bisect_right(times, loss.earliest) - 1)
    last = min(len(times) - 1, max(first + 1, bisect_left(times, loss.latest)))
    stretches = [(times[at], times[at + 1]) for at in range(first, last)] or [(loss.earliest, loss.latest)]
    return max(stretches, key=lambda stretch: (stretch[1] - stretch[0], -stretch[0]))
