"""Pure: how sure it is that one change came before another, or that something still stood; and the words for it.

And what rules ask of one life beside another: whether it failed meanwhile, or went with its namespace.
"""

from enum import StrEnum
from itertools import pairwise

from timeline.entries import Change, Clock
from timeline.lifelines import Moment, Name, Track
from timeline.order import SECOND, by_revision, delay_bounds, precedes
from timeline.world import World

IN_FLIGHT = 5 * SECOND  # µs at the end of a source, in which a write may have been asked for and not yet answered
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


def torn_down(track: Track, since: Moment, until: int, world: World) -> bool:
    """Whether its namespace was on its way out by a drawn time: all in it goes, each in its time."""
    if since.actor.endswith(":namespace-controller"):
        return True
    homes = world.incarnations(Name("", "Namespace", "", track.ref.namespace))
    asked = [home.asked_to_end for home in homes if home.until is None or home.until > track.first.time]
    return any(each is not None and each <= until for each in asked)


def bounds(a: Moment, b: Moment) -> tuple[float, float] | None:
    """Seconds between two commits, a first, at least and at most; None where no clock tells, or clocks contradict."""
    least, most = delay_bounds(a.stamp, b.stamp)
    if not dated(b) or most <= 0:
        return None
    if dated(a):
        return least, most
    return 0.0, max(0.0, most - (a.time - a.stamp.received) / 1e6)  # it was committed at its drawn time or later


def why(verdict: Verdict, a: Moment, b: Moment) -> str:
    """The sentence that says why the order is that sure, and within what the delay is known to lie."""
    known = _known(bounds(a, b))
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


def _known(within: tuple[float, float] | None) -> str:
    if within is None:
        return ""
    least, most = (duration(round(each * 1e6)) for each in within)
    if least == most:
        return f"{DELAY}known to within {duration(round((within[1] - within[0]) * 1e6))}."
    if within[0] == 0:
        return f"{DELAY}at most {most}."
    return f"{DELAY}known to lie between {least} and {most}."


def _counted(a: Moment, b: Moment) -> str:
    if a.entry.ref.kind == b.entry.ref.kind and a.entry.ref.group == b.entry.ref.group:
        return "both are revisions of one kind"
    if a.clock is b.clock is Clock.AUDIT:
        return "both revisions come from the audit log of one cluster"
    return "the revisions of both kinds come from one counter, as their times bear out"


def duration(microseconds: int) -> str:
    """A length of time as a person says it: 53 ms, 4.2 s, 3 min 5 s, 2 h 10 min."""
    if microseconds == 0:
        return "less than 1 s"  # two times of a clock that counts whole seconds
    if microseconds < 1_000:
        return f"{microseconds} µs"
    if microseconds < 999_500:
        return f"{round(microseconds / 1e3)} ms"
    if microseconds < 59_950_000:
        return f"{microseconds / 1e6:.1f} s".replace(".0 s", " s")
    minutes, seconds = divmod(round(microseconds / 1e6), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
