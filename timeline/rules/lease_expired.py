"""A Lease that its holder let run out.

## What it sees

A Lease with a holder was not renewed for longer than its `leaseDurationSeconds` and a tolerance: the larger of 5 s and
a third of the duration.

## Why it matters

From then on there is no leader. Its work (scheduling, reconciling) stops until another holder takes over.

## Proof

Two writes of one Lease that follow each other, of which the second renews, takes or releases the Lease too late. It is
sure that they follow each other if the second names the revision of the first, or if nothing is missing from the log.
The times are those at which the API server received the writes. If no later write was seen, and the recording goes on
without the Lease, the finding is an info: the recorder may have stopped.

## Looks alike but is benign

- A leader that was killed and replaced as soon as its duration ran out, at most some seconds late.
- A Lease that was released or deleted, and so has no holder.
- A holder with a wrong clock, or a duration that was changed.
- A log with missing lines, or one that stops.
- The heartbeats of nodes (in `kube-node-lease`) and of API servers (`apiserver-…` in `kube-system`).
- A holder that was stopped on purpose, because its Pod was deleted or its workload was scaled to zero (info).

## What to do

Look at the holder at that time: was its node lost, was its container restarted or short of CPU, could it reach the API
server? Where the pause matters, run two replicas, so that the other one takes over as soon as the duration has run out.
"""

from collections.abc import Iterator

from timeline.core.actors import actor_of
from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import delete_pod, kubectl
from timeline.judging.coverage.lines import OWNERS, line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence, worst
from timeline.judging.leases.elections import Election
from timeline.judging.leases.terms import is_heartbeat, renews, sureness, sureness_words
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import between, dated, so_far

SLACK = setting("lease-expired", "slack", 5, "s", "How late a renewal may be at least, however short the duration.")
SHARE = setting("lease-expired", "share", 1 / 3, "", "How late a renewal may be, as a part of the Lease's duration.")


@rule(
    "lease-expired",
    judges=("Lease",),
    times=True,
    needs=(
        need(line("Lease", verbs="state")),
        need(line("Lease", verbs="create"), misses="terms from the creation of the Lease on"),
        need(line("Lease", verbs="update"), misses="Leases that were renewed too late"),
    ),
    also=(OWNERS,),
    incident="{anchor} was not renewed in time{times}",
    harm="{anchors} not renewed in time",
)
def judge(lease: Track, world: World) -> Iterator[Finding]:
    if is_heartbeat(lease):
        return
    election = Election(lease, world)
    expired = tuple(found for start, end in _pauses(lease) if (found := _occurrence(election, start, end)))
    if not expired:
        return
    longest = worst(expired)
    see = kubectl(lease.ref.namespace, "get lease {} -o yaml", lease.ref.name)
    others = f", the longest of {len(expired)} such times" if len(expired) > 1 else ""
    yield Finding(
        rule="lease-expired",
        subject=lease.ref,
        anchor=lease.name,
        verdict=sureness(*(proof.moment for each in expired for proof in each.proof)),
        summary=longest.headline + others,
        occurrences=expired,
        measured=longest,
        advice=(
            f"Look: what happened to the holder that {see} names? Its node, its container's last state, how long its "
            "requests took.",
            *_end(expired[-1]),
            "Clean: see whether what the holder does has caught up since.",
            "Prevent: run a second replica where the pause matters: it takes over when the duration has run out.",
            f"Verify: {see} names a holder, and its `renewTime` moves on.",
        ),
    )


def _end(last: Occurrence) -> Iterator[str]:
    """Yield how to end a holder that has not renewed the Lease since, if its token tells in which Pod it runs."""
    command = delete_pod(actor_of(last.proof[0].moment.entry))
    if last.open and command:
        yield f"Stop: if the holder hangs, {command} ends it, so that another one can take over."


def _pauses(lease: Track) -> Iterator[tuple[int, int | None]]:
    """Yield the time between each renewal and the next one, as indexes of two writes.

    The first is a write after which the Lease has a holder. The second is the next write that renews, takes or releases
    it, or may do so; None if there is none.
    """
    held: int | None = None
    for place, moment in enumerate(lease.moments):
        shown = moment.entry.facts is not None and moment.change is not Change.DELETED
        if held is not None:
            before = lease.moments[held]
            if shown and moment.facts.steady:
                held = place
                continue
            if shown and moment.facts.holder == before.facts.holder and not renews(before, moment):
                continue
            yield held, place
        held = place if shown and moment.facts.holder else None
    if held is not None:
        yield held, None


def _occurrence(election: Election, start: int, end: int | None) -> Occurrence | None:
    """Return the time between two writes as an occurrence, if it surely was longer than the Lease allows; else None."""
    ref, world, before = election.lease.ref, election.world, election.write(start)
    term = before.facts.duration
    after = None if end is None else election.write(end)
    length = between(before, after) if after else so_far(before, world.last)
    if not term or not dated(before) or length.least / 1e6 <= term + max(SLACK.value, SHARE.value * term):
        return None
    if not (_nothing_follows(election, start, before) if end is None else election.unbroken(start, end)):
        return None
    last = max(before.time, after.time if after else world.last)
    proof = (Proof("last renewal", ref, before), *((Proof("next write", ref, after, Part.LATE),) if after else ()))
    effect = Effect.POSSIBLE, f"{before.facts.holder} held it, and nobody led"
    if after is None:
        effect = Effect.NONE, "its holder may have ended, too"
    elif election.stopped(start, last):
        effect = Effect.NONE, "nobody led, for its holder had been stopped"
    return occurrence(
        *proof,
        last=last,
        headline=f"Lease {ref.name} was not renewed for {length}, in a term of {term} s",
        plural="Leases",
        why=_why(before, after),
        effect=effect,
        hole=f"not renewed · {length}",
        open=after is None,
        interval=length,
    )


def _why(before: Moment, after: Moment | None) -> str:
    sure = sureness_words(before, after or before)
    if after is None:
        return f"{sure}: no write of it follows in the recording. The recorder may simply have stopped."
    return f"{sure}: no write of it lies between these two, and the API server's clock tells when they came."


def _nothing_follows(election: Election, start: int, before: Moment) -> bool:
    """Return whether surely no write of the Lease follows in the recording."""
    ref, last = election.lease.ref, len(election.lease.moments) - 1
    complete = election.world.complete(ref.group, ref.kind, before.time, election.world.last, ref.namespace)
    return complete and election.unbroken(start, last) and election.lease.gone_by is None
