"""Find out whether a Job already had all the Pods that it allows when another one was created. It does no I/O."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.verdicts import Verdict, order_of, why

_SURE = (Verdict.EXACT, Verdict.BOUNDED)


class Excess(NamedTuple):
    """Why a Pod was one too many for its Job."""

    since: Moment  # the state of the Job that allowed no further Pod
    verdict: Verdict
    role: str  # the role of that state in the proof
    words: str  # the rest of the sentence that begins with "Pod a was created "
    why: str
    late: bool = True  # whether the delay since that state is meaningful


def after_the_end(job: Track, born: Moment) -> Excess | None:
    """Return an excess if the Pod was created after its Job was Complete or Failed, which is final."""
    at = bisect_left(job.moments, True, key=lambda moment: bool(moment.facts.finished))
    if at == len(job.moments):
        return None
    end = job.moments[at]
    verdict = order_of(end, born)
    if verdict is None:
        return None
    state = end.facts.finished
    return Excess(end, verdict, f"Job {state}", f"after Job {job.ref.name} was {state}", why(verdict, end, born))


def beyond_completions(job: Track, born: Moment, world: World) -> Excess | None:
    """Return an excess if the Pod was created after as many Pods had succeeded as `completions` requires."""
    now = job.count_until(born.at)
    facts = job.moments[now - 1].facts if now else None
    if facts is None or facts.foreign or facts.indexed or facts.completions < 0:
        return None
    counted = facts.succeeded + len(facts.uncounted_succeeded)
    waiting = world.tally(job.ref.uid, "waiting", born.at)
    if counted + waiting < facts.completions:
        return None
    both = sum(_waits(world.of_uid(uid), born) for uid in facts.uncounted_succeeded) if waiting else 0
    done = counted + waiting - both
    if done < facts.completions:
        return None
    enough = bisect_left(job.moments, facts.completions, hi=now - 1, key=_counted)
    since = job.moments[enough]
    verdict = order_of(since, born)
    if verdict is None:
        return None
    words = f"when {done} of {facts.completions} completions of Job {job.ref.name} had succeeded"
    reason = why(verdict, since, born)
    if done > counted:
        reason += f" {done - counted} of the Pods had succeeded and waited to be listed."
    return Excess(since, verdict, "Job had its completions", words, reason)


def beyond_parallelism(job: Track, born: Moment, notice: int, world: World) -> Excess | None:
    """Return an excess if, with this Pod, more Pods were active than the parallelism of the Job allowed.

    The greatest parallelism of the last `notice` microseconds counts, since the controller may not have noticed a
    change yet.
    """
    moments, now = job.moments, job.count_until(born.at)
    since = born.time - notice
    known = moments[max(job.stated, job.count_until((since, 0)) - 1) : now]
    if not known or min(moment.facts.parallelism for moment in known) < 0:
        return None
    unfinished = world.tally(job.ref.uid, "open", born.at)
    if unfinished <= max(moment.facts.parallelism for moment in known):
        return None
    later = until_surely_later(moments, now, born)
    states = [*known, *later]
    allowed = max(moment.facts.parallelism for moment in states)
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
    namespace = job.ref.namespace
    whole = world.complete("", "Pod", job.first.time, born.time, namespace) and world.seen["", "Pod"].shows_statuses
    if not whole or not from_the_start or not world.complete("batch", "Job", known[0].time, born.time, namespace):
        return None
    reason = "Inconclusive: no later line shows that all of them were active still."
    if active > allowed:
        reason = "Inconclusive: the lines of the Job do not show that no other parallelism was in force."
    return _too_many(job, known[-1], Verdict.INCONCLUSIVE, unfinished, allowed, reason)


def _counted(moment: Moment) -> int:
    """Return how many Pods the Job has counted as succeeded or has listed to be counted."""
    return int(moment.facts.succeeded + len(moment.facts.uncounted_succeeded))


def _waits(pod: Track | None, born: Moment) -> bool:
    """Return whether a Pod that the Job lists as succeeded still had its finalizer when another Pod was created."""
    spells = pod.kind.spells(pod) if pod else ()
    return any(name == "waiting" and start <= born.at and (not end or born.at < end) for name, start, end in spells)


def until_surely_later(moments: Sequence[Moment], now: int, born: Moment) -> list[Moment]:
    """Return the states of a Job from the index `now` to the first one that surely came after a Pod's creation."""
    found = []
    for at in range(now, len(moments)):
        if moments[at].entry.facts:
            found.append(moments[at])
            if order_of(born, moments[at]) in _SURE:
                break
    return found


def _sureness(known: Sequence[Moment], later: Sequence[Moment], born: Moment) -> Verdict | None:
    """Return how sure it is that a Pod was created after the states `known` of its Job and before the states `later`;
    None if it was not.

    If all of these states have the same generation, the spec did not change between the first and the last of them, so
    it is enough that the Pod was created between these two.
    """
    if not later:
        return None
    orders = [order_of(known[-1], born), order_of(born, later[-1])]
    if known[0].facts.generation == later[-1].facts.generation > 0 and orders[0] not in _SURE:
        orders[0] = order_of(known[0], born)
    return None if None in orders else max(filter(None, orders), key=list(Verdict).index)


def _too_many(job: Track, since: Moment, verdict: Verdict, active: int, allowed: int, reason: str) -> Excess:
    words = f"while Job {job.ref.name}, which allows {allowed} at a time, had {active - 1} active already"
    return Excess(since, verdict, f"parallelism {allowed}", words, reason, late=False)
