"""Two schedulers configured to elect their leader on one Lease.

## What it sees

The arguments of two workloads that ran at one time lead to the same Lease, although their `--scheduler-name` differs.
The Lease follows from `--leader-elect-resource-namespace` (or the old `--lock-object-namespace`) and
`--leader-elect-resource-name`, or from the defaults of Volcano's and Kubernetes' own schedulers.

## Why it matters

Only one of the two can lead. The Pods of the other one stay Pending, and nothing says why (volcano-sh/volcano#3818:
Volcano's scheduler names its Lease `volcano` before it has read `--scheduler-name`). This rule sees it before any Pod
waits.

## Proof

The two workloads as they were at one time, when both wanted replicas: their arguments, and where they say nothing, the
defaults of the program (Volcano from 1.10 on; earlier versions named the Lease after the scheduler). A later line of
the first workload, or its ReplicaSets and Pods, must show that it still existed when the second was created. If only
the lack of its deletion shows this, the finding is inconclusive.

## Looks alike but is benign

- Replicas of one workload, or two workloads with one scheduler name.
- Leases with different names or namespaces.
- A program whose election is switched off (`--leader-elect=false`).
- A workload that was deleted or scaled to zero before the other one came, or up to 30 s after (info).
- A value that comes from a variable or a `--config` file, and so is not known.
- A program whose default is not known.

## What to do

Give each scheduler a Lease of its own: `--leader-elect-resource-name=<its --scheduler-name>`, and let the role of its
account allow that Lease. The finding has the command for each workload.
"""

from collections.abc import Iterator

from timeline.core.entries import Change
from timeline.history.lifelines import Key, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl, own_leases
from timeline.judging.findings import Effect, Finding, Occurrence, Proof, occurrence
from timeline.judging.leases.holders import WORKLOADS, last_ref
from timeline.judging.leases.sharing import (
    CONFIGURATION_NEEDS,
    Clash,
    Configured,
    clashes_on,
    configuration_links,
    users_of,
)
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

BRIEF = setting("lease-shared-config", "brief", 30, "s", "How long one may overlap with the one that it replaces.")


@rule(
    "lease-shared-config",
    judges=WORKLOADS,
    needs=CONFIGURATION_NEEDS,
    incident="Workloads with different schedulers elect on {anchor}",
    harm="workloads with different schedulers elect on {anchors}",
)
def judge(workload: Track, world: World) -> Iterator[Finding]:
    for lease in sorted(workload.references()):
        if _first(lease, world) == workload.key:  # there is one finding about all workloads of a Lease
            yield from _finding(lease, users_of(lease, world), world)


def _first(lease: Name, world: World) -> Key | None:
    """Return the key of the first workload that refers to a Lease; None if there is none."""
    return world.computed(("first workload", lease), lambda: next((user.key for user in users_of(lease, world)), None))


def _finding(lease: Name, users: list[Track], world: World) -> Iterator[Finding]:
    clashes = clashes_on(lease, world)
    if not clashes:
        return
    sides = [side for clash in clashes for side in clash.sides]
    sharing = {user.key: user for user in users if any(user is side.workload for side in sides)}
    names = sorted({" and ".join(side.lock.schedulers) for side in sides})
    titles = " and ".join(dict.fromkeys(f"{user.ref.kind} {user.ref.name}" for user in sharing.values()))
    yield Finding(
        rule="lease-shared-config",
        subject=last_ref(lease, world),
        anchor=lease,
        verdict=Verdict.EXACT if clashes[0].sure else Verdict.INCONCLUSIVE,
        summary=f"{titles} elect on one Lease {lease.name}, but schedule for {' and for '.join(names)}",
        occurrences=tuple(_occurrence(lease, clash) for clash in clashes),
        advice=(
            f"Look: who leads now? {kubectl(lease.namespace, 'get lease {} -o yaml', lease.name)} names the holder.",
            *own_leases(user.ref for user in sharing.values()),
            "Clean: see whether Pods that waited for the one that did not lead have been scheduled.",
            "Prevent: let whatever installs them, such as a chart, name the Lease after the scheduler.",
            f"Verify: {kubectl(lease.namespace, 'get lease {} -w', lease.name)} keeps one holder.",
        ),
        affects=tuple(user.ref for user in sharing.values()),
    )


def _occurrence(lease: Name, clash: Clash) -> Occurrence:
    first, second = clash.sides
    together = min((end for end in map(_until, clash.sides) if end is not None), default=None)
    brief = together is not None and together - second.since.time <= BRIEF.microseconds
    one, other = first.workload.ref.name, second.workload.ref.name
    sure = "Exact: the arguments of both are in the recording, and they stood at one time."
    unsure = "Inconclusive: only the lack of its deletion shows that the first still stood when the second came."
    return occurrence(
        *(
            Proof(f"elects for {' and '.join(side.lock.schedulers)}", side.workload.ref, side.since)
            for side in clash.sides
        ),
        links=tuple(configuration_links(lease, clash.sides[1].since.time, [clash])),
        headline=f"{one} and {other} elect on Lease {lease.namespace}/{lease.name}",
        plural="workloads",
        open=together is None,
        why=sure if clash.sure else unsure,
        effect=(Effect.NONE, "one replaced the other at once")
        if brief
        else (Effect.POSSIBLE, "only one of the two can schedule"),
    )


def _until(side: Configured) -> int | None:
    """Return the drawn time from which a workload no longer elected on the Lease; None if that was not observed."""
    for moment in side.workload.moments:
        ended = moment.change is Change.DELETED or moment.facts.deleting
        if moment.time > side.since.time and (
            ended or side.lock not in moment.facts.locks or moment.facts.replicas == 0
        ):
            return moment.time
    return None
