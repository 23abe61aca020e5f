"""Find out which workload used to take a finalizer away, and whether it is gone. It does no I/O."""

from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import NamedTuple

from timeline.core.actors import actor_of
from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
_SEARCHED = 500  # objects of a kind that are searched for one from which the finalizer was taken away


class Remover(NamedTuple):
    """The program that takes a finalizer away, by its name, and the workload that runs it."""

    program: str
    workload: Track | None  # None if the source does not show it
    gone: Moment | None  # the moment from which the workload had no Pods any more; None if it may run


def remover_of(stuck: Track, finalizer: str, world: World) -> Remover | None:
    """Return who takes a finalizer away: who did so from another object of this kind, or else who added it to this one.
    None if the source shows neither."""
    others = islice(world.of_kind(stuck.ref.group, stuck.ref.kind), _SEARCHED)
    for moment in chain((each for other in others for each in _taken(other, finalizer)), _added(stuck, finalizer)):
        if program := _program(moment):
            workload = _workload(moment, program, world)
            return Remover(program, workload, _gone(workload, world) if workload else None)
    return None


def _taken(track: Track, finalizer: str) -> Iterator[Moment]:
    """Yield the moments at which a finalizer was taken away from an object that was being deleted."""
    before: Moment | None = None
    for moment in track.moments:
        had = before is not None and finalizer in before.facts.finalizers
        if had and before and before.facts.deleting and (moment.change is Change.DELETED or _lacks(moment, finalizer)):
            yield moment
        before = moment if moment.facts is not None else None


def _lacks(moment: Moment, finalizer: str) -> bool:
    return moment.facts is not None and finalizer not in moment.facts.finalizers


def _added(track: Track, finalizer: str) -> Iterator[Moment]:
    """Yield the writes that added a finalizer to an object that existed without it."""
    for before, moment in pairwise(track.moments):
        if _lacks(before, finalizer) and moment.facts is not None and finalizer in moment.facts.finalizers:
            yield moment


def _program(moment: Moment) -> str:
    """Return the program that sent a write, by its user agent or its field manager."""
    actor = actor_of(moment.entry)
    return actor.component if actor else ""


def _workload(moment: Moment, program: str, world: World) -> Track | None:
    """Return the workload that runs the program that sent a write: the owner of its Pod, or else the last one that has
    the name of the program."""
    client = moment.entry.client
    if client and client.pod_uid and (pod := world.of_uid(client.pod_uid)):
        root = world.root(pod)
        return root if root is not pod else None
    named = [each for kind in _WORKLOADS for each in world.of_kind("apps", kind) if each.ref.name == program]
    return max(named, key=lambda each: each.first.at, default=None)


def _gone(workload: Track, world: World) -> Moment | None:
    """Return the moment from which a workload had no Pods any more; None if it is there, or may have come back."""
    since = workload.ended or (workload.last if getattr(workload.last.facts, "replicas", -1) == 0 else None)
    if since is None:
        return None
    ref = workload.ref
    seen = world.seen[ref.group, ref.kind]
    # A watch is assumed to have continued after its last change.
    end = max(since.time, seen.streamed_until) if seen.watched or world.live else world.last
    return since if world.complete(ref.group, ref.kind, since.time, end, ref.namespace) else None
