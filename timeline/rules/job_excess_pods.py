"""Pods that a Job has too many.

## What it sees

A Pod that its Job created after it was Complete or Failed; or when as many Pods had succeeded as `completions` asks
for; or while more Pods were active than `parallelism` allows. The Pod is the one too many.

## Why it matters

The work is done twice, or by more workers at a time than were asked for. The Job controller decides from a cache: one
that has not seen yet what the controller itself wrote lets it start over (kubernetes#130103).

## Proof

The creation of the Pod, and the Job's state before it, ordered by their revisions. Of what had succeeded only the
Job's own count is taken, with the Pods that it lists and those that it still holds by its finalizer. Of what was
active, only Pods that a later line shows active still, or ending, are taken, and the Job's generation shows that no
other `parallelism` was in force; where that is open the finding is inconclusive. Where one `parallelism` was in force
all the while, the revisions of Pods alone tell how many there were, also where those of Jobs cannot be compared; the
finding is then as sure as the times that tell so. The excess Pod ran (error), or never did (warning).

## Looks alike but is benign

A retry within `backoffLimit`; the replacement of a Pod that was evicted, deleted, preempted or suspended, which comes
as soon as the old one is asked to end; a Job resumed; one without `completions`; a `parallelism` made smaller, to
which the controller takes a while to hold; an elastic Indexed Job; a Job re-created under its name; a Pod that it
adopted or let go; Pods known only from a list; a Pod created before the Job was Complete and logged after it. What a
Job of another controller (`spec.managedBy`) counts as succeeded is its own affair.

## What to do

Upgrade Kubernetes: 1.34 repairs the case of the issue, 1.36 makes controllers wait for their own writes (KEP-5647).
Make the work idempotent, or let it take a lock.
"""

from collections.abc import Iterator

from timeline.history.lifelines import Track
from timeline.history.world import World
from timeline.judging.advice import kubectl
from timeline.judging.findings import Effect, Finding, Proof, occurrence
from timeline.judging.job_limits import after_the_end, beyond_completions, beyond_parallelism
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import between

NOTICE = setting("job-excess-pods", "notice", 30, "s", "How long a Job may take to act on a smaller parallelism.")


@rule("job-excess-pods", judges=("Pod",), needs=("Pod", "Job"))
def judge(pod: Track, world: World) -> Iterator[Finding]:
    born, job = pod.created, world.owner_of(pod)
    if born is None or job is None or job.name[:2] != ("batch", "Job"):
        return
    if born.entry.owner is None:
        return  # the Job adopted the Pod later
    excess = (
        after_the_end(job, born)
        or beyond_completions(job, born, world)
        or beyond_parallelism(job, born, NOTICE.microseconds, world)
    )
    if excess is None:
        return
    ran = any(moment.facts.started or moment.facts.phase in {"Running", "Succeeded"} for moment in pod.moments)
    late = between(excess.since, born) if excess.late else None
    created = f"{late} {excess.words}" if excess.words.startswith("after") else excess.words
    once = occurrence(
        Proof(excess.role, job.ref, excess.since),
        Proof("Pod created", pod.ref, born),
        first=None if excess.late else born.time,
        headline=f"{{subjects}} created {excess.words}",
        plural="Pods",
        why=excess.why,
        effect=(Effect.OBSERVED, "{names} ran: work was done that nobody asked for")
        if ran
        else (Effect.POSSIBLE, "{names} was not seen to run"),
        arrow="one Pod too many",
        interval=late,
    )
    yield Finding(
        rule="job-excess-pods",
        subject=pod.ref,
        other=job.ref,
        verdict=excess.verdict,
        summary=f"Pod {pod.ref.name} was created {created}",
        occurrences=(once,),
        measured=once if excess.late else None,
        advice=_advice(job),
    )


def _advice(job: Track) -> tuple[str, ...]:
    idempotent = (
        "Prevent: make the work idempotent, or let each run take a lock: a Job promises at least once, not once."
    )
    verify = (
        f"Verify: {kubectl(job.ref.namespace, 'get pods -l job-name={}', job.ref.name)} shows no more than it allows."
    )
    if job.last.facts.foreign:
        return ("Stop: look into the controller that spec.managedBy names: it created the Pod.", idempotent, verify)
    return (
        "Prevent: upgrade the control plane: Kubernetes 1.34 repairs kubernetes#130103, 1.36 the cause of its kind "
        "(KEP-5647).",
        idempotent,
        verify,
    )
