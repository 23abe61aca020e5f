"""A Lease that changes hands too often.

## What it sees

A Lease had at least 3 take-overs within 5 minutes. A take-over is a new holder that differs from the last one, even if
the Lease had no holder in between.

## Why it matters

Each new leader starts with empty caches and lists everything again, and the work that the old one had begun is left
half done. The causes are leaders that fail in turn, an API server that is too slow for renewals, or two programs on one
Lease.

## Proof

The take-overs, which are writes of one Lease in the order of their revisions. The times are those at which the API
server received them. If lines may be missing before a take-over, the whole time since the write before counts.

## Looks alike but is benign

- A rollout, a drain or a scale-down, in which the Lease moves between Pods of one workload. A holder whose Pod had been
  asked to end does not count, nor does a holder of which nothing tells whether it had been.
- Renewals, however many.
- Fewer take-overs, or the same number over a longer time.
- Many Leases of one operator, each taken once.
- The heartbeats of nodes in `kube-node-lease`.

## What to do

Find out why each holder lost the Lease: look at its container's last state and its log ("failed to renew lease"). If
requests to the API server are slow, look there first; a longer `--leader-elect-lease-duration` only hides it. If the
holders belong to different workloads, see lease-contention.
"""

from collections.abc import Iterator

from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence
from timeline.judging.leases.elections import Election, Handover
from timeline.judging.leases.sharing import links_of
from timeline.judging.leases.terms import is_heartbeat, sureness, sureness_words
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import between


@rule(
    "lease-flapping",
    judges=("Lease",),
    times=True,
    needs=(
        need(line("Lease", verbs="create update")),
        need(line("Lease", verbs="create"), misses="holders from the creation of the Lease on"),
        need(line("Lease", verbs="update"), misses="holders that do not create the Lease anew"),
        need(line("Pod", verbs="state"), misses="holders whose Pods had ended"),
    ),
    incident="{anchor} kept changing hands",
    harm="{anchors} changed hands again and again",
)
def judge(lease: Track, world: World) -> Iterator[Finding]:
    if is_heartbeat(lease):
        return
    election = Election(lease, world)
    stretches = [_occurrence(election, stretch) for stretch in election.flaps()]
    if not stretches:
        return
    most = max(stretches, key=lambda each: (len(each.proof), -each.length))
    yield Finding(
        rule="lease-flapping",
        subject=lease.ref,
        anchor=lease.name,
        verdict=sureness(*(proof.moment for each in stretches for proof in each.proof)),
        summary=f"Lease {lease.ref.name} changed hands {len(most.proof)} times in {most.interval}",
        occurrences=tuple(stretches),
        measured=most,
        advice=(
            "Look: why did each holder lose it? Its container's last state and its log tell; "
            f"{kubectl(lease.ref.namespace, 'get lease {} -o yaml', lease.ref.name)} names the one of now.",
            "Clean: see whether what the holder does has caught up since.",
            "Prevent: look at how long the API server takes to answer: who cannot renew in time has to give up.",
            f"Verify: {kubectl(lease.ref.namespace, 'get lease {} -w', lease.ref.name)} keeps one holder.",
        ),
    )


def _occurrence(election: Election, stretch: list[Handover]) -> Occurrence:
    ref, taken = election.lease.ref, [election.write(new.taken) for _, new in stretch]
    length = between(taken[0], taken[-1])
    holders = len({term.holder for handover in stretch for term in handover})
    return occurrence(
        *(Proof("taken over", ref, moment, Part.ACT) for moment in taken),
        headline=f"Lease {ref.name} changed hands {len(stretch)} times in {length}",
        plural="Leases",
        why=f"{sureness_words(*taken)}: the take-overs are writes of one Lease, and the API server's clock tells when "
        "each came.",
        effect=(Effect.POSSIBLE, f"{holders} holders led in turn"),
        links=links_of(election, stretch),
        interval=length,
    )
