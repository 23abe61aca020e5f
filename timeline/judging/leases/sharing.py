"""Find workloads that elect on one Lease for different schedulers. It does no I/O."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from timeline.core.entries import FOREVER, Change, Level
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.coverage.lines import LinkNeeds, line, need
from timeline.judging.findings import Link, Root
from timeline.judging.leases.elections import Election, Handover, runs
from timeline.judging.leases.holders import WORKLOADS
from timeline.kinds.deployment import Lock

CONFIGURATION_NEEDS = (
    need(line(*WORKLOADS, verbs="state")),
    need(line(*WORKLOADS, verbs="create"), misses="workloads whose arguments only their creation shows"),
    need(line(*WORKLOADS, verbs="update status"), misses="workloads that changed, or that other changes show"),
    need(line(*WORKLOADS, verbs="delete", level=Level.METADATA), misses="workloads that were deleted before"),
)
"""The lines that show which workloads elect on which Lease."""
CONFIGURATION = LinkNeeds(
    "configuration",
    "A configuration",
    "what happened on a Lease because workloads with different schedulers share it",
    needs=(*CONFIGURATION_NEEDS, need(line("Lease", verbs="create update"), misses="what happened on the Lease")),
)


class Configured(NamedTuple):
    """A workload, with the write from which on its arguments name a Lease."""

    workload: Track
    since: Moment
    lock: Lock


class Clash(NamedTuple):
    """Two workloads that elect on one Lease at the same time, for different schedulers."""

    sides: tuple[Configured, Configured]  # in the order in which they were configured to do so
    sure: bool  # whether the first was observed to exist after the second was configured


def clashes_on(lease: Name, world: World) -> Sequence[Clash]:
    """Return the pairs of workloads that elect on a Lease at one time, for different schedulers: those that surely do,
    or, if there are none, those that may."""
    return world.computed(("clashes", lease), lambda: _clashes(lease, world))


def configuration_links(lease: Name, at: int, clashes: Iterable[Clash]) -> Iterator[Link]:
    """Yield what connects what happens on a Lease at a drawn time with the configuration of each of these pairs."""
    for clash in clashes:
        pair = sorted(side.workload.name for side in clash.sides)
        key = "\n".join(("configuration", *lease, *(part for name in pair for part in name)))
        since = clash.sides[1].since.time
        yield Link(Root.CONFIGURATION, key, (lease.namespace, lease.name), since, max(since, at))


def links_of(election: Election, handovers: Iterable[Handover]) -> tuple[Link, ...]:
    """Return what connects handovers of a Lease with the configuration by which workloads share it: only between two
    workloads that surely do."""
    links: list[Link] = []
    for old, new in handovers:
        pair = {election.holders.workload(old), election.holders.workload(new)}
        lease, at = election.lease.name, election.write(new.taken).time
        known = clashes_on(lease, election.world) if len(pair) == 2 and None not in pair else ()
        sure = [each for each in known if each.sure and {side.workload.name for side in each.sides} == pair]
        links += configuration_links(lease, at, sure)
    return tuple({each.key: each for each in links}.values())


def users_of(lease: Name, world: World) -> list[Track]:
    """Return the workloads that refer to a Lease, sorted by key."""
    return [user for user in world.referrers(lease) if user.ref.kind in WORKLOADS]


def _clashes(lease: Name, world: World) -> list[Clash]:
    found = [clash for pair in _together(users_of(lease, world)) if (clash := _clash(lease, *pair, world))]
    return [clash for clash in found if clash.sure] or found


def _together(users: list[Track]) -> Iterator[tuple[Track, Track]]:
    """Yield the pairs of workloads that may have existed at one time, in the order of `users`."""
    lives = [(user.first.time, FOREVER if user.until is None else user.until) for user in users]
    began = sorted(range(len(users)), key=lambda place: lives[place])
    pairs = []
    for at, one in enumerate(began):
        for other in began[at + 1 :]:
            if lives[other][0] > lives[one][1]:
                break
            pairs.append((min(one, other), max(one, other)))
    yield from ((users[one], users[other]) for one, other in sorted(pairs))


def _clash(lease: Name, one: Track, other: Track, world: World) -> Clash | None:
    """Return the writes that show two workloads electing on one Lease at the same time, for different schedulers; None
    if there are none."""
    unsure = None
    for a in _configured(lease, one):
        for b in _configured(lease, other):
            first, second = sorted((a, b), key=lambda side: side.since.at)
            if a.lock.schedulers != b.lock.schedulers:
                overlap = _overlap(first, second, world)
                if overlap:
                    return Clash((first, second), sure=True)
                if overlap is None:
                    unsure = unsure or Clash((first, second), sure=False)
    return unsure


def _configured(lease: Name, workload: Track) -> Iterator[Configured]:
    """Yield the writes from which on a workload wants replicas and elects on a Lease, for other schedulers than before
    or after it did not."""
    before: Lock | None = None
    for moment in workload.moments:
        locks = moment.facts.locks if moment.facts.replicas != 0 else ()
        lock = next((each for each in locks if each[:2] == (lease.namespace, lease.name) and each.schedulers), None)
        if lock and lock != before:
            yield Configured(workload, moment, lock)
        before = lock


def _overlap(first: Configured, second: Configured, world: World) -> bool | None:
    """Return whether the first still existed, with the same configuration, when the second was configured; None if the
    only evidence is that its end was not observed."""
    workload, at = first.workload, second.since
    facts = workload.facts_at(at.time)
    if first.lock not in facts.locks or facts.replicas == 0:
        return False
    same_list = workload.last.place and at.place and workload.last.place.file == at.place.file
    listed = workload.last.change is at.change is Change.OBSERVED and same_list
    return True if listed else runs(workload, at, world)
