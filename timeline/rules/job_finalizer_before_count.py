"""A Job's Pod let go before the Job had counted it.

## What it sees

A Pod had succeeded or failed and lost its finalizer `batch.kubernetes.io/job-tracking`, although its Job had not listed
it in `status.uncountedTerminatedPods` before, nor, for an Indexed Job, its index in `completedIndexes` or
`failedIndexes`.

## Why it matters

The finalizer holds a Pod until the Job's status has recorded it: first the Job lists the Pod, then the finalizer is
removed, then the counter rises. A Pod that loses the finalizer too soon may be deleted without a trace, and the Job
runs its work again (kubernetes#130103).

## Proof

The Pod's two states before and after the removal, and the Job's states before and after it. A Pod stays in the Job's
list until the counters include it. So the Job had not listed the Pod, whatever lines are missing, if the later state
counts no more Pods than were seen in the list, and this Pod is not among them. The same holds if each write of the Job
in between names the revision that it replaces. If all that is known is that no write of the Job is known to be missing,
the finding is inconclusive.

## Looks alike but is benign

- A running Pod that loses the finalizer because its Job is suspended, scaled down, finished or deleted.
- A Job that is deleted or suspended, or whose end is decided: its remaining Pods are cleaned up.
- A Pod that its Job orphaned.
- A failure that the Job's `podFailurePolicy` ignores.
- An index beyond `completions`, as an elastic Job leaves behind.
- A Job of another controller (`spec.managedBy`).
- A Job or a Pod that was first seen after the Pod had ended.

## What to do

Check whether the Job ran the Pod's work again, and whether that did harm. Find out who removed the finalizer: the actor
of the proof. If it was the Job controller, upgrade Kubernetes: 1.34 fixes kubernetes#130103, and 1.36 makes controllers
wait for their own writes (KEP-5647).
"""

from collections.abc import Iterator
from itertools import pairwise

from timeline.core.actors import named, short
from timeline.core.order import SECOND
from timeline.history.lifelines import Track, public_uid
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.jobs.tracking import (
    Release,
    StatusHistory,
    is_counted,
    left_out,
    need_not_count,
    release_of,
    status_around,
)
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict, order_of, why

_STATUS = "get job {} -o jsonpath='{{.status}}'"
_EFFECTS = {
    "Succeeded": "the Job could not know that {names} succeeded, and may run the work again",
    "Failed": "the Job could not know that {names} failed, and may retry beyond backoffLimit",
}


@rule(
    "job-finalizer-before-count",
    judges=("Pod",),
    needs=(
        need(line("Pod", verbs="update delete")),
        need(line("Job", verbs="state")),
        need(line("Pod", verbs="create"), misses="Pods that had the finalizer from their creation on"),
        need(line("Pod", verbs="update"), misses="Pods that lost the finalizer and stayed"),
        need(line("Job", verbs="status"), misses="what Jobs had listed"),
        need(line("Pod", verbs="status"), misses="Pods whose end only their status shows"),
    ),
    dense="Pods whose Job is known not to have counted them only by the absence of a status",
    incident="{subjects} left {anchor} before being counted",
    harm="{count} Pods of {anchors} not counted",
)
def judge(pod: Track, world: World) -> Iterator[Finding]:
    job = world.owner_of(pod)
    release = release_of(pod) if job and job.name[:2] == ("batch", "Job") else None
    if job is None or release is None or not public_uid(pod.ref):
        return
    history = status_around(job, release)
    if not history.before or need_not_count(history, release):
        return
    if any(is_counted(pod, moment.facts) for moment in history.before):
        return
    verdict, reason = _verdict(pod, job, history, release, world)
    if not reason:
        return
    phase, released = release.ended.facts.phase, release.released
    remover = short(named(released.actor, released.user_agent))
    proof = [Proof(f"Pod {phase}", pod.ref, release.ended), Proof("finalizer removed", pod.ref, released, Part.ACT)]
    if history.next:
        proof.append(Proof("Job afterwards", job.ref, history.after[-1]))
    once = occurrence(
        *proof,
        last=released.time,
        headline=f"{{subjects}} {phase.lower()} and let go before Job {job.ref.name} had counted them",
        plural="Pods",
        why=reason,
        effect=(Effect.OBSERVED, _EFFECTS[phase]),
    )
    yield Finding(
        rule="job-finalizer-before-count",
        subject=pod.ref,
        other=job.ref,
        verdict=verdict,
        summary=f"Pod {pod.ref.name} {phase.lower()} and was let go before Job {job.ref.name} had counted it",
        occurrences=(once,),
        advice=(
            f"Look: who removed the finalizer? {remover or 'The recording names no writer'}.",
            f"Clean: see whether Job {job.ref.name} ran the work again, and whether that did harm: "
            f"{kubectl(job.ref.namespace, 'get pods -l job-name={}', job.ref.name)}.",
            "Prevent: if the Job controller removed it, upgrade: Kubernetes 1.34 repairs kubernetes#130103, 1.36 its "
            "cause (KEP-5647).",
            f"Verify: {kubectl(job.ref.namespace, _STATUS, job.ref.name)} counts each of its Pods.",
        ),
    )


def _verdict(pod: Track, job: Track, history: StatusHistory, release: Release, world: World) -> tuple[Verdict, str]:
    """Return how sure it is that the Pod was not counted when it lost the finalizer, and why; "" as the reason if the
    evidence is too weak."""
    order = order_of(release.tracked, release.released)
    if order is None:
        return Verdict.INCONCLUSIVE, ""
    sure = why(order, release.tracked, release.released)
    comparable = job.first.space == pod.first.space
    if comparable and history.next and not history.next.closing and left_out(pod, history.states, release):
        return order, f"{sure} The Job's next state counts none but those that it was seen to list, and not this one."
    until = history.after[0].time if history.after else min(world.last, release.released.time + SECOND)
    if world.strays(job, history.before[0].time, until):
        return Verdict.INCONCLUSIVE, ""
    writes = list(pairwise((*history.before, *history.after)))
    if comparable and all(moment.entry.facts for moment in history.before):
        if history.next and all(after.replaces == before.entry.resource_version for before, after in writes):
            return order, f"{sure} Each write of the Job names the one before it, and none before that lists the Pod."
        if world.completeness.accounts_for(history.before[0], release.released):
            return order, f"{sure} Every revision from the Job's state to the removal is known, and none lists the Pod."
    since = history.before[0].time
    whole = world.complete("batch", "Job", since, until, job.ref.namespace)
    whole = whole and world.seen["batch", "Job"].shows_statuses
    # A watch may name neither writer.
    by_controller = "" in (release.released.actor, pod.first.actor) or release.released.actor == pod.first.actor
    if whole and by_controller and all(world.unbroken(*each, job) for each in writes):
        return Verdict.INCONCLUSIVE, "Inconclusive: no write of the Job lists the Pod, and none is known to be missing."
    return Verdict.INCONCLUSIVE, ""
