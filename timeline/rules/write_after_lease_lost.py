"""A write by a process that had lost its Lease to another.

## What it sees

A process that held a Lease wrote an object after another holder's take-over of the Lease had been answered, and before
it held the Lease again.

## Why it matters

Leader election exists so that only one replica acts. Two that act at once undo each other's work, create what is there
already, and delete what the other needs. A leader that was stopped for a while (a paused machine, a starved container)
goes on when it wakes up, until it finds out that its time has passed.

## Proof

The take-over, and the writes. The audit log shows which process renewed the Lease before, and that the same process
sent the writes: by the Pod to which its token is bound, or else by its address and program. The API server received the
writes after it had answered the take-over.

## Looks alike but is benign

- A write that was received before the take-over was answered.
- Events, and the Lease itself: a replica that waits writes these, too.
- What one of the two also wrote before it had ever held the Lease, since that needs no Lease.
- A process that still renews another Lease: the writes may rest on that one.
- A process that cannot be distinguished from the new holder.

## What to do

End the process of the old leader, if it still runs. Find out what stopped it: its node, its CPU limit, its connection
to the API server. A process should end when it loses its Lease, and its renew deadline should be shorter than the
duration of the Lease. Look at each object that both have written.
"""

from collections.abc import Iterator

from timeline.core.actors import actor_of
from timeline.history.lifelines import Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import delete_pod, kubectl, writers_of
from timeline.judging.findings import Effect, Finding, Link, Occurrence, Part, Proof, Root, occurrence
from timeline.judging.leases.lost import TAKE_OVER, LateWrite, late_writes
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

SOON = setting("write-after-lease-lost", "soon", 60, "s", "Within which time a write of the new holder too does harm.")


@rule(
    "write-after-lease-lost",
    judges=("Lease",),
    needs=TAKE_OVER.needs,
    incident="The old holder of {anchor} went on writing after it had lost it",
    harm="{count} objects written",
)
def judge(lease: Track, world: World) -> Iterator[Finding]:
    by_object: dict[Name, list[LateWrite]] = {}  # whatever its UID, which not every line of a log tells
    for late in late_writes(lease, world):
        by_object.setdefault(late.track.name, []).append(late)
    for several in by_object.values():
        occurrences = tuple(sorted((_occurrence(late, world) for late in several), key=lambda each: each.first))
        ref, name = max((late.track.ref for late in several), key=lambda each: bool(each.uid)), lease.ref.name
        see = kubectl(lease.ref.namespace, "get lease {} -o yaml", name)
        latest = max(occurrences, key=lambda each: (each.length, -each.first))
        yield Finding(
            rule="write-after-lease-lost",
            subject=lease.ref,
            other=ref,
            anchor=lease.name,
            verdict=Verdict.EXACT if all(late.old.actor.bound for late in several) else Verdict.BOUNDED,
            summary=f"{ref.kind} {ref.name} was written {latest.interval} after its writer had lost Lease {name}",
            occurrences=occurrences,
            measured=latest,
            advice=(
                f"Look: does the process of the old holder still run? {see} names the new one.",
                *_end(several[-1]),
                f"Clean: look at {ref.kind} {ref.name}, which two processes may have written: {writers_of(ref)}.",
                "Prevent: find out what stopped the old holder (its node, its CPU limit, its connection), and let it "
                "end when it loses its Lease.",
                "Verify: only the holder of the Lease writes.",
            ),
        )


def _end(late: LateWrite) -> Iterator[str]:
    """Yield how to end the process of the old holder, as far as its token tells in which Pod it ran."""
    if command := delete_pod(late.old.actor):
        yield f"Stop: {command} ends the old holder, if it still runs."


def _occurrence(late: LateWrite, world: World) -> Occurrence:
    first, last, taken = late.writes[0], late.writes[-1], late.new.first
    ref, holder = late.track.ref, late.new.holder
    written = f"{ref.kind} {ref.name}"
    both = any(
        track is late.track and taken.time <= moment.time and abs(moment.time - first.time) <= SOON.microseconds
        for track, moment in world.writes_of(late.new.actor.process)
    )
    if both:
        effect = Effect.OBSERVED, f"{holder}, which holds the Lease, wrote {written} as well"
    else:
        effect = Effect.POSSIBLE, f"{holder} held the Lease and could have written {written} as well"
    proof = [Proof("Lease taken over", late.lease.ref, taken), Proof("written by the old holder", ref, first, Part.ACT)]
    if last is not first:
        proof.append(Proof("last write by the old holder", ref, last, Part.ACT))
    times = f" and {len(late.writes) - 1} more times" if len(late.writes) > 1 else ""
    sure = (
        "Exact: the token of one Pod sent"
        if late.old.actor.bound
        else "Bounded: one program at one address, which may be several processes, sent"
    )
    return occurrence(
        *proof,
        headline=f"{actor_of(first.entry)} wrote {written} {late.late} after {holder} had taken Lease "
        f"{late.lease.ref.name}{times}",
        plural="Leases",
        why=f"{sure} the renewals of the Lease and the write, which was received after the take-over was answered.",
        effect=effect,
        acts=tuple(Proof("written by the old holder", ref, each, Part.ACT) for each in late.writes[1:-1]),
        links=(_link(late),),
        arrow=f"{late.late} after",
        interval=late.late,
    )


def _link(late: LateWrite) -> Link:
    """Return what connects all writes of one holder after one loss of a Lease."""
    lease, taken = late.lease, late.new.first
    names = (lease.ref.namespace, lease.ref.name)
    key = "\n".join(("lost", *names, lease.ref.uid, late.old.actor.process, taken.identity or str(taken.time)))
    return Link(Root.LOST_LEASE, key, names, taken.time, late.writes[-1].time)
