"""This module says what the Pod of a Job is to its Job at each time: active, ended, or waiting to be counted.

It is pure. A moment and a pod are a `Moment` and a `Track` of timeline/history, which this wing may not import.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from timeline.core.entries import Change, Clock
from timeline.core.order import SECOND, At

TRACKING = "batch.kubernetes.io/job-tracking"  # the finalizer by which a Job keeps its Pods until it has counted them
TERMINAL = {"Succeeded", "Failed"}  # phases
_APART = 2 * SECOND  # µs by which the clocks of API servers and nodes may differ unnoticed


def let_go(moment: Any) -> bool:
    """Return whether the Pod has lost the finalizer of its Job, or is deleted."""
    return moment.change is Change.DELETED or TRACKING not in moment.facts.finalizers


def spells(pod: Any) -> Iterable[tuple[str, At, At | None]]:
    """Yield the spells of the Pod of a Job: name, beginning, and end or None. A lost line makes a spell that states a
    certainty shorter, and never longer.

    - active: the Pod has surely neither finished nor been asked to end.
    - open: the Pod is not known to have finished or to have been asked to end.
    - ended: the Pod is known to have finished or to have been asked to end.
    - waiting: the Pod has succeeded, and its Job surely has not counted it yet.
    """
    if pod.owner and (pod.owner.group, pod.owner.kind) == ("batch", "Job"):
        yield from _activity(pod)
        yield from _waiting(pod)


def _activity(pod: Any) -> Iterable[tuple[str, At, At | None]]:
    moments = pod.moments
    start = next(at for at, each in enumerate(moments) if each.entry.owner)  # an adopted Pod had no owner before
    end = next((at for at in range(start, len(moments)) if _left(moments[at], pod.owner.uid)), len(moments))
    over = moments[end] if end < len(moments) else None
    if over:
        yield "ended", over.at, None
    if end == start:
        return
    known = _after(moments[end - 1])
    asked = over.facts.asked if over and over.facts.deleting else 0
    limit = over and max(known, min(over.at, (asked, 0)) if asked else over.at)
    if over and over.facts.terminal and over.actor and over.action != "status":
        limit = known  # the change that shows its end was lost
    yield "open", moments[start].at, limit
    sure = _surely_active_until(over) if over else None
    yield "active", moments[start].at, known if sure is None else max(known, sure)


def _surely_active_until(over: Any) -> At | None:
    """Return until when a Pod was surely active, from the change after which it is not; None if that does not say.

    Lines before that change may be lost, so the Pod may have ended before the change was written. The state itself
    shows when the deletion was requested, or when the last container stopped.
    """
    facts = over.facts
    written: At = over.at
    if facts.deleting:  # it had not finished when it was asked to end
        shown = facts.asked and not facts.terminal and not facts.at_once
        return min(written, (facts.asked - _APART, 0)) if shown else None
    reported = over.action == "status" or (over.user_agent == "kubelet" and over.change is Change.MODIFIED)
    if not reported or not facts.terminal or TRACKING not in facts.finalizers:
        return None
    if not facts.stopped or abs(over.entry.received - facts.stopped) < SECOND:
        return written  # nothing was written between the end of its containers and this
    return min(written, (facts.stopped - _APART, 0))


def _waiting(pod: Any) -> Iterable[tuple[str, At, At | None]]:
    moments = pod.moments
    done = next((at for at, each in enumerate(moments) if each.facts.phase == "Succeeded"), None)
    if done is None or let_go(moments[done]) or moments[done].facts.deleting:
        return  # a Pod that is being deleted counts as failed
    gone = next((at for at in range(done, len(moments)) if let_go(moments[at])), len(moments))
    over = moments[gone] if gone < len(moments) else None
    known = _after(moments[gone - 1])
    yield "waiting", moments[done].at, max(known, over.at) if over and _lets_go(moments[gone - 1], over) else known


def _lets_go(before: Any, after: Any) -> bool:
    """Return whether `after` is the removal of the finalizer itself, and not a later line.

    The removal is a write to the Pod itself and not its deletion. In a watch it is the only change of such a Pod that
    leaves no time in managedFields.
    """
    if after.change is not Change.MODIFIED or after.facts.deleting:
        return False
    if after.actor:
        return not after.action
    alone = replace(before.facts, finalizers=after.facts.finalizers) == after.facts
    one, other = before.entry, after.entry
    traceless = one.clock is other.clock is Clock.OBJECT and one.received == other.received
    # Within a second, the same client may have written once more after a removal whose line was lost.
    return alone and traceless and one.user_agent == other.user_agent and after.time >= other.received + SECOND


def _left(moment: Any, job: str) -> bool:
    """Return whether the Pod is not active any more, or does not belong to the Job with this UID any more."""
    facts, entry = moment.facts, moment.entry
    if facts.deleting or facts.phase in TERMINAL or entry.change is Change.DELETED:
        return True
    return entry.facts is not None and (entry.owner is None or entry.owner.uid != job)


def _after(moment: Any) -> At:
    """Return the place in commit order right after a moment."""
    time, revision = moment.at
    return time, revision + 1
