"""Pure: how sure it is that one change came before another, or that something still stood; and the words for it.

And what rules ask of one life beside another: whether it failed meanwhile, or went with its namespace.
"""

from enum import StrEnum
from itertools import pairwise

from timeline.core.durations import Length, duration
from timeline.core.entries import Change, Clock
from timeline.core.order import SECOND, by_revision, precedes
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world import World

IN_FLIGHT = 5 * SECOND  # µs at the end of a source, in which a write may have been asked for and not yet answered
_STEP = 5 * SECOND  # µs between two times at which a finding of a live source says for how long nothing failed
FAILURE_WITHIN = 60 * SECOND  # µs after something came, in which a failure is laid to its absence


class Verdict(StrEnum):
    """How sure the order of a finding is."""

    EXACT = "exact"  # both events carry a revision of one space, or one audit log orders them
    BOUNDED = "bounded"  # whole-second clocks at least a second apart
    INCONCLUSIVE = "inconclusive"  # no clock tells


def order_of(a: Moment, b: Moment) -> Verdict | None:
    """How surely a was committed before b; None where b surely came first."""
    match precedes(a.stamp, b.stamp):
        case True if not dated(a) and not by_revision(a.stamp, b.stamp):
            return Verdict.INCONCLUSIVE  # it was committed at its time at the soonest
        case True:
            whole_seconds = Clock.OBJECT in (a.clock, b.clock)
            return Verdict.BOUNDED if whole_seconds and not by_revision(a.stamp, b.stamp) else Verdict.EXACT
        case False:
            return None
        case _:
            return Verdict.INCONCLUSIVE if a.time <= b.time else None


def dated(moment: Moment) -> bool:
    """Whether its time is near its commit (see `Entry.dated`)."""
    return moment.entry.dated


def surely_live(track: Track, time: int, world: World) -> bool:
    """Whether no writes can be missing by which it had ended, finished or been asked to end at a drawn time."""
    later = next((each for each in track.moments if each.time > time and each.entry.facts is not None), None)
    if later and not getattr(later.facts, "terminal", False):
        leaving = later.facts.deleting or later.change is Change.DELETED
        if not leaving or later.facts.asked > time:  # it tells itself that it was asked later
            return True
    return world.gapless(track, time, time + 1)


def failure(pod: Track, since: int, until: int) -> Moment | None:
    """When a container first failed, between the drawn times in which something was missing, or soon after."""
    for before, after in pairwise(pod.moments):
        if since <= after.time <= until + FAILURE_WITHIN and after.facts.failed_since(before.facts):
            return after
    return None


def unfailed(pod: Track, since: Moment, until: Moment | int, world: World) -> str:
    """That no failure of a Pod was seen after something came, for how long that was looked at, and that its Job failed
    meanwhile or soon after. An `until` that is no moment is a drawn time."""
    latest = until if isinstance(until, int) else until.committed[1] or until.time
    looked = world.watched_after(latest, FAILURE_WITHIN)
    steps = looked // _STEP * _STEP
    if looked >= FAILURE_WITHIN:
        seen = "in the minute after"
    elif world.live:
        seen = f"in the {duration(steps)} since" if steps else "so far"
    else:
        seen = f"until the recording ends{f' {duration(_whole(looked))} later' if looked else ''}"
    failed = _failed_owner(pod, since.time, latest, world)
    if not failed:
        return f"no failure seen {seen}"
    owner, when = failed
    return f"no container failure seen {seen}; {owner.ref.kind} {owner.ref.name} failed after {between(since, when)}"


def _whole(microseconds: int) -> int:
    """Without digits that nobody needs, downwards."""
    unit = SECOND if microseconds >= 10 * SECOND else SECOND // 10 if microseconds >= SECOND else 1_000
    return max(1, microseconds // unit) * unit


def _failed_owner(pod: Track, since: int, until: int, world: World) -> tuple[Track, Moment] | None:
    """The Job or other owner of a Pod that failed between two drawn times, or soon after."""
    track, seen = pod, {pod.key}
    while (owner := world.owner_of(track)) and owner.key not in seen:
        seen.add(owner.key)
        track = owner
        for before, after in pairwise(owner.moments):
            if since <= after.time <= until + FAILURE_WITHIN and _failed(after) and not _failed(before):
                return owner, after
    return None


def _failed(moment: Moment) -> bool:
    facts = moment.facts
    return "Failed" in (getattr(facts, "finished", ""), getattr(facts, "phase", ""))


def torn_down(track: Track, since: Moment, until: int, world: World) -> bool:
    """Whether its namespace was on its way out by a drawn time: all in it goes, each in its time."""
    if since.actor.endswith(":namespace-controller"):
        return True
    homes = world.incarnations(Name("", "Namespace", "", track.ref.namespace))
    asked = [home.asked_to_end for home in homes if home.until is None or home.until > track.first.time]
    return any(each is not None and each <= until for each in asked)


def between(a: Moment, b: Moment) -> Length:
    """How long after one commit another one came, as far as their clocks tell; unknown where these contradict it."""
    (a_least, a_most), (b_least, b_most) = a.committed, b.committed
    if b_most is not None and b_most <= a_least:
        return Length(0, None)
    least = 0 if a_most is None else max(0, b_least - a_most)
    return Length(least, None if b_most is None else b_most - a_least)


def so_far(a: Moment, until: int) -> Length:
    """How long something that a commit began had lasted at a drawn time, at least: it goes on."""
    _, latest = a.committed
    return Length(0 if latest is None else max(0, until - latest), None)


def why(verdict: Verdict, a: Moment, b: Moment) -> str:
    """The sentence that says why the order is that sure, and between what the delay is known to lie."""
    known = _known(a, b)
    if verdict is Verdict.INCONCLUSIVE:
        if Clock.OBJECT in (a.clock, b.clock):
            return f"Inconclusive: whole-second times do not tell the order, and no revisions do.{known}"
        return f"Inconclusive: the two requests overlapped and no revision orders them.{known}"
    if verdict is Verdict.BOUNDED:
        return f"Bounded: only whole-second times tell the order, and they lie far enough apart.{known}"
    if by_revision(a.stamp, b.stamp):
        return f"Exact: {_counted(a, b)}, and revisions count commits.{known}"
    return f"Exact: the first request was answered before the second was received.{known}"


DELAY = " The delay is "  # from here on, `why` tells of one delay, and no more of the order


def _known(a: Moment, b: Moment) -> str:
    length = between(a, b)
    return "" if length.most is None else f"{DELAY}{length.certain}."


def _counted(a: Moment, b: Moment) -> str:
    if a.entry.ref.kind == b.entry.ref.kind and a.entry.ref.group == b.entry.ref.group:
        return "both are revisions of one kind"
    if a.clock is b.clock is Clock.AUDIT:
        return "both revisions come from the audit log of one cluster"
    return "the revisions of both kinds come from one counter, as their times bear out"
