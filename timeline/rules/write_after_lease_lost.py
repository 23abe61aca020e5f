"""A write by a process that had lost its Lease to another.

## What it sees

A process that held a Lease wrote an object after another holder's take-over of the Lease had been answered, and before
it held the Lease again.

## Why it matters

Leader election exists so that only one replica acts. Two that act at once undo each other's work, create what is there
already, and delete what the other needs. A leader that was stopped for a while (a paused machine, a starved container)
goes on when it wakes up, until it finds out that its time has passed.

## Proof

The take-over, and the writes. The audit log shows which process renewed the Lease for the old holder and that the same
process sent the writes: by the Pod to which its token is bound, or by its address and program if no other holder of the
Lease shares these. The API server received the writes after it had answered the take-over.

## Looks alike but is benign

- A write that was received before the take-over was answered.
- Events, and the Lease itself: a replica that waits writes these, too.
- What the process also wrote before it first held the Lease, since that needs no Lease.
- A process that still renews another Lease: the writes may rest on that one.
- A process that cannot be told apart from the new holder.

## What to do

Find out what stopped the old leader: its node, its CPU limit, its connection to the API server. A process should end
when it loses its Lease, and its renew deadline should be shorter than the duration of the Lease. Look at each object
that both have written.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from timeline.core.actors import Actor, actor_of
from timeline.core.entries import Clock
from timeline.history.lifelines import Moment, Track
from timeline.history.world import World
from timeline.judging.findings import Effect, Finding, Occurrence, Proof, occurrence
from timeline.judging.leases import Term, is_heartbeat, terms_of
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between

SOON = setting(
    "write-after-lease-lost",
    "soon",
    60,
    "s",
    "Within which time a write of the new holder to the same object does harm.",
)
_WITHOUT_LEASE = frozenset({"Event", "Lease"})  # kinds that replicas write which hold no Lease


@rule(
    "write-after-lease-lost",
    judges=("Lease",),
    needs=("Lease",),
    incident="The old holder of {anchor} went on writing after it had lost it",
)
def judge(lease: Track, world: World) -> Iterator[Finding]:
    if is_heartbeat(lease) or world.live:
        return
    terms = terms_of(lease)
    by_object: dict[Track, list[Occurrence]] = defaultdict(list)
    for place, (old, new) in enumerate(pairwise(terms)):
        if old.holder != new.holder:
            for track, each in _after(lease, terms, place, world):
                by_object[track].append(each)
    for track in sorted(by_object, key=lambda track: track.key):
        yield _finding(lease, track, by_object[track])


def _after(lease: Track, terms: Sequence[Term], place: int, world: World) -> Iterator[tuple[Track, Occurrence]]:
    """Yield an occurrence for each object that the holder of a term wrote after the next holder had taken the Lease."""
    old, new = terms[place], terms[place + 1]
    taken = lease.moments[new.taken]
    was, now = _writer(lease, old), _writer(lease, new)
    if was is None or now is None or was.process == now.process or taken.clock is not Clock.AUDIT:
        return
    if not was.bound and any(each and each.process == was.process for each in _others(lease, terms, old)):
        return  # several holders share address and program
    again = (each for each in terms[place + 2 :] if _same(_writer(lease, each), was))
    until = next((lease.moments[each.taken].entry.received for each in again), None)
    writes: dict[Track, list[Moment]] = defaultdict(list)
    for track, moment in world.writes_of(was.process):
        sent = moment.entry.received
        if sent > taken.entry.staged and (until is None or sent < until) and track.ref.kind not in _WITHOUT_LEASE:
            writes[track].append(moment)
    if not writes or _holds_another(lease, was, taken, world):
        return
    alone = _written_without(was, lease.moments[terms[0].taken], world) if place == 0 else set()
    for track, moments in writes.items():
        if (track.ref.group, track.ref.kind, _component(moments[0])) not in alone:
            yield track, _occurrence(lease, track, moments, (old, new), now, world)


def _writer(lease: Track, term: Term) -> Actor | None:
    """Return the process that renewed the Lease last in a term; None if the audit log does not show it."""
    return actor_of(lease.moments[term.renewed].entry) if lease.moments[term.renewed].entry.client else None


def _same(one: Actor | None, other: Actor) -> bool:
    return one is not None and one.process == other.process


def _others(lease: Track, terms: Sequence[Term], own: Term) -> Iterator[Actor | None]:
    return (_writer(lease, each) for each in terms if each.holder != own.holder)


def _holds_another(lease: Track, process: Actor, taken: Moment, world: World) -> bool:
    """Return whether a process renewed another Lease after it had lost this one."""
    return any(
        track.ref.kind == "Lease" and track is not lease and moment.entry.received > taken.entry.staged
        for track, moment in world.writes_of(process.process)
    )


def _written_without(process: Actor, first: Moment, world: World) -> set[tuple[str, str, str]]:
    """Return group, kind and component of what a process wrote before it first held the Lease."""
    return {
        (track.ref.group, track.ref.kind, _component(moment))
        for track, moment in world.writes_of(process.process)
        if moment.entry.staged < first.entry.received
    }


def _component(moment: Moment) -> str:
    actor = actor_of(moment.entry)
    return actor.component if actor else ""


def _occurrence(
    lease: Track, track: Track, writes: Sequence[Moment], terms: tuple[Term, Term], leader: Actor, world: World
) -> Occurrence:
    old, new = terms
    taken, first, last = lease.moments[new.taken], writes[0], writes[-1]
    ref, actor = track.ref, actor_of(first.entry)
    length = between(taken, first)
    both = [
        moment
        for other, moment in world.writes_of(leader.process)
        if other is track and abs(moment.time - first.time) <= SOON.microseconds and moment.time >= taken.time
    ]
    if both:
        effect = Effect.OBSERVED, f"{new.holder}, which holds the Lease, wrote {{names}} as well"
    else:
        effect = Effect.POSSIBLE, f"{new.holder} held the Lease and could have written {{names}} as well"
    proof = [Proof("Lease taken over", lease.ref, taken), Proof("written by the old holder", ref, first)]
    if last is not first:
        proof.append(Proof("last write by the old holder", ref, last))
    times = f" and {len(writes) - 1} more times" if len(writes) > 1 else ""
    return occurrence(
        *proof,
        headline=f"{actor} wrote {{subjects}} {length} after {new.holder} had taken Lease {lease.ref.name}{times}",
        plural=f"objects of kind {ref.kind}",
        why="Exact: the request was received after the take-over was answered, and the process that sent it is the one "
        f"that renewed the Lease for {old.holder}.",
        effect=effect,
        arrow=f"{length} after",
        interval=length,
    )


def _finding(lease: Track, track: Track, occurrences: Sequence[Occurrence]) -> Finding:
    ref, name = track.ref, lease.ref.name
    latest = max(occurrences, key=lambda each: (each.length, -each.first))
    return Finding(
        rule="write-after-lease-lost",
        subject=lease.ref,
        other=ref,
        anchor=lease.name,
        verdict=Verdict.EXACT,
        summary=f"{ref.kind} {ref.name} was written {latest.interval} after its writer had lost Lease {name}",
        occurrences=tuple(occurrences),
        measured=latest,
        advice=(
            "Stop: end the process of the old holder, if it still runs.",
            f"Clean: look at {ref.kind} {ref.name}, which two processes may have written.",
            "Prevent: find out what stopped the old holder (its node, its CPU limit, its connection), and let it end "
            "when it loses its Lease.",
            "Verify: only the holder of the Lease writes.",
        ),
    )
