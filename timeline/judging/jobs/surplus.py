"""Find the Pods that a controller created beyond what their owner asks for, and deleted again. It does no I/O.

Only ReplicaSets are judged: one of them never wants more Pods than its spec says. Deployments, DaemonSets and the
workloads of other projects may create Pods beyond their number for a while, to replace others (surge).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from timeline.core.actors import Actor, actor_of
from timeline.core.entries import Change, Clock
from timeline.core.order import SECOND, At
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.jobs.limits import until_surely_later


class Done(NamedTuple):
    """One creation or deletion of a Pod by a controller."""

    pod: Track
    moment: Moment
    actor: Actor


class Surplus(NamedTuple):
    """The Pods of an owner beyond what its spec asked for while it had one generation."""

    allowed: int  # the number of Pods that the owner asked for
    state: Moment  # the state of the owner that asked for it
    created: tuple[Done, ...]  # in commit order
    deleted: tuple[Done, ...]  # by the same controller, while there were too many


def surpluses(owner: Track, world: World, notice: int, within: int) -> Iterator[Surplus]:
    """Yield the surpluses of a ReplicaSet, by its generations.

    Of the numbers that it asked for in the last `notice` microseconds, the greatest counts, since its controller may
    not have noticed a smaller one. A deletion counts up to `within` microseconds after the last surplus creation.
    """
    least = min((moment.facts.replicas for moment in owner.moments), default=-1)
    pods = [child for child in world.children(owner) if child.ref.kind == "Pod" and not child.ref.group]
    if least < 0 or len(pods) <= least or not _is_complete(owner, world):
        return
    if any(_adopted(pod) or (pod.created is None and pod.first.facts.created > world.first) for pod in pods):
        return  # not all of them were created by the controller
    starts, ends = _edges(pods)
    by_generation: dict[int, list[tuple[Done, _Wanted]]] = {}
    for created in sorted(filter(None, map(_creation, pods)), key=_place):
        active = bisect_right(starts, created.moment.at) - bisect_right(ends, created.moment.at)
        wanted = _wanted(owner, created.moment, notice) if active > least else None
        if wanted and active > wanted.most:
            by_generation.setdefault(wanted.state.facts.generation, []).append((created, wanted))
    for generation, surplus in by_generation.items():
        allowed = max(wanted.most for _, wanted in surplus)
        first, last = surplus[0][0], surplus[-1][0]
        deleted = []
        for done in sorted(filter(None, map(_deletion, pods)), key=_place):
            active = bisect_left(starts, done.moment.at) - bisect_left(ends, done.moment.at)
            soon = first.moment.at < done.moment.at and done.moment.time <= last.moment.time + within
            if soon and done.actor.component == first.actor.component and active > allowed:
                wanted = _wanted(owner, done.moment, notice)
                if wanted and wanted.alone and wanted.state.facts.generation == generation:
                    deleted.append(done)
        if deleted:
            yield Surplus(allowed, surplus[0][1].state, tuple(created for created, _ in surplus), tuple(deleted))


class _Wanted(NamedTuple):
    """What an owner asked for when a Pod was created or deleted."""

    state: Moment  # the last known state of the owner before it
    most: int  # the greatest number of the states that may have been in force, or that the controller may have seen
    alone: bool  # whether the generation was the same before and after


def _wanted(owner: Track, moment: Moment, notice: int) -> _Wanted | None:
    """Return what an owner asked for around a moment; None if that is not known, or if the owner was to be deleted."""
    moments = owner.moments
    now = owner.count_until(moment.at)
    known = moments[max(0, owner.count_until((moment.time - notice, 0)) - 1) : now]
    later = until_surely_later(moments, now, moment)
    if not known or not later or any(each.facts.deleting for each in (*known, *later)):
        return None
    generations = [each.facts.generation for each in (*known, *later)]
    if generations[0] <= 0 or any(b - a > 1 for a, b in pairwise(generations)):
        return None  # a state is missing
    most = max(each.facts.replicas for each in (*known, *later))
    return _Wanted(known[-1], most, known[-1].facts.generation == later[-1].facts.generation)


def _edges(pods: list[Track]) -> tuple[list[At], list[At]]:
    """Return the places at which Pods began and ceased to be active, each in commit order."""
    return sorted(pod.first.at for pod in pods), sorted(filter(None, map(_end, pods)))


def _end(pod: Track) -> At | None:
    """Return the place at which a Pod ceased to be active; None if it did not.

    An eviction is no line of its own. The next line then shows when it was asked for, in whole seconds.
    """
    over = next((each for each in pod.moments if _is_over(each)), None)
    if over is None:
        return None
    asked = over.facts.asked
    return (asked, 0) if 0 < asked <= over.time - 2 * SECOND else over.at


def _is_over(moment: Moment) -> bool:
    return moment.change is Change.DELETED or moment.facts.deleting or moment.facts.terminal


def _is_complete(owner: Track, world: World) -> bool:
    """Return whether no line of Pods is known to be missing as long as the owner existed, so that each end is known."""
    end = world.last if owner.until is None else owner.until
    complete = world.complete("", "Pod", owner.first.time, end, owner.ref.namespace)
    return complete and world.seen["", "Pod"].shows_statuses


def _adopted(pod: Track) -> bool:
    """Return whether a Pod got its owner after its creation."""
    return any(each.entry.facts and not each.entry.owner for each in pod.moments)


def _creation(pod: Track) -> Done | None:
    """Return the creation of a Pod; None if it was not observed."""
    return _done(pod, pod.created) if pod.created else None


def _deletion(pod: Track) -> Done | None:
    """Return the request that deleted a Pod before it had finished; None if it was not observed."""
    asked = next((each for each in pod.moments if each.change is Change.DELETED or each.facts.deleting), None)
    if asked is None or any(each.facts.terminal for each in pod.moments if each.at <= asked.at):
        return None
    return _done(pod, asked)


def _done(pod: Track, moment: Moment) -> Done | None:
    actor = actor_of(moment.entry) if moment.clock is Clock.AUDIT and moment.entry.client else None
    return Done(pod, moment, actor) if actor else None


def _place(done: Done) -> tuple[At, str]:
    return done.moment.at, done.pod.ref.name
