"""Put changes into commit order and find the times at which to draw them. It does no I/O.

Commit order is the order of resource versions. An audit log also bounds the time of each commit: it lies between the
time the request was received and the time its response was finished. The drawn time is the running maximum of the
received times in revision order: it never leaves these bounds and never shows a later revision left of an earlier one.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple, cast

from timeline.core.entries import FOREVER
from timeline.core.machine.columns import Numbers, in_order

At = tuple[int, int]  # a place in commit order: drawn time (microseconds since 1970) and revision
SECOND = 1_000_000  # µs; objects carry times of whole seconds
_OUTLIERS = 100  # one of this many bounds between two clocks is ignored, since a stale response gives a wrong bound


class Stamp(NamedTuple):
    """Everything that is known about when a change was committed.

    Times are microseconds since 1970; `staged` is FOREVER where nothing bounds it. `space` names the counter of the
    revision: two revisions of one space order their commits. `dated` is False if `received` is only the earliest
    possible time, as that of a deletion that a watch shows: the object then carries only times of earlier changes.
    """

    resource_version: int | None
    received: int
    staged: int
    space: str = ""
    dated: bool = True


class Affected(NamedTuple):
    """The known commits that may be drawn at another time because of a new one. Their revisions are between `above` and
    `below`, both excluded. Those before the revision `since` are only affected if they carry no time of their own and
    arrived after `time`, in microseconds since 1970."""

    above: int
    below: int
    since: int
    time: int


class CommitClock:
    """Compute the time at which to draw each revision of one space.

    The result does not depend on the order in which commits are added, nor on repetitions.
    """

    def __init__(self, stamps: Iterable[tuple[int, int, int]] = ()) -> None:
        """Start with these commits, each (resource version, received, staged); times are microseconds since 1970."""
        self._revisions: list[int] = []  # an array in a clock `of_many` commits
        self._times: list[int] = []
        self._last = 0
        self.extend(stamps)

    @classmethod
    def of_many(cls, stamps: Iterable[tuple[int, int, int]]) -> "CommitClock":
        """Return the same clock as the constructor, for so many commits that they take too much memory otherwise. None
        can be added to it."""
        revisions, received, staged = Numbers(), array("q"), array("q")
        for revision, began, answered in in_order(stamps):
            if not revisions.values or revision != revisions.values[-1]:  # the first stamp of each counts
                revisions.append(revision)
                received.append(began)
                staged.append(answered)
        soonest = array("q", [FOREVER]) * len(staged)  # when the first of the later revisions was answered
        for at in range(len(staged) - 2, -1, -1):
            soonest[at] = min(soonest[at + 1], staged[at + 1])
        clock, highest, steps, times = cls(), -1, Numbers(), array("q")
        for revision, began, answered in zip(revisions.values, received, soonest, strict=True):
            if highest < began <= answered:  # otherwise the response is stale (see `extend`)
                highest = began
                steps.append(revision)
                times.append(began)
        clock._revisions, clock._times = cast("list[int]", steps.values), cast("list[int]", times)
        clock._last = revisions.values[-1] if len(staged) else 0
        return clock

    def extend(self, stamps: Iterable[tuple[int, int, int]]) -> bool:
        """Add commits that all follow the known ones, in the form of the constructor. Return False, and add none, if
        one of them would change the time at which a known commit is drawn."""
        # A no-op write repeats the revision later, so the first stamp of each counts. The latest revision comes first.
        commits = list({stamp[0]: stamp for stamp in sorted(stamps, reverse=True)}.values())
        if not commits:
            return True
        highest = self._times[-1] if self._times else -1
        answers = [staged for _, _, staged in commits]
        if commits[-1][0] <= self._last or min(answers) < highest:
            return False
        # A request that was received only after a later revision had been answered did not write its revision: the
        # response is stale.
        answered = accumulate(answers, min, initial=FOREVER)
        own = [commit for commit, soonest in zip(commits, answered, strict=False) if commit[1] <= soonest]
        for revision, received, _ in reversed(own):
            if received > highest:
                highest = received
                self._revisions.append(revision)
                self._times.append(received)
        self._last = commits[0][0]
        return True

    @property
    def last(self) -> int:
        """Return the highest revision that was added; 0 before the first."""
        return self._last

    def insert(self, resource_version: int, time: int) -> "Affected | None":
        """Add one commit without an upper bound of its time; its revision may lie between known ones.

        Return the commits whose drawn times may have moved; None if none has. That includes commits on the step before
        the new one: a change there that carries no time of its own is drawn before the next step.
        """
        revisions, times = self._revisions, self._times
        step = bisect_right(revisions, resource_version)
        before = revisions[step - 1] if step else 0
        self._last = max(self._last, resource_version)
        if step and times[step - 1] >= time:
            return None
        least = time
        if before == resource_version:
            step -= 1
            least = times[step]
            before = revisions[step - 1] if step else 0
            del revisions[step], times[step]
        end = step
        while end < len(times) and times[end] <= time:
            end += 1
        if end > step:
            least = min(least, times[step])
        revisions[step:end], times[step:end] = [resource_version], [time]
        following = revisions[step + 1] if step + 1 < len(revisions) else self._last + 1
        return Affected(before - 1, following, resource_version, least)

    def begins_again(self, since: int, soonest: int) -> int:
        """Return the revision from which `redo` has to begin so that no step before it is later than `soonest`, the
        first time at which one of the commits from `since` on had been answered."""
        late = bisect_right(self._times, soonest)
        return min(since, self._revisions[late]) if late < len(self._revisions) else since

    def redo(self, since: int, stamps: Iterable[tuple[int, int, int]]) -> list[tuple[int, int]]:
        """Compute the drawn times anew for all commits from a revision on, which are given as in the constructor.

        Return pairs of revisions. The drawn times of the commits between the two of a pair may have changed.
        """
        at = bisect_left(self._revisions, since)
        before = dict(zip(self._revisions[at:], self._times[at:], strict=True))
        last = self._last
        del self._revisions[at:], self._times[at:]
        self._last = 0  # `extend` adds only what follows
        self.extend(stamps)
        self._last = max(self._last, last)
        revisions = self._revisions
        now = dict(zip(revisions[at:], self._times[at:], strict=True))
        moved = []
        for revision in sorted(revision for revision, _ in before.items() ^ now.items()):
            step = bisect_left(revisions, revision)
            following = bisect_right(revisions, revision)
            end = revisions[following] if following < len(revisions) else self._last + 1
            moved.append((revisions[step - 1] - 1 if step else -1, end))
        return moved

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield the revisions at which the drawn time increases, in order, each with that time."""
        return zip(self._revisions, self._times, strict=True)

    def thin(self, revisions: list[int]) -> None:
        """Forget the steps that are not needed to draw any of these sorted revisions. The last step is always kept."""
        needed = {len(self._revisions) - 1}
        for revision in revisions:
            step = bisect_right(self._revisions, revision)
            needed |= {step - 1, step}  # a change without a time of its own is drawn before the step that follows
        kept = sorted(step for step in needed if 0 <= step < len(self._revisions))
        self._revisions = [self._revisions[step] for step in kept]
        self._times = [self._times[step] for step in kept]

    def drawn(self, resource_version: int | None, received: int, staged: int, arrived: int = 0) -> int:
        """Return the time at which to draw a change, which is always within [received, staged].

        `arrived` is the time at which a watch reported a change that carries no time of its own, else 0. Such a change
        is drawn between the changes before and after it, or, without a revision, when it arrived. All times are
        microseconds since 1970.
        """
        if resource_version is None:
            return min(max(received, arrived), staged)
        step = bisect_right(self._revisions, resource_version) - 1
        time = self._times[step] if step >= 0 else 0
        if arrived:
            following = self._times[step + 1] if step + 1 < len(self._times) else arrived
            time = max(time, min(arrived, following))
        return received if time < received else time if time < staged else staged

    def time_of(self, resource_version: int) -> int:
        """Return about when a revision that was not observed was committed, in microseconds since 1970; 0 if it is
        lower than every revision that was observed."""
        step = bisect_right(self._revisions, resource_version) - 1
        return self._times[step] if step >= 0 else 0


def offsets(stamps: Iterable[tuple[int, str, int, int]]) -> dict[str, int]:
    """Return by how many microseconds the clock of each file is ahead of the median clock. Files whose clock may agree
    with the median are left out.

    `stamps` are (resource version, file, received, staged) of every write. Where neighbouring revisions are in two
    files, the first was received before the second was answered, so each such pair bounds the offset between the two
    clocks. If there are only two files, the clock of the file with more writes counts as the median.
    """
    ordered = sorted(stamps)
    counts: dict[str, int] = {}
    bounds: dict[tuple[str, str], list[int]] = {}
    for _, file, _, _ in ordered:
        counts[file] = counts.get(file, 0) + 1
    if len(counts) < 2:
        return {}
    for (_, a, received, _), (_, b, _, staged) in pairwise(ordered):
        if a != b:
            bounds.setdefault((a, b), []).append(received - staged)  # a's clock is ahead of b's by at least this
    fullest = max(sorted(counts), key=lambda file: counts[file])
    found = _ahead_of(fullest, counts, bounds)
    by_offset = sorted(counts, key=lambda file: (found.get(file, 0), file != fullest, file))
    middle = by_offset[len(by_offset) // 2] if len(by_offset) > 2 else fullest
    return _ahead_of(middle, counts, bounds) if found.get(middle) else found


def _ahead_of(reference: str, files: Iterable[str], bounds: dict[tuple[str, str], list[int]]) -> dict[str, int]:
    found = {}
    for file in files:
        ahead, behind = bounds.get((file, reference)), bounds.get((reference, file))
        if file == reference or not ahead or not behind:
            continue
        least, most = _nearly_most(ahead), -_nearly_most(behind)
        if least > 0 or most < 0:
            found[file] = (least + most) // 2
    return found


def _nearly_most(bounds: list[int]) -> int:
    return sorted(bounds)[-1 - len(bounds) // _OUTLIERS]


def precedes(a: Stamp, b: Stamp) -> bool | None:
    """Return whether `a` was surely committed before `b`: True, False if `b` was surely committed before `a`, or None
    if the order is not known."""
    if by_revision(a, b):
        assert a.resource_version is not None and b.resource_version is not None
        return a.resource_version < b.resource_version if a.resource_version != b.resource_version else None
    if _latest(a) < b.received:
        return True
    if _latest(b) < a.received:
        return False
    return None


def by_revision(a: Stamp, b: Stamp) -> bool:
    """Return whether the two commits can be ordered by their revisions: both have one, of the same space."""
    return a.resource_version is not None and b.resource_version is not None and a.space == b.space


def delay_bounds(a: Stamp, b: Stamp) -> tuple[float, float]:
    """Return the least and the greatest number of seconds that can lie between the commit of `a` and that of `b`."""
    return max(0, b.received - _latest(a)) / 1e6, max(0, _latest(b) - a.received) / 1e6


def _latest(stamp: Stamp) -> int:
    """Return the latest time at which a commit can have happened, in microseconds since 1970.

    Where the time is a whole second of an object, the commit is assumed to follow within that second.
    """
    return stamp.received + SECOND if stamp.dated and stamp.staged == FOREVER else stamp.staged
