"""Find out whether a Job had counted a Pod before the Job's finalizer was removed from the Pod. It does no I/O."""

from itertools import pairwise
from typing import NamedTuple

from timeline.core.entries import FOREVER, Change
from timeline.core.job_pods import is_released
from timeline.history.lifelines import Moment, Track
from timeline.judging.verdicts import Verdict, order_of
from timeline.kinds.job import JobFacts


class Release(NamedTuple):
    """The moments of a Pod that finished, and whose finalizer was then removed."""

    ended: Moment  # the first moment that shows it Succeeded or Failed
    tracked: Moment  # the last moment with the finalizer
    released: Moment  # the first moment without the finalizer


class StatusHistory(NamedTuple):
    """The writes of a Job around the time when one of its Pods lost its finalizer (the release)."""

    before: list[Moment]  # from the last state before the Pod ended to the last write before the release
    after: list[Moment]  # the writes after the release, up to the first that shows the Job's state

    @property
    def states(self) -> list[JobFacts]:
        return [moment.facts for moment in (*self.before, *self.after) if moment.entry.facts]

    @property
    def next(self) -> JobFacts | None:
        """Return the first state after the release; None if it is not known, or the Job was being deleted by then."""
        last = self.after[-1] if self.after else None
        living = last and last.entry.facts and last.change is not Change.DELETED and not last.facts.deleting
        return last.facts if last and living else None


def release_of(pod: Track) -> Release | None:
    """Return the release of a Pod; None if it was not observed that the Pod finished and then lost its finalizer."""
    moments = pod.moments
    end = next((at for at, moment in enumerate(moments) if moment.facts.terminal), None)
    if end is None or is_released(moments[end]):
        return None
    gone = next((at for at in range(end, len(moments)) if is_released(moments[at])), None)
    return None if gone is None else Release(moments[end], moments[gone - 1], moments[gone])


def status_around(job: Track, release: Release) -> StatusHistory:
    """Return the writes of a Job around a release; empty if no state of the Job before it is known."""
    moments, released = job.moments, release.released
    last = released.at if released.stamp.resource_version else (released.stamp.staged, FOREVER)
    first, since = (job.count_until(at) for at in (release.ended.at, last))
    while since < len(moments) and order_of(released, moments[since]) in (None, Verdict.INCONCLUSIVE):
        since += 1  # it is not known that this write came after the release
    while first > 0 and moments[first - 1].entry.facts is None:
        first -= 1
    if first == 0:
        return StatusHistory([], [])
    later = next((at for at in range(since, len(moments)) if moments[at].entry.facts), len(moments))
    return StatusHistory(moments[first - 1 : since], moments[since : later + 1])


def need_not_count(history: StatusHistory, release: Release) -> bool:
    """Return whether there is a harmless reason for which the Job need not count the Pod."""
    last, released = history.before[-1], release.released
    if last.change is Change.DELETED or last.facts.deleting or last.facts.closing:
        return True
    if released.entry.owner is None:
        return True  # orphaned; or at level Metadata, at which a request to delete looks like the deletion
    if any(job.foreign or job.suspend for job in history.states):
        return True
    if any(job.indexed and not 0 <= released.facts.index < job.completions for job in history.states):
        return True
    return bool(last.facts.lenient and released.facts.phase == "Failed")


def is_counted(pod: Track, job: JobFacts) -> bool:
    """Return whether a state of a Job lists the Pod, or counts its index."""
    return pod.ref.uid in job.uncounted or (job.indexed and job.settled(pod.last.facts.index))


def left_out(pod: Track, states: list[JobFacts], release: Release) -> bool:
    """Return whether the last state of a Job surely does not count this Pod: all Pods that it counts were listed by the
    states before, and this one was not."""
    first, last = states[0], states[-1]
    if any(after.generation - before.generation > 1 for before, after in pairwise(states)) or is_counted(pod, last):
        return False  # the Job may have been suspended for a while
    if last.indexed and release.ended.facts.phase == "Succeeded" and not release.tracked.facts.deleting:
        return True
    listed = set[str]().union(*(job.uncounted for job in states)) - first.uncounted
    return pod.ref.uid not in listed and last.recorded - first.recorded == len(listed)
