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

Give each scheduler a Lease of its own: `--leader-elect-resource-name=<its --scheduler-name>`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.entries import FOREVER, Change, Level
from timeline.history.lifelines import Key, Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Proof, occurrence
from timeline.judging.leases.elections import runs
from timeline.judging.leases.holders import WORKLOADS, last_ref
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict
from timeline.kinds.deployment import Lock

BRIEF = setting("lease-shared-config", "brief", 30, "s", "How long one may overlap with the one that it replaces.")


class Configured(NamedTuple):
    """A workload, with the write from which on its arguments name a Lease."""

    workload: Track
    since: Moment
    lock: Lock


class Clash(NamedTuple):
    """Two workloads that elect on one Lease at the same time, for different schedulers."""

    sides: tuple[Configured, Configured]  # in the order in which they were configured to do so
    sure: bool  # whether the first was observed to exist after the second was configured


@rule(
    "lease-shared-config",
    judges=WORKLOADS,
    needs=(
        need(line(*WORKLOADS, verbs="state")),
        need(line(*WORKLOADS, verbs="create"), misses="workloads whose arguments only their creation shows"),
        need(line(*WORKLOADS, verbs="update status"), misses="workloads that changed, or that other changes show"),
        need(line(*WORKLOADS, verbs="delete", level=Level.METADATA), misses="workloads that were deleted before"),
    ),
    incident="Workloads with different schedulers elect on {anchor}",
)
def judge(workload: Track, world: World) -> Iterator[Finding]:
    for lease in sorted(workload.references()):
        if _first(lease, world) == workload.key:  # there is one finding about all workloads of a Lease
            yield from _finding(lease, _users(lease, world), world)


def _first(lease: Name, world: World) -> Key | None:
    """Return the key of the first workload that refers to a Lease; None if there is none."""
    return world.computed(("first workload", lease), lambda: next((user.key for user in _users(lease, world)), None))


def _users(lease: Name, world: World) -> list[Track]:
    return [user for user in world.referrers(lease) if user.ref.kind in WORKLOADS]


def _finding(lease: Name, users: list[Track], world: World) -> Iterator[Finding]:
    found = [clash for pair in _together(users) if (clash := _clash(lease, *pair, world))]
    clashes = [clash for clash in found if clash.sure] or found
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
            "Prevent: give each a Lease of its own: `--leader-elect-resource-name` with the name of its scheduler.",
            f"Verify: {kubectl(lease.namespace, 'get lease {} -w', lease.name)} keeps one holder.",
        ),
        affects=tuple(user.ref for user in sharing.values()),
    )


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
