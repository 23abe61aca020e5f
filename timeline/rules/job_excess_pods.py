"""Pods that a Job has too many.

## What it sees

A Pod that its Job created after the Job was Complete or Failed; or when as many Pods had succeeded as `completions`
asks for; or while as many Pods were active as `parallelism` allows. The finding is about that Pod.

## Why it matters

The work is done twice, or by more workers at a time than were asked for. The Job controller decides by its cache. If
the cache does not show yet what the controller itself wrote, the controller starts again (kubernetes#130103).

## Proof

The creation of the Pod and the Job's state before it, ordered by their revisions. Only Pods that the Job itself counts
or lists as succeeded count as such, and Pods that it still holds by its finalizer. Only Pods that a later line shows
active, or ending, count as active, and the Job's generation must show that no other `parallelism` was in force;
otherwise the finding is inconclusive. If one `parallelism` was in force all the time, the revisions of Pods alone tell
how many there were, even if those of Jobs cannot be compared with them. The finding is then as sure as the times of the
Job. It is an error if the excess Pod ran, otherwise a warning.

## Looks alike but is benign

- A retry within `backoffLimit`.
- The replacement of a Pod that was evicted, deleted, preempted or suspended, which comes as soon as the old Pod is
  asked to end.
- A Job that was resumed, or one without `completions`.
- A `parallelism` that was made smaller: the controller takes a while to act on it.
- An elastic Indexed Job, or a Job that was re-created under its name.
- A Pod that the Job adopted or orphaned.
- Pods that only a list shows.
- A Pod that was created before the Job was Complete and logged after it.
- What a Job of another controller (`spec.managedBy`) counts as succeeded: that is not judged.

## What to do

Look at what the Pod did, and delete it if it still runs and the Job needs it no more. Then upgrade Kubernetes: 1.34
fixes the case of the issue, and 1.36 makes controllers wait for their own writes (KEP-5647). Make the work idempotent,
or let it take a lock.
"""

from collections.abc import Iterator

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.jobs.limits import after_the_end, beyond_completions, beyond_parallelism
from timeline.judging.leases.lost import late_child
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import between

NOTICE = setting("job-excess-pods", "notice", 30, "s", "How long a Job may take to act on a smaller parallelism.")


@rule(
    "job-excess-pods",
    judges=("Pod",),
    needs=(
        need(line("Pod", verbs="create")),
        need(line("Job", verbs="state")),
        need(line("Job", verbs="create"), misses="Jobs whose first numbers of Pods are not known"),
        need(line("Job", verbs="status"), misses="Pods that came when their Job had finished, or had its completions"),
        need(line("Pod", verbs="update status"), misses="Pods beyond the parallelism or the completions of their Job"),
        need(line("Pod", verbs="update"), misses="Pods that their Job holds by its finalizer"),
        need(line("Pod", verbs="status"), misses="Pods that had ended"),
    ),
    incident="{anchor} got {subjects} more than it asked for",
    harm="{count} Pods too many in {anchors}",
)
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
    filler = None if excess.late else late_child(job, "active", born.at, world)
    once = occurrence(
        Proof(excess.role, job.ref, excess.since),
        Proof("Pod created", pod.ref, born, Part.ACT),
        first=None if excess.late else born.time,
        headline=f"{{subjects}} created {excess.words}",
        plural="Pods",
        why=excess.why,
        effect=(Effect.OBSERVED, "{names} ran: work was done that nobody asked for")
        if ran
        else (Effect.POSSIBLE, "{names} was not seen to run"),
        acts=(Proof("created by a process that had lost its Lease", filler[0].ref, filler[1], Part.ACT),)
        if filler
        else (),
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
        advice=_advice(job, pod.ref),
    )


def _advice(job: Track, pod: ObjectRef) -> tuple[str, ...]:
    see = kubectl(job.ref.namespace, "describe pod {}", pod.name)
    clean = (
        f"Clean: if it still runs and the Job needs it no more, {kubectl(pod.namespace, 'delete pod {}', pod.name)}. "
        "Undo what was done twice."
    )
    idempotent = (
        "Prevent: make the work idempotent, or let each run take a lock: a Job promises at least once, not once."
    )
    verify = (
        f"Verify: {kubectl(job.ref.namespace, 'get pods -l job-name={}', job.ref.name)} shows no more than it allows."
    )
    if job.last.facts.foreign:
        return (
            "Look: the controller that spec.managedBy names created the Pod. What does its log say?",
            f"Does the Pod still run, and what did it do? {see}",
            clean,
            idempotent,
            verify,
        )
    return (
        f"Look: does the Pod still run, and what did it do? {see}",
        clean,
        "Prevent: upgrade the control plane: Kubernetes 1.34 repairs kubernetes#130103, 1.36 the cause of its kind "
        "(KEP-5647).",
        idempotent,
        verify,
    )
