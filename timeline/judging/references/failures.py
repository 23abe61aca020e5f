"""Find out whether a container failed while something that its Pod needs was missing. It does no I/O."""

from itertools import pairwise

from timeline.core.durations import duration
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.references.endings import owners
from timeline.judging.verdicts import between

FAILURE_WITHIN = 60 * SECOND  # µs: a failure this soon after the end of an absence is attributed to the absence
_STEP = 5 * SECOND  # µs: the text of a finding of a live source is updated after each such step without a failure


def failure(pod: Track, since: int, until: int) -> Moment | None:
    """Return the first failure of a container between two drawn times, or within a minute after them."""
    for before, after in pairwise(pod.moments):
        if since <= after.time <= until + FAILURE_WITHIN and after.facts.failed_since(before.facts):
            return after
    return None


def no_failure(pod: Track, since: Moment, until: Moment | int, world: World) -> str:
    """Return text that says for how long no container failure was observed, and whether an owner of the Pod failed.

    The time in question begins with `since` and ends a minute after `until`, which is a moment or a drawn time.
    """
    latest = until if isinstance(until, int) else until.committed[1] or until.time
    watched = world.watched_after(latest, FAILURE_WITHIN)
    steps = watched // _STEP * _STEP
    if watched >= FAILURE_WITHIN:
        seen = "in the minute after"
    elif world.live:
        seen = f"in the {duration(steps)} since" if steps else "so far"
    else:
        seen = f"until the recording ends{f' {duration(_round_down(watched))} later' if watched else ''}"
    failed = _failed_owner(pod, since.time, latest, world)
    if not failed:
        return f"no failure seen {seen}"
    owner, when = failed
    return f"no container failure seen {seen}; {owner.ref.kind} {owner.ref.name} failed after {between(since, when)}"


def _round_down(microseconds: int) -> int:
    """Return the duration rounded down to a sensible unit; at least one microsecond."""
    unit = SECOND if microseconds >= 10 * SECOND else SECOND // 10 if microseconds >= SECOND else 1_000
    return max(1, microseconds // unit) * unit


def _failed_owner(pod: Track, since: int, until: int, world: World) -> tuple[Track, Moment] | None:
    """Return the first owner of the Pod that failed between two drawn times, or within a minute after them."""
    for owner in owners(pod, world):
        for before, after in pairwise(owner.moments):
            if since <= after.time <= until + FAILURE_WITHIN and _failed(after) and not _failed(before):
                return owner, after
    return None


def _failed(moment: Moment) -> bool:
    facts = moment.facts
    return "Failed" in (getattr(facts, "finished", ""), getattr(facts, "phase", ""))
