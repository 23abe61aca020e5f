"""Divide the life of a Job's Pod into spells: active, ended, or waiting to be counted by the Job.

A spell is a named stretch of time. This module does no I/O. A `moment` is a `Moment` and a `pod` is a `Track` of
timeline/history; they are typed as Any because this wing may not import that one.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from timeline.core.entries import Change, Clock
from timeline.core.order import SECOND, At

TRACKING = "batch.kubernetes.io/job-tracking"  # the finalizer by which a Job keeps its Pods until it has counted them
TERMINAL = {"Succeeded", "Failed"}  # phases
_APART = 2 * SECOND  # µs by which the clocks of API servers and nodes may differ unnoticed


def is_released(moment: Any) -> bool:
    """Return whether the Pod is deleted, or no longer has the finalizer by which its Job keeps it."""
    return moment.change is Change.DELETED or TRACKING not in moment.facts.finalizers


def spells(pod: Any) -> Iterable[tuple[str, At, At | None]]:
    """Yield the spells of a Job's Pod, each as (name, beginning, end), where the end is None if the spell goes on.

    - active: the Pod has surely neither finished nor been deleted.
    - open: the Pod is not known to have finished or to have been deleted.
    - ended: the Pod is known to have finished or to have been deleted.
    - waiting: the Pod has succeeded, and its Job surely has not counted it yet.

    Here a Pod counts as deleted from the request to delete it. If lines of a log were lost, the spells that say
    "surely" become shorter, and never longer. A Pod that does not belong to a Job has no spells.
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
        limit = known  # the write of the status that ended it was lost: this is a later write
    yield "open", moments[start].at, limit
    tracked = not any(each.entry.facts and TRACKING not in each.facts.finalizers for each in moments[start:end])
    sure = _surely_active_until(over, tracked) if over else None
    yield "active", moments[start].at, known if sure is None else max(known, sure)


def _surely_active_until(over: Any, tracked: bool) -> At | None:
    """Return until when a Pod was surely active; None if nothing shows that.

    `tracked` says whether its Job keeps it by a finalizer until it has counted it. Before Kubernetes 1.26, Jobs did not
    have to.

    `over` is the first known change after which the Pod is not active. Lines before it may be lost, so the Pod may
    have ended earlier. The state after the change shows when the deletion was requested, or when the last container
    stopped.
    """
    facts = over.facts
    written: At = over.at
    if facts.deleting:  # it had not finished when its deletion was requested
        shown = facts.asked and not facts.terminal and not facts.at_once
        return min(written, (facts.asked - _APART, 0)) if shown else None
    reported = over.action == "status" or (over.user_agent == "kubelet" and over.change is Change.MODIFIED)
    if not reported or not facts.terminal or (tracked and TRACKING not in facts.finalizers):
        return None
    if not facts.stopped or abs(over.entry.received - facts.stopped) < SECOND:
        return written  # no change can be missing between the end of its containers and this one
    return min(written, (facts.stopped - _APART, 0))


def _waiting(pod: Any) -> Iterable[tuple[str, At, At | None]]:
    moments = pod.moments
    done = next((at for at, each in enumerate(moments) if each.facts.phase == "Succeeded"), None)
    if done is None or is_released(moments[done]) or moments[done].facts.deleting:
        return  # a Pod that is being deleted counts as failed
    gone = next((at for at in range(done, len(moments)) if is_released(moments[at])), len(moments))
    over = moments[gone] if gone < len(moments) else None
    known = _after(moments[gone - 1])
    yield "waiting", moments[done].at, max(known, over.at) if over and _lets_go(moments[gone - 1], over) else known


def _lets_go(before: Any, after: Any) -> bool:
    """Return whether the change `after` removed the finalizer itself, rather than being a later change of the Pod.

    The removal writes to the Pod, neither to its status nor as part of its deletion. In a watch it is the only change
    of such a Pod that leaves no time in managedFields.
    """
    if after.change is not Change.MODIFIED or after.facts.deleting:
        return False
    if after.actor:
        return not after.action
    alone = replace(before.facts, finalizers=after.facts.finalizers) == after.facts
    one, other = before.entry, after.entry
    traceless = one.clock is other.clock is Clock.OBJECT and one.received == other.received
    # Within a second, the same client may have written once more after a removal whose line was lost.
    unsigned = other.user_agent in ("", one.user_agent)
    return alone and traceless and unsigned and after.time >= other.received + SECOND


def _left(moment: Any, job: str) -> bool:
    """Return whether the Pod is no longer active, or no longer belongs to the Job with this UID."""
    facts, entry = moment.facts, moment.entry
    if facts.deleting or facts.phase in TERMINAL or entry.change is Change.DELETED:
        return True
    return entry.facts is not None and (entry.owner is None or entry.owner.uid != job)


def _after(moment: Any) -> At:
    """Return the place in commit order right after a moment."""
    time, revision = moment.at
    return time, revision + 1
