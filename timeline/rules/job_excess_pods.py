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

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Track
from timeline.history.world import World
from timeline.judging.advice import kubectl
from timeline.judging.findings import Effect, Finding, Occurrence, Proof
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, order_of, why

NOTICE = setting("job-excess-pods", "notice", 30, "s", "How long a Job may take to act on a smaller parallelism.")

_SURE = (Verdict.EXACT, Verdict.BOUNDED)


class Excess(NamedTuple):
    """Why a Pod is one too many."""

    since: Moment  # the Job's, from which on it was
    verdict: Verdict
    role: str
    words: str  # after "Pod a was created "
    why: str
    late: bool = True  # it came after that moment, and how long after tells something


@rule("job-excess-pods", judges=("Pod",), needs=("Pod", "Job"))
def judge(pod: Track, world: World) -> Iterator[Finding]:
    born, job = pod.created, world.owner_of(pod)
    if born is None or job is None or job.name[:2] != ("batch", "Job"):
        return
    if born.entry.owner is None:
        return  # adopted later on
    excess = _ended(job, born) or _succeeded(job, born, world) or _active(job, born, world)
    if excess is None:
        return
    ran = any(moment.facts.started or moment.facts.phase in {"Running", "Succeeded"} for moment in pod.moments)
    since = excess.since if excess.late else born
    delay = max(0, born.time - since.time)
    known = between(since, born) if excess.late else None
    told = f"{known} {excess.words}" if excess.words.startswith("after") else excess.words
    yield Finding(
        rule="job-excess-pods",
        subject=pod.ref,
        other=job.ref,
        verdict=excess.verdict,
        summary=f"Pod {pod.ref.name} was created {told}",
        occurrences=(
            Occurrence(
                first=since.time,
                last=since.time + delay,
                headline=f"{{subjects}} created {excess.words}",
                plural="Pods",
                why=excess.why,
                effect=Effect.OBSERVED if ran else Effect.POSSIBLE,
                effect_text="{names} ran: work was done that nobody asked for"
                if ran
                else "{names} was not seen to run",
                proof=(Proof(excess.role, job.ref, excess.since), Proof("Pod created", pod.ref, born)),
                arrow="one Pod too many",
                interval=known,
            ),
        ),
        advice=_advice(job),
        delay=delay if excess.late else None,
        interval=known,
    )


def _ended(job: Track, born: Moment) -> Excess | None:
    """It came after its Job was Complete or Failed, which a Job is for good."""
    at = bisect_left(job.moments, True, key=lambda moment: bool(moment.facts.finished))
    if at == len(job.moments):
        return None
    end = job.moments[at]
    verdict = order_of(end, born)
    if verdict is None:
        return None
    state = end.facts.finished
    return Excess(end, verdict, f"Job {state}", f"after Job {job.ref.name} was {state}", why(verdict, end, born))


def _succeeded(job: Track, born: Moment, world: World) -> Excess | None:
    """It came after as many had succeeded as the Job needs."""
    now = job.count_until(born.at)
    held = job.moments[now - 1].facts if now else None
    if held is None or held.foreign or held.indexed or held.completions < 0:
        return None
    listed = held.succeeded + len(held.uncounted_succeeded)
    waiting = world.tally(job.ref.uid, "waiting", born.at)
    if listed + waiting < held.completions:
        return None
    both = sum(_waits(world.of_uid(uid), born) for uid in held.uncounted_succeeded) if waiting else 0
    done = listed + waiting - both
    if done < held.completions:
        return None
    enough = bisect_left(job.moments, held.completions, hi=now - 1, key=_listed)
    since = job.moments[enough]
    verdict = order_of(since, born)
    if verdict is None:
        return None
    words = f"when {done} of {held.completions} completions of Job {job.ref.name} had succeeded"
    reason = why(verdict, since, born)
    if done > listed:
        reason += f" {done - listed} of the Pods had succeeded and waited to be listed."
    return Excess(since, verdict, "Job had its completions", words, reason)


def _listed(moment: Moment) -> int:
    return int(moment.facts.succeeded + len(moment.facts.uncounted_succeeded))


def _waits(pod: Track | None, born: Moment) -> bool:
    """Whether a Pod that the Job lists is held by its finalizer still, when another is created."""
    spells = pod.kind.spells(pod) if pod else ()
    return any(name == "waiting" and start <= born.at and (not end or born.at < end) for name, start, end in spells)


def _active(job: Track, born: Moment, world: World) -> Excess | None:
    """It made more Pods active than the Job allows, or allowed a short while ago."""
    moments = job.moments
    now = job.count_until(born.at)
    since = born.time - NOTICE.microseconds
    known = moments[max(0, job.count_until((since, 0)) - 1) : now]
    if not known or min(moment.facts.parallelism for moment in known) < 0:
        return None
    later = _until_surely_later(moments, now, born)
    states = [*known, *later]
    allowed = max(moment.facts.parallelism for moment in states)
    unfinished = world.tally(job.ref.uid, "open", born.at)
    if unfinished <= allowed:
        return None
    active = world.tally(job.ref.uid, "active", born.at)
    generations = [moment.facts.generation for moment in states]
    skipped = generations[0] <= 0 or any(b - a > 1 for a, b in pairwise(generations))
    as_created = known[0].change is Change.CREATED or known[0].facts.generation == 1
    from_the_start = as_created or known[0].time <= since
    verdict = _sureness(known, later, born)
    if verdict is not None and not skipped and from_the_start and active > allowed:
        reason = f"{verdict.capitalize()}: later lines show the others active still, and no other parallelism in force."
        return _too_many(job, known[-1], verdict, active, allowed, reason)
    whole = world.complete("", "Pod", job.first.time, born.time) and world.seen["", "Pod"].tells_status
    if not whole or not from_the_start or not world.complete("batch", "Job", known[0].time, born.time):
        return None
    reason = "Inconclusive: no later line shows that all of them were active still."
    if active > allowed:
        reason = "Inconclusive: the lines of the Job do not show that no other parallelism was in force."
    return _too_many(job, known[-1], Verdict.INCONCLUSIVE, unfinished, allowed, reason)


def _until_surely_later(moments: Sequence[Moment], now: int, born: Moment) -> list[Moment]:
    """The states of a Job from its moment number `now` until the first one that surely follows a creation."""
    found = []
    for at in range(now, len(moments)):
        if moments[at].entry.facts:
            found.append(moments[at])
            if order_of(born, moments[at]) in _SURE:
                break
    return found


def _sureness(known: Sequence[Moment], later: Sequence[Moment], born: Moment) -> Verdict | None:
    """How surely a Pod was created between the states of its Job that are known before it and those behind it.

    Where all of them have one generation, one spec was in force all the while, and the first and the last tell.
    """
    if not later:
        return None
    orders = [order_of(known[-1], born), order_of(born, later[-1])]
    if known[0].facts.generation == later[-1].facts.generation > 0 and orders[0] not in _SURE:
        orders[0] = order_of(known[0], born)
    return None if None in orders else max(filter(None, orders), key=list(Verdict).index)


def _too_many(job: Track, held: Moment, verdict: Verdict, active: int, allowed: int, reason: str) -> Excess:
    words = f"while Job {job.ref.name}, which allows {allowed} at a time, had {active - 1} active already"
    return Excess(held, verdict, f"parallelism {allowed}", words, reason, late=False)


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
