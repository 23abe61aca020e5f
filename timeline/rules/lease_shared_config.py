"""Two schedulers configured to elect their leader on one Lease.

## What it sees

The arguments of two workloads that ran at one time resolve to the same Lease, although their `--scheduler-name`
differs: by `--leader-elect-resource-namespace` (or the old `--lock-object-namespace`) and
`--leader-elect-resource-name`, or by the defaults of Volcano's and Kubernetes' own schedulers.

## Why it matters

Only one of the two can lead. The Pods of the other stay Pending, and nothing says why (volcano-sh/volcano#3818:
Volcano's scheduler names its Lease `volcano` before it has read `--scheduler-name`). It shows before anything waits.

## Proof

The two workloads as they stood at one time, both wanting replicas; what their arguments say, and where they say
nothing, what the program does by itself (Volcano from 1.10 on; before, the Lease bore the scheduler's name). That the
first still stood when the second came is told by a later line of it or by its ReplicaSets and Pods; where only the lack
of its deletion tells it, the finding is inconclusive.

## Looks alike but is benign

Replicas of one workload; two workloads of one scheduler name; Leases of different names or namespaces; a program whose
election is switched off (`--leader-elect=false`); one that was deleted or scaled to zero before the other came, or up
to 30 s after (info); a value that comes from a variable or a `--config` file, and so is not known; a program of which
the default is not known.

## What to do

Give each scheduler a Lease of its own: `--leader-elect-resource-name=<its --scheduler-name>`.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world import World
from timeline.judging.advice import kubectl
from timeline.judging.elections import WORKLOADS, known, runs
from timeline.judging.findings import Effect, Finding, Occurrence, Proof
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict
from timeline.kinds.deployment import Lock

BRIEF = setting("lease-shared-config", "brief", 30, "s", "How long one may overlap with the one that it replaces.")
Side = tuple[Track, Moment, Lock]


class Clash(NamedTuple):
    """Two workloads on one Lease at one time, for different schedulers."""

    sides: tuple[Side, Side]  # in the order in which they came to it
    sure: bool  # the first was seen to stand still when the second came

    @property
    def verdict(self) -> Verdict:
        return Verdict.EXACT if self.sure else Verdict.INCONCLUSIVE


@rule("lease-shared-config", judges=WORKLOADS, needs=("Deployment",), lists=True)
def judge(workload: Track, world: World) -> Iterator[Finding]:
    for lease in sorted(workload.references()):
        users = [user for user in world.referrers(lease) if user.ref.kind in WORKLOADS]
        if users and users[0] is workload:  # of all that share it, one speaks
            yield from _finding(lease, users, world)


def _finding(lease: Name, users: list[Track], world: World) -> Iterator[Finding]:
    found = [clash for pair in combinations(users, 2) if (clash := _clash(lease, *pair, world))]
    clashes = [clash for clash in found if clash.sure] or found
    if not clashes:
        return
    sides = [side for clash in clashes for side in clash.sides]
    shared = {user.key: user for user in users if any(user is side[0] for side in sides)}
    names = sorted({" and ".join(lock.schedulers) for _, _, lock in sides})
    titles = " and ".join(f"{user.ref.kind} {user.ref.name}" for user in shared.values())
    yield Finding(
        rule="lease-shared-config",
        subject=known(lease, world),
        other=None,
        verdict=clashes[0].verdict,
        summary=f"{titles} elect on one Lease {lease.name}, but schedule for {' and for '.join(names)}",
        occurrences=tuple(_occurrence(lease, clash) for clash in clashes),
        advice=(
            "Prevent: give each a Lease of its own: `--leader-elect-resource-name` with the name of its scheduler.",
            f"Verify: {kubectl(lease.namespace, 'get leases')} shows one for each.",
        ),
        delay=None,
        affects=tuple(user.ref for user in shared.values()),
    )


def _occurrence(lease: Name, clash: Clash) -> Occurrence:
    first, second = clash.sides
    together = min((end for end in map(_until, clash.sides) if end is not None), default=None)
    brief = together is not None and together - second[1].time <= BRIEF.microseconds
    sure = "Exact: what both are told by their arguments is in the recording, and they stood at one time."
    unsure = "Inconclusive: that the first still stood when the second came is told by the lack of its deletion alone."
    return Occurrence(
        first=first[1].time,
        last=second[1].time,
        headline=f"{first[0].ref.name} and {second[0].ref.name} elect on Lease {lease.namespace}/{lease.name}",
        plural="workloads",
        why=sure if clash.sure else unsure,
        effect=Effect.NONE if brief else Effect.POSSIBLE,
        effect_text="one replaced the other at once" if brief else "only one of the two can schedule",
        proof=tuple(
            Proof(f"elects for {' and '.join(lock.schedulers)}", user.ref, moment) for user, moment, lock in clash.sides
        ),
    )


def _until(side: Side) -> int | None:
    """The drawn time from which a workload did not elect so any more; None where that was not seen."""
    workload, since, lock = side
    for moment in workload.moments:
        ended = moment.change is Change.DELETED or moment.facts.deleting
        if moment.time > since.time and (ended or lock not in moment.facts.locks or moment.facts.replicas == 0):
            return moment.time
    return None


def _clash(lease: Name, one: Track, other: Track, world: World) -> Clash | None:
    """The writes of two workloads that show them on one Lease for different schedulers, at one time."""
    unsure = None
    for a in _configured(lease, one):
        for b in _configured(lease, other):
            first, second = sorted((a, b), key=lambda side: side[1].at)
            if a[2].schedulers != b[2].schedulers:
                overlap = _overlap(first, second, world)
                if overlap:
                    return Clash((first, second), sure=True)
                if overlap is None:
                    unsure = unsure or Clash((first, second), sure=False)
    return unsure


def _configured(lease: Name, workload: Track) -> Iterator[Side]:
    """The writes from which on it elects on a Lease in another way than before, and wants replicas."""
    before: Lock | None = None
    for moment in workload.moments:
        locks = moment.facts.locks if moment.facts.replicas != 0 else ()
        lock = next((each for each in locks if each[:2] == (lease.namespace, lease.name) and each.schedulers), None)
        if lock and lock != before:
            yield workload, moment, lock
        before = lock


def _overlap(first: Side, second: Side, world: World) -> bool | None:
    """Whether the first still stood so when the second came to be; None where only the lack of its end tells so."""
    workload, _, lock = first
    held = workload.facts_at(second[1].time)
    if lock not in held.locks or held.replicas == 0:
        return False
    same_list = workload.last.place and second[1].place and workload.last.place.file == second[1].place.file
    listed = workload.last.change is second[1].change is Change.OBSERVED and same_list
    return True if listed else runs(workload, second[1], world)
