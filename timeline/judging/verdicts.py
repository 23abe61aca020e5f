"""Find out how sure the order of two changes is, and how much time lies between them. It does no I/O."""

from enum import StrEnum

from timeline.core.durations import Length
from timeline.core.entries import Clock
from timeline.core.order import SECOND, by_revision, precedes
from timeline.history.lifelines import Moment

IN_FLIGHT = 5 * SECOND  # µs before the end of a source in which a request may still be without its response


class Verdict(StrEnum):
    """How sure the order of events is on which a finding rests."""

    EXACT = "exact"  # both events have revisions of one space, or the times of audit logs order them
    BOUNDED = "bounded"  # clocks of whole seconds order the events, which are at least one second apart
    INCONCLUSIVE = "inconclusive"  # neither revisions nor clocks order the events


def order_of(a: Moment, b: Moment) -> Verdict | None:
    """Return how sure it is that `a` was committed before `b`; None if `b` came first, surely or by its drawn time."""
    first, second = a.entry.resource_version, b.entry.resource_version
    if first is not None and second is not None and first != second and a.space == b.space:
        return Verdict.EXACT if first < second else None  # most pairs: two revisions of one space
    match precedes(a.stamp, b.stamp):
        case True:
            whole_seconds = Clock.OBJECT in (a.clock, b.clock)
            return Verdict.BOUNDED if whole_seconds and not by_revision(a.stamp, b.stamp) else Verdict.EXACT
        case False:
            return None
        case _:
            return Verdict.INCONCLUSIVE if a.time <= b.time else None


def dated(moment: Moment) -> bool:
    """Return whether the time of a change is near its commit (see `Entry.dated`)."""
    return moment.entry.dated


def between(a: Moment, b: Moment) -> Length:
    """Return how long after the commit of `a` that of `b` came, as far as the clocks show it. The length is unknown if
    the clocks contradict this order."""
    (a_least, a_most), (b_least, b_most) = a.committed, b.committed
    if b_most is not None and b_most <= a_least:
        return Length(0, None)
    least = 0 if a_most is None else max(0, b_least - a_most)
    return Length(least, None if b_most is None else b_most - a_least)


def so_far(a: Moment, until: int) -> Length:
    """Return how long something that began with the commit of `a` had lasted by a drawn time, as a lower bound."""
    _, latest = a.committed
    return Length(0 if latest is None else max(0, until - latest), None)


def why(verdict: Verdict, a: Moment, b: Moment) -> str:
    """Return sentences that explain the verdict on the order of `a` and `b`, and give the bounds of the delay."""
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


DELAY = " The delay is "  # the part of the text of `why` before this explains the order


def _known(a: Moment, b: Moment) -> str:
    length = between(a, b)
    return "" if length.most is None else f"{DELAY}{length.certain}."


def _counted(a: Moment, b: Moment) -> str:
    if a.entry.ref.kind == b.entry.ref.kind and a.entry.ref.group == b.entry.ref.group:
        return "both are revisions of one kind"
    if a.clock is b.clock is Clock.AUDIT:
        return "both revisions come from the audit log of one cluster"
    return "one API server counts the revisions of both kinds by one counter, and their times do not contradict that"
