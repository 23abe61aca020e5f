"""A Job's Pod let go before the Job had counted it.

## What it sees

A Pod had succeeded or failed and lost its finalizer `batch.kubernetes.io/job-tracking`, and its Job had not listed it
in `status.uncountedTerminatedPods` before; nor, for an Indexed Job, its index in `completedIndexes` or
`failedIndexes`.

## Why it matters

The finalizer holds a Pod until the Job's status has it: first the list, then the finalizer, then the counter. A Pod
let go too soon may be deleted without a trace, and the Job runs its work once more (kubernetes#130103).

## Proof

The Pod's two states on either side of the removal, and the Job's before and after it. What a Job lists stays in its
list until it goes into the counters. So if the later state counts no more Pods than were seen listed, and not this
one, it was not listed, whatever lines are missing; nor if each write of the Job in between names the revision that it
replaces. Otherwise that no write of the Job is known to be missing makes it likely, and the finding is inconclusive.

## Looks alike but is benign

A running Pod that loses the finalizer because its Job is suspended, scaled down, finished or deleted. A Job that is
deleted or suspended, or whose end is decided: what is left is cleared away. A Pod released from its Job. A failure
that the Job's `podFailurePolicy` ignores. An index beyond `completions`, as an elastic Job leaves behind. A Job of
another controller (`spec.managedBy`). A Job or a Pod first seen when the Pod had ended already.

## What to do

See whether the Job ran the Pod's work again, and whether that did harm. Find out who removed the finalizer: the actor
of the proof. If it was the Job controller, upgrade Kubernetes: 1.34 repairs kubernetes#130103, 1.36 makes controllers
wait for their own writes (KEP-5647).
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from timeline.core.entries import FOREVER, Change
from timeline.core.job_pods import let_go
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Track, public_uid
from timeline.history.world import World
from timeline.judging.advice import kubectl
from timeline.judging.findings import Effect, Finding, Occurrence, Proof
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict, order_of, why
from timeline.kinds.job import JobFacts


class Release(NamedTuple):
    """A Pod that had ended loses the finalizer."""

    ended: Moment  # the first that shows it terminal
    held: Moment  # the last with the finalizer
    gone: Moment  # the first without


class Books(NamedTuple):
    """What the Job's status told around it."""

    before: list[Moment]  # from the last state before the Pod ended to the last write before the finalizer was gone
    after: list[Moment]  # the writes since, as far as the first that tells a state

    @property
    def told(self) -> list[JobFacts]:
        return [moment.facts for moment in (*self.before, *self.after) if moment.entry.facts]

    @property
    def next(self) -> JobFacts | None:
        """The state after it, if the Job lived on."""
        last = self.after[-1] if self.after else None
        living = last and last.entry.facts and last.change is not Change.DELETED and not last.facts.deleting
        return last.facts if last and living else None


@rule("job-finalizer-before-count", judges=("Pod",), needs=("Pod", "Job"))
def judge(pod: Track, world: World) -> Iterator[Finding]:
    job = world.owner_of(pod)
    release = _release(pod) if job and job.name[:2] == ("batch", "Job") else None
    if job is None or release is None or not public_uid(pod.ref):
        return
    books = _books(job, release)
    if not books.before or _excused(books, release) or any(_counted(pod, each.facts) for each in books.before):
        return
    verdict, reason = _proof(pod, job, books, release, world)
    if not reason:
        return
    outcome = release.ended.facts.phase
    proof = [Proof(f"Pod {outcome}", pod.ref, release.ended), Proof("finalizer removed", pod.ref, release.gone)]
    if books.next:
        proof.append(Proof("Job afterwards", job.ref, books.after[-1]))
    yield Finding(
        rule="job-finalizer-before-count",
        subject=pod.ref,
        other=job.ref,
        verdict=verdict,
        summary=f"Pod {pod.ref.name} {outcome.lower()} and was let go before Job {job.ref.name} had counted it",
        occurrences=(
            Occurrence(
                first=release.ended.time,
                last=release.gone.time,
                headline=f"{{subjects}} {outcome.lower()} and let go before Job {job.ref.name} had counted them",
                plural="Pods",
                why=reason,
                effect=Effect.OBSERVED,
                effect_text=_EFFECTS[outcome],
                proof=tuple(proof),
            ),
        ),
        advice=(
            f"Stop: find out who removed the finalizer: {release.gone.actor or 'the recording names no writer'}.",
            f"Clean: see whether Job {job.ref.name} ran the work again, and whether that did harm.",
            "Prevent: if the Job controller removed it, upgrade: Kubernetes 1.34 repairs kubernetes#130103, 1.36 its "
            "cause (KEP-5647).",
            f"Verify: {kubectl(job.ref.namespace, _STATUS, job.ref.name)} counts each of its Pods.",
        ),
        delay=None,
    )


_STATUS = "get job {} -o jsonpath='{{.status}}'"
_EFFECTS = {
    "Succeeded": "the Job could not know that {names} succeeded, and may run the work again",
    "Failed": "the Job could not know that {names} failed, and may retry beyond backoffLimit",
}


def _release(pod: Track) -> Release | None:
    moments = pod.moments
    end = next((at for at, moment in enumerate(moments) if moment.facts.terminal), None)
    if end is None or let_go(moments[end]):
        return None
    gone = next((at for at in range(end, len(moments)) if let_go(moments[at])), None)
    return None if gone is None else Release(moments[end], moments[gone - 1], moments[gone])


def _books(job: Track, release: Release) -> Books:
    moments, gone = job.moments, release.gone
    last = gone.at if gone.stamp.resource_version else (gone.stamp.staged, FOREVER)
    first, since = (job.count_until(at) for at in (release.ended.at, last))
    while since < len(moments) and order_of(gone, moments[since]) in (None, Verdict.INCONCLUSIVE):
        since += 1  # nothing tells that it came after the removal
    while first > 0 and moments[first - 1].entry.facts is None:
        first -= 1
    if first == 0:
        return Books([], [])
    later = next((at for at in range(since, len(moments)) if moments[at].entry.facts), len(moments))
    return Books(moments[first - 1 : since], moments[since : later + 1])


def _excused(books: Books, release: Release) -> bool:
    """Whether the Pod need not be counted, or was being cleared away."""
    last, gone = books.before[-1], release.gone
    if last.change is Change.DELETED or last.facts.deleting or last.facts.closing:
        return True
    if gone.entry.owner is None:
        return True  # released; or at level Metadata, where a request to delete looks like the deletion
    if any(job.foreign or job.suspend for job in books.told):
        return True
    if any(job.indexed and not 0 <= gone.facts.index < job.completions for job in books.told):
        return True
    return bool(last.facts.lenient and gone.facts.phase == "Failed")


def _counted(pod: Track, job: JobFacts) -> bool:
    return pod.ref.uid in job.uncounted or (job.indexed and job.settled(pod.last.facts.index))


def _proof(pod: Track, job: Track, books: Books, release: Release, world: World) -> tuple[Verdict, str]:
    """How sure it is that the Pod was not counted when the finalizer went, and why; "" where it is not."""
    order = order_of(release.held, release.gone)
    if order is None:
        return Verdict.INCONCLUSIVE, ""
    sure = why(order, release.held, release.gone)
    comparable = job.first.space == pod.first.space
    if comparable and books.next and not books.next.closing and _left_out(pod, books.told, release):
        return order, f"{sure} The Job's next state counts none but those that it was seen to list, and not this one."
    until = books.after[0].time if books.after else min(world.last, release.gone.time + SECOND)
    if world.strays(job, books.before[0].time, until):
        return Verdict.INCONCLUSIVE, ""
    run = list(pairwise((*books.before, *books.after)))
    if comparable and all(moment.entry.facts for moment in books.before):
        if books.next and all(after.replaces == before.entry.resource_version for before, after in run):
            return order, f"{sure} Each write of the Job names the one before it, and none before that lists the Pod."
        if world.completeness.accounts_for(books.before[0], release.gone):
            return order, f"{sure} Every revision from the Job's state to the removal is known, and none lists the Pod."
    whole = world.seen["batch", "Job"].tells_status and world.complete("batch", "Job", books.before[0].time, until)
    by_controller = release.gone.actor in ("", pod.first.actor)  # a watch may not tell who it was
    if whole and by_controller and all(world.unbroken(*each, job) for each in run):
        return Verdict.INCONCLUSIVE, "Inconclusive: no write of the Job lists the Pod, and none is known to be missing."
    return Verdict.INCONCLUSIVE, ""


def _left_out(pod: Track, told: list[JobFacts], release: Release) -> bool:
    """Whether the last state counts no Pod that the states before it were not seen to list, and not this one."""
    first, last = told[0], told[-1]
    if any(after.generation - before.generation > 1 for before, after in pairwise(told)) or _counted(pod, last):
        return False  # it may have been suspended for a while
    if last.indexed and release.ended.facts.phase == "Succeeded" and not release.held.facts.deleting:
        return True
    listed = set[str]().union(*(job.uncounted for job in told)) - first.uncounted
    return pod.ref.uid not in listed and last.recorded - first.recorded == len(listed)
