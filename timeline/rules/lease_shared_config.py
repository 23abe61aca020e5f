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
nothing, what the program does by itself (Volcano from 1.10 on; before, the Lease bore the scheduler's name).

## Looks alike but is benign

Replicas of one workload; two workloads of one scheduler name; Leases of different names or namespaces; a program whose
election is switched off (`--leader-elect=false`); one that was deleted or scaled to zero before the other came; a value
that comes from a variable or a `--config` file, and so is not known; a program of which the default is not known.

## What to do

Give each scheduler a Lease of its own: `--leader-elect-resource-name=<its --scheduler-name>`.
"""

from collections.abc import Iterator
from itertools import combinations

from timeline.elections import WORKLOADS, known, stays
from timeline.entries import Change
from timeline.kinds.deployment import Lock
from timeline.lifelines import Moment, Name, Track
from timeline.rulebook import Effect, Finding, Occurrence, Proof, Verdict, rule
from timeline.world import World

Side = tuple[Track, Moment, Lock]


@rule("lease-shared-config", judges=WORKLOADS, needs=("Deployment",), lists=True)
def judge(workload: Track, world: World) -> Iterator[Finding]:
    for lease in sorted(workload.references()):
        users = [user for user in world.referrers(lease) if user.ref.kind in WORKLOADS]
        if users and users[0] is workload:  # of all that share it, one speaks
            yield from _finding(lease, users, world)


def _finding(lease: Name, users: list[Track], world: World) -> Iterator[Finding]:
    clashes = [clash for pair in combinations(users, 2) if (clash := _clash(lease, *pair, world))]
    if not clashes:
        return
    shared = {user.key: user for clash in clashes for user, _, _ in clash}
    names = sorted({" and ".join(lock.schedulers) for clash in clashes for _, _, lock in clash})
    titles = " and ".join(f"{user.ref.kind} {user.ref.name}" for user in shared.values())
    yield Finding(
        rule="lease-shared-config",
        subject=known(lease, world),
        other=None,
        verdict=Verdict.EXACT,
        summary=f"{titles} elect on one Lease {lease.name}, but schedule for {' and for '.join(names)}",
        occurrences=tuple(_occurrence(lease, *clash) for clash in clashes),
        advice=("Give each a Lease of its own: `--leader-elect-resource-name` with the name of its scheduler.",),
        delay=None,
        affects=tuple(user.ref for user in shared.values()),
    )


def _occurrence(lease: Name, one: Side, other: Side) -> Occurrence:
    sides = sorted((one, other), key=lambda side: side[1].at)
    return Occurrence(
        first=sides[0][1].time,
        last=sides[1][1].time,
        headline=f"{one[0].ref.name} and {other[0].ref.name} elect on Lease {lease.namespace}/{lease.name}",
        plural="workloads",
        why="Exact: what both are told by their arguments is in the recording, and they stood at one time.",
        effect=Effect.POSSIBLE,
        effect_text="only one of the two can schedule",
        proof=tuple(
            Proof(f"elects for {' and '.join(lock.schedulers)}", user.ref, moment) for user, moment, lock in sides
        ),
    )


def _clash(lease: Name, one: Track, other: Track, world: World) -> tuple[Side, Side] | None:
    """The writes of two workloads that show them on one Lease for different schedulers, at one time."""
    for a in _configured(lease, one):
        for b in _configured(lease, other):
            first, second = sorted((a, b), key=lambda side: side[1].at)
            if a[2].schedulers != b[2].schedulers and _overlap(first, second, world):
                return a, b
    return None


def _configured(lease: Name, workload: Track) -> Iterator[Side]:
    """The writes from which on it elects on a Lease in another way than before, and wants replicas."""
    before: Lock | None = None
    for moment in workload.moments:
        locks = moment.facts.locks if moment.facts.replicas != 0 else ()
        lock = next((each for each in locks if each[:2] == (lease.namespace, lease.name) and each.schedulers), None)
        if lock and lock != before:
            yield workload, moment, lock
        before = lock


def _overlap(first: Side, second: Side, world: World) -> bool:
    """Whether the first surely still stood so when the second came to be."""
    workload, _, lock = first
    held = workload.facts_at(second[1].time)
    same_list = workload.last.place and second[1].place and workload.last.place.file == second[1].place.file
    listed = workload.last.change is second[1].change is Change.OBSERVED and same_list
    return lock in held.locks and held.replicas != 0 and (bool(listed) or stays(workload, second[1], world))
