"""Pure: what a Job's Pod is to its Job at each time of its life: active, ended, waiting to be counted."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from timeline.core.entries import Change, Clock
from timeline.core.order import SECOND, At

TRACKING = "batch.kubernetes.io/job-tracking"  # the finalizer by which a Job holds its Pods
TERMINAL = {"Succeeded", "Failed"}  # phases
_APART = 2 * SECOND  # by which clocks of API servers and nodes may differ unnoticed, microseconds


def let_go(moment: Any) -> bool:
    """Whether nothing holds the Pod for its Job any more."""
    return moment.change is Change.DELETED or TRACKING not in moment.facts.finalizers


def spells(pod: Any) -> Iterable[tuple[str, At, At | None]]:
    """Of a Job's Pod. A lost line shortens what is sure, and never lengthens it.

    active: surely neither finished nor asked to end. open: not known to be either. ended: from then on. waiting:
    succeeded, and surely held by its Job, which has not counted it.
    """
    if pod.owner and (pod.owner.group, pod.owner.kind) == ("batch", "Job"):
        yield from _activity(pod)
        yield from _waiting(pod)


def _activity(pod: Any) -> Iterable[tuple[str, At, At | None]]:
    moments = pod.moments
    start = next(at for at, each in enumerate(moments) if each.entry.owner)  # an adopted one had none before
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
        limit = known  # it ended by a line that was lost
    yield "open", moments[start].at, limit
    told = _told_end(over) if over else None
    yield "active", moments[start].at, known if told is None else max(known, told)


def _told_end(over: Any) -> At | None:
    """Until when a Pod was surely active, as told by the change after which it is not active; None where nothing tells.

    Lines before that change may be lost, so the Pod may have ended earlier than it was written. The state itself tells
    when the deletion was requested, or when the last container stopped.
    """
    facts = over.facts
    written: At = over.at
    if facts.deleting:  # it had not finished when it was asked to end
        told = facts.asked and not facts.terminal and not facts.at_once
        return min(written, (facts.asked - _APART, 0)) if told else None
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
        return  # one that is being deleted is counted as failed
    gone = next((at for at in range(done, len(moments)) if let_go(moments[at])), len(moments))
    over = moments[gone] if gone < len(moments) else None
    known = _after(moments[gone - 1])
    yield "waiting", moments[done].at, max(known, over.at) if over and _lets_go(moments[gone - 1], over) else known


def _lets_go(before: Any, after: Any) -> bool:
    """Whether this is the removal of the finalizer, not a line after it: by somebody, to the Pod itself, and not its
    deletion. In a watch it leaves no time among the managedFields; every other change of such a Pod does."""
    if after.change is not Change.MODIFIED or after.facts.deleting:
        return False
    if after.actor:
        return not after.action
    alone = replace(before.facts, finalizers=after.facts.finalizers) == after.facts
    one, other = before.entry, after.entry
    traceless = one.clock is other.clock is Clock.OBJECT and one.received == other.received
    # Within the second of the last write, the same client may have written once more, after a removal that was lost.
    return alone and traceless and one.user_agent == other.user_agent and after.time >= other.received + SECOND


def _left(moment: Any, job: str) -> bool:
    """Whether the Pod is not active, or not of the Job with this UID any more."""
    facts, entry = moment.facts, moment.entry
    if facts.deleting or facts.phase in TERMINAL or entry.change is Change.DELETED:
        return True
    return entry.facts is not None and (entry.owner is None or entry.owner.uid != job)


def _after(moment: Any) -> At:
    time, revision = moment.at
    return time, revision + 1
