"""A Lease taken over while its holder's term was still running.

## What it sees

A new holder wrote itself into a Lease although the old holder had renewed it less than `leaseDurationSeconds` before,
and had not released it.

## Why it matters

The old holder considers itself the leader until its term has run out, so two controllers or schedulers act at once. The
election exists to prevent this.

## Proof

The last renewal and the take-over, which are two writes of one Lease that follow each other: the second names the
revision of the first, or nothing is missing from the log. Their times are those at which the API server received them,
never those that the holders wrote into the Lease. The shorter of the two holders' durations counts, and whatever the
clocks leave open counts in favour of the new holder.

## Looks alike but is benign

- A hand-over by release (an empty holder).
- A take-over after the duration ran out, as after a killed leader.
- A holder with a wrong clock, or a duration that was changed.
- A write that renews nothing, such as an annotation.
- A watch that does not show `managedFields`, without which nothing tells when a Lease was written.
- A log in which the release may be missing.
- The heartbeats of nodes in `kube-node-lease`.

## What to do

Find out who wrote the take-over: the actor and the user agent of the proof. Two programs that share a Lease by accident
need Leases of their own. A program that ignores the duration, or an operator who edits the Lease by hand, has to wait
for the end of the term or let the holder release the Lease.
"""

from collections.abc import Iterator

from timeline.core.durations import Length
from timeline.core.entries import Change
from timeline.core.order import SECOND
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence
from timeline.judging.leases.elections import Election
from timeline.judging.leases.sharing import links_of
from timeline.judging.leases.terms import Term, at_most, is_heartbeat, sureness, sureness_words
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import between


@rule(
    "lease-stolen",
    judges=("Lease",),
    times=True,
    needs=(
        need(line("Lease", verbs="create update")),
        need(line("Lease", verbs="create"), misses="terms from the creation of the Lease on"),
        need(line("Lease", verbs="update"), misses="holders that do not create the Lease anew"),
    ),
    incident="{anchor} was taken over while its term was running{times}",
    harm="{anchors} taken over while its term was running",
)
def judge(lease: Track, world: World) -> Iterator[Finding]:
    if is_heartbeat(lease):
        return
    election = Election(lease, world)
    thefts = [_occurrence(election, old, new) for old, new in election.handovers if _is_stolen(election, old, new)]
    if not thefts:
        return
    soonest = min(thefts, key=lambda theft: theft.length)
    words = "get lease {} -o yaml --show-managed-fields"
    see = kubectl(lease.ref.namespace, words, lease.ref.name)
    times = f"{len(thefts)} times" if len(thefts) > 1 else f"{soonest.interval} after its holder had renewed it"
    yield Finding(
        rule="lease-stolen",
        subject=lease.ref,
        anchor=lease.name,
        verdict=sureness(*(proof.moment for theft in thefts for proof in theft.proof)),
        summary=f"Lease {lease.ref.name} was taken over {times}, while its term was running",
        occurrences=tuple(thefts),
        measured=soonest,
        advice=(
            f"Look: who wrote the take-over? The proof names the program, and {see} who wrote last.",
            "Clean: both may have led for a time: see whether something was done twice.",
            "Prevent: give each program a Lease of its own, such as by `--leader-elect-resource-name`.",
            "Do not edit a Lease by hand: let its holder release it, or wait for the end of its term.",
            f"Verify: {kubectl(lease.ref.namespace, 'get lease {} -w', lease.ref.name)} keeps one holder.",
        ),
    )


def _duration(election: Election, old: Term, new: Term) -> int:
    """Return the shorter of the durations that two holders set in a Lease, in seconds; 0 if neither set one."""
    writes = election.write(old.renewed), election.write(new.taken)
    return min((each.facts.duration for each in writes if each.facts.duration), default=0)


def _is_stolen(election: Election, old: Term, new: Term) -> bool:
    if old.left != new.taken:
        return False  # the old holder released the Lease, or nobody saw how it changed
    renewed, taken = election.write(old.renewed), election.write(new.taken)
    if at_most(renewed, taken) >= _duration(election, old, new):
        return False
    # Only the write before it shows that a write was a renewal; a creation always is one.
    start = old.renewed if renewed.change is Change.CREATED else old.renewed - 1
    return start >= 0 and election.unbroken(start, new.taken)


def _occurrence(election: Election, old: Term, new: Term) -> Occurrence:
    ref, renewed, taken = election.lease.ref, election.write(old.renewed), election.write(new.taken)
    duration, length = _duration(election, old, new), between(renewed, taken)
    left = Length(max(0, duration * SECOND - (length.most or 0)), duration * SECOND - length.least)
    chained = taken.replaces is not None and taken.replaces == renewed.stamp.resource_version
    unbroken = "it replaced what the renewal wrote" if chained else "no release between, and no line known to be lost"
    return occurrence(
        Proof("last renewal", ref, renewed),
        Proof("taken over", ref, taken, Part.ACT),
        headline=f"Lease {ref.name} was taken over {length} into a term of {duration} s",
        plural="Leases",
        why=f"{sureness_words(renewed, taken)}: the API server received the renewal and the take-over, {unbroken}, and "
        f"of the {duration} s from the renewal {left} were left.",
        effect=(Effect.OBSERVED, f"{new.holder} led while {old.holder} could take itself for the leader"),
        links=links_of(election, [(old, new)]),
        arrow=f"{length} of {duration} s",
        interval=length,
    )
