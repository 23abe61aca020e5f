"""A Pod that its Job counted twice.

## What it sees

A Pod's UID was in `status.uncountedTerminatedPods`, left it while the counters rose, and came back; or the Job's
`succeeded` is higher than the number of its Pods that can have succeeded.

## Why it matters

The Job is Complete although work is undone, or Failed although retries are left. The list exists so that each Pod is
counted once, whatever fails in between. A controller that acts on an old state of its own status breaks this.

## Proof

Three states of the Job in the order of their revisions: listed, counted, listed again. Missing lines cannot cause this
pattern. That the counter is too high is reported only if the Job's creation is in the log, all Pods that it ever listed
are known, and no write of a Pod is known to be missing.

## Looks alike but is benign

- A UID that stays in the list over several writes, or moves from one list to the other.
- Several Pods that one write counts.
- Pods that were counted before the log begins, or that have been deleted since.
- A Job that was re-created under its name.
- An Indexed Job, which counts indexes.
- A Job of another controller (`spec.managedBy`), which may count Pods of another cluster.

## What to do

Compare what the Job did with what it should have done, and run what is missing. Upgrade Kubernetes: 1.34 fixes
kubernetes#130103, and 1.36 makes controllers wait for their own writes (KEP-5647). Nothing but the Job controller may
write the Job's status.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict, why

_EFFECT = Effect.OBSERVED, "{names} counts more Pods than ended: work may be left undone, or retries unused"


class Return(NamedTuple):
    """The three states of a Job that show that it listed a Pod's UID again after it had counted it."""

    listed: Moment
    counted: Moment
    again: Moment


@rule(
    "job-double-count",
    judges=("Job",),
    needs=(
        need(line("Job", verbs="status")),
        need(line("Job", verbs="create"), misses="counters that are higher than the number of Pods that ended"),
        need(line("Pod", verbs="create"), misses="counters that are higher than the number of Pods that ended"),
        need(line("Pod", verbs="status"), misses="counters that are higher than the number of Pods that ended"),
    ),
    incident="{subjects} counted more Pods than ended",
    harm="{count} Pods counted twice in {anchors}",
)
def judge(job: Track, world: World) -> Iterator[Finding]:
    known = [job.first, job.last] if job.first.entry.facts and job.last.entry.facts else []
    known = known or [moment for moment in job.moments if moment.entry.facts]
    if not known or known[-1].facts.foreign:
        return
    grown = known[-1].facts.recorded - known[0].facts.recorded
    if grown <= world.tally(job.ref.uid, "ended", job.last.at):
        return  # otherwise, all states of a Job would be compared whenever one of its Pods changes
    states = [moment for moment in job.moments if moment.entry.facts]
    returns: dict[ObjectRef | None, list[Return]] = defaultdict(list)
    for uid, each in _returns(states):
        pod = world.of_uid(uid)
        returns[pod.ref if pod else None].append(each)
    for ref, found in returns.items():
        yield _counted_twice(job, ref, found)
    if not returns:
        yield from _counted_too_many(job, states, world)


def _returns(states: list[Moment]) -> Iterator[tuple[str, Return]]:
    """Yield each UID that was counted and then listed again. UIDs were counted if they left the list in a write that
    increased the counters by at least their number."""
    left: dict[str, tuple[Moment, Moment]] = {}
    before = states[0]
    for moment in states[1:]:
        gone = before.facts.uncounted - moment.facts.uncounted
        if gone and _count(moment) - _count(before) >= len(gone):
            left.update((uid, (before, moment)) for uid in gone)
        for uid in sorted(moment.facts.uncounted - before.facts.uncounted):
            if uid in left:
                yield uid, Return(*left.pop(uid), moment)
        before = moment


def _count(moment: Moment) -> int:
    return int(moment.facts.succeeded + moment.facts.failed)


def _counted_twice(job: Track, pod: ObjectRef | None, found: list[Return]) -> Finding:
    name = f"Pod {pod.name}" if pod else "a Pod"
    summary = f"Job {job.ref.name} listed {name} for counting again after it had counted it"
    return Finding(
        rule="job-double-count",
        subject=job.ref,
        other=pod,
        verdict=Verdict.EXACT,
        summary=summary,
        occurrences=tuple(
            occurrence(
                Proof("Pod listed", job.ref, each.listed),
                Proof("counted", job.ref, each.counted, Part.ACT),
                Proof("listed again", job.ref, each.again, Part.ACT),
                headline=summary,
                plural="Jobs",
                why=why(Verdict.EXACT, each.listed, each.again),
                effect=_EFFECT,
                arrow="counted twice",
            )
            for each in found
        ),
        advice=_advice(job),
    )


def _counted_too_many(job: Track, states: list[Moment], world: World) -> Iterator[Finding]:
    last = states[-1]
    if job.created is None:
        return
    if any(world.of_uid(uid) is None for moment in states for uid in moment.facts.uncounted):
        return
    pods = (each for each in world.children(job) if (each.ref.group, each.ref.kind) == ("", "Pod"))
    possible = sum(_may_have_succeeded(pod, last) for pod in pods)
    if last.facts.succeeded <= possible or not world.complete("", "Pod", job.first.time, last.time, job.ref.namespace):
        return
    counted = next(moment for moment in states if moment.facts.succeeded > possible)
    summary = f"Job {job.ref.name} counts {last.facts.succeeded} succeeded Pods, and only {possible} can have succeeded"
    once = occurrence(
        Proof("counter too high", job.ref, counted, Part.ACT),
        headline=summary,
        plural="Jobs",
        why="Inconclusive: no write of a Pod is known to be missing, and these are all of the Job's.",
        effect=_EFFECT,
    )
    yield Finding(
        rule="job-double-count",
        subject=job.ref,
        verdict=Verdict.INCONCLUSIVE,
        summary=summary,
        occurrences=(once,),
        advice=_advice(job),
        count=last.facts.succeeded - possible,
    )


def _may_have_succeeded(pod: Track, counted: Moment) -> bool:
    phases = {moment.facts.phase for moment in pod.moments}
    return "Succeeded" in phases or not ("Failed" in phases or pod.last.at > counted.at)


def _advice(job: Track) -> tuple[str, ...]:
    pods = kubectl(job.ref.namespace, "get pods -l job-name={}", job.ref.name)
    status = kubectl(job.ref.namespace, "get job {} -o jsonpath='{{.status}}'", job.ref.name)
    return (
        f"Look: which of its Pods did their work? {pods} shows those that are left.",
        f"Clean: compare what Job {job.ref.name} did with what it should have done, and run what is missing.",
        "Prevent: let nothing but the Job controller write the Job's status.",
        "Upgrade the control plane: Kubernetes 1.34 repairs kubernetes#130103, 1.36 the cause of its kind (KEP-5647).",
        f"Verify: {status} counts each of its Pods once.",
    )
