"""Find out whether writes are missing from an audit log or a watch, by means of the writes that it has.

An update names the revision that it replaces, and an object carries the time of its creation. If a log should show that
revision or creation and does not, then the write is lost. Losses that all lie in one stretch of time are a hole, in
which writes of any kind may be missing; losses all over the log make the whole log incomplete. A watch does not lose
changes by itself: if some are missing, somebody removed lines, perhaps those of other watches, too.

The module is pure. See docs/decisions/0007-completeness.md.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from timeline.core.entries import Change, Clock
from timeline.core.machine.columns import Numbers, column, in_order
from timeline.core.order import SECOND, by_revision
from timeline.history.ledger.ledger import Ledger
from timeline.history.lifelines import Moment, Track
from timeline.history.seen import GroupKind

_JUMP = 10  # missing revisions in a row that may be normal: the API server makes some writes that no log shows
_SPARSE = 0.05  # the share of revisions that may be missing elsewhere; if a policy omits more, jumps mean nothing
_SELDOM = 20  # the log needs this many revisions for each jump: an excerpt, such as one namespace, jumps all the time
_ALL_OVER = 3  # if this many lines are missing from watches, lines of every watch may have been removed
MARGIN = SECOND  # µs after the beginning of a log in which a missing write proves nothing


class Loss(NamedTuple):
    """A write that the source should show and does not. Times are microseconds since 1970."""

    kind: GroupKind
    earliest: int  # the write was committed between this time
    latest: int  # and this time
    creation: bool
    streamed: bool = False  # the write is missing from a watch, which says nothing about other kinds


def losses(track: Track, ledger: Ledger, begins: int | None = None) -> list[Loss]:
    """Return the writes of one track that are missing, according to its moments.

    Writes before `begins` do not count as missing. It is in microseconds since 1970, and by default the beginning of
    the audit log.
    """
    first = track.first
    if len(track.moments) == 1 and first.change is Change.CREATED:
        return []
    kind = track.name[:2]
    clock = ledger.clocks.of_space(first.space)
    begins = ledger.extent.answered + MARGIN if begins is None else begins
    found = []
    if first.change not in (Change.CREATED, Change.OBSERVED) and first.clock is Clock.AUDIT:
        born = track.value("created") or 0
        if born > begins:
            found.append(Loss(kind, born, min(born + 2 * SECOND, first.time), True))
    elif first.change not in (Change.CREATED, Change.OBSERVED):
        born = track.value("created") or 0
        if born > ledger.seen[kind].streamed_since + MARGIN:
            found.append(Loss(kind, born, first.time, True, streamed=True))
    found += [
        Loss(kind, earliest, earliest, False)
        for replaced in _unseen(track)
        if (earliest := clock.time_of(replaced)) > begins
    ]
    return [each for each in found if not ledger.freed.overlaps(each.earliest, each.latest)] if ledger.freed else found


def _unseen(track: Track) -> Iterator[int]:
    """Yield the revisions that writes of this track replaced, and that no known write of the track created."""
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
    """Know which writes are missing from a source, and so where rules may conclude from the absence of a write that it
    never happened."""

    def __init__(self, found: Sequence[Loss], ledger: Ledger) -> None:
        self._ledger = ledger
        self.losses = found
        # The holes of a log, and whether it shows nearly every revision outside of them. A live watch reports its gaps
        # itself, so none are searched.
        self.holes, self.dense = ([], False) if ledger.live else _jumps(self._commits, ledger.deletions())
        self.kinds: set[GroupKind] = set()
        self.whole_log = False
        streamed = [loss.kind for loss in found if loss.streamed]
        self._streams = set(streamed) if len(streamed) < _ALL_OVER else set(ledger.seen)
        logged = [loss for loss in found if not loss.streamed]
        times = sorted(ledger.logged_times()) if logged else []
        scattered = [loss for loss in logged if not any(_within(loss, hole) for hole in self.holes)]
        around = {_around(loss, times) for loss in scattered}
        if len(around) == 1:
            self.holes += around  # one file is missing, for instance because it was rotated away
        elif around:
            self.kinds = {loss.kind for loss in scattered}
            # A policy may omit some writes of one kind, but no policy omits creations and keeps other writes.
            self.whole_log = len(self.kinds) > 1 or any(loss.creation for loss in scattered)

    def follows(self, kind: GroupKind) -> bool:
        """Return whether the watch of a kind may be taken as complete: no write is known to be missing from it, and not
        so many are missing from other watches that lines may have been removed from all of them."""
        return kind not in self._streams

    def judges(self, kind: GroupKind, start: int, end: int) -> bool:
        """Return whether no write of this kind is known to be missing from the audit log between two drawn times, in
        microseconds since 1970."""
        if self.whole_log or kind in self.kinds:
            return False
        return not any(hole_start <= end and start <= hole_end for hole_start, hole_end in self.holes)

    def accounts_for(self, after: Moment, before: Moment) -> bool:
        """Return whether every revision between two moments is known, so that no write of any object is missing."""
        start, end = after.stamp, before.stamp
        if not by_revision(start, end):
            return False
        assert start.resource_version is not None and end.resource_version is not None
        commits = self._commits
        first = bisect_left(commits.revisions, start.resource_version + 1)
        last = bisect_left(commits.revisions, end.resource_version)
        seen = {
            commits.revisions[at]
            for at in range(first, last)
            if commits.received[at] <= end.staged and start.received <= commits.staged[at]
        }
        received = commits.bare_received
        inside = commits.bare_staged[bisect_left(received, start.staged) : bisect_left(received, end.received)]
        missing = end.resource_version - start.resource_version - 1 - len(seen)
        if any(each.streamed for each in self._ledger.seen.values()):
            return missing == 0  # writes without a revision in the log may be writes with one in a watch
        return missing == sum(staged <= end.received for staged in inside)

    def accounts_since(self, after: Moment, time: int) -> bool:
        """Return whether every revision is known from a moment on until `time`, in microseconds since 1970."""
        revision = after.stamp.resource_version
        if revision is None:
            return False
        commits = self._commits
        last = revision
        for at in range(bisect_left(commits.revisions, revision), len(commits.revisions)):
            if commits.revisions[at] > last + 1:
                break
            last = commits.revisions[at]
            if commits.received[at] >= time:
                bare = commits.bare_received
                return bisect_left(bare, after.stamp.received) >= bisect_left(bare, time)
        return False

    @cached_property
    def _commits(self) -> "_Commits":
        return _commits_of(self._ledger)


class _Commits(NamedTuple):
    """All observed writes in columns; those with a revision are sorted by it and then by time, the others by time."""

    revisions: Sequence[int]
    received: Sequence[int]
    staged: Sequence[int]
    bare_received: Sequence[int]
    bare_staged: Sequence[int]


def _commits_of(ledger: Ledger) -> _Commits:
    bare: list[tuple[int, int]] = []
    revised = in_order(_revised(ledger, bare))
    revisions, received, staged = (Numbers() for _ in range(3))
    for revision, began, answered in revised:
        revisions.append(revision)
        received.append(began)
        staged.append(answered)
    bare.sort()
    times = [column(each) for each in zip(*bare, strict=True)] if bare else [[], []]
    return _Commits(revisions.values, received.values, staged.values, *times)


def _revised(ledger: Ledger, bare: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield the stamps of all writes with a revision, and add those of the others to `bare`."""
    for revision, received, staged in ledger.stamps():
        if revision is None:
            bare.append((received, staged))
        else:
            yield revision, received, staged


def _jumps(commits: _Commits, deletions: Iterable[tuple[int, int]]) -> tuple[list[tuple[int, int]], bool]:
    """Return the stretches (start, end), in microseconds since 1970, in which many revisions in a row are missing from
    a log, and True if it has nearly all others; else none, and False. `deletions` are (received, staged) of those that
    have a revision."""
    count = 0  # of different revisions
    jumps: list[tuple[int, int, int, int]] = []  # (missing revisions, received before, received and staged after)
    last = before = 0
    for revision, arrived, answered in zip(commits.revisions, commits.received, commits.staged, strict=True):
        if count and revision == last:
            continue
        if count and revision - last > _JUMP:
            jumps.append((revision - last - 1, before, arrived, answered))
        last, before = revision, arrived
        count += 1
    if count < 2:
        return [], False
    missing = last - commits.revisions[0] + 1 - count - len(commits.bare_received)
    received, staged = [*commits.bare_received], [*commits.bare_staged]
    for began, ended in deletions if jumps else ():
        # Before the deletion, the API server may have set deletionTimestamp: a write that no response shows.
        received.append(began)
        staged.append(ended)
    received.sort()
    staged.sort()
    holes = []
    for size, start, end, answered in jumps:
        between = bisect_right(received, answered) - bisect_left(staged, start)
        if size - between >= _JUMP:
            holes.append((min(start, end), max(start, end)))
            missing -= size - between
    dense = len(holes) * _SELDOM <= count and missing <= count * _SPARSE
    return (holes, True) if dense else ([], False)


def _within(loss: Loss, hole: tuple[int, int]) -> bool:
    return hole[0] <= loss.latest and loss.earliest <= hole[1]


def _around(loss: Loss, times: list[int]) -> tuple[int, int]:
    """Return the longest stretch between two lines of the log (`times`) in which the missing write may have
    happened."""
    first = max(0, bisect_right(times, loss.earliest) - 1)
    last = min(len(times) - 1, max(first + 1, bisect_left(times, loss.latest)))
    stretches = [(times[at], times[at + 1]) for at in range(first, last)] or [(loss.earliest, loss.latest)]
    return max(stretches, key=lambda stretch: (stretch[1] - stretch[0], -stretch[0]))
