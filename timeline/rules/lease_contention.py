"""Two workloads that take each other's Lease.

## What it sees

The holders of one Lease that follow each other belong to different workloads: their Pods belong to different
Deployments, StatefulSets or DaemonSets, or they name different components in the Events of the election. A holder
without a known workload is unknown, not different.

## Why it matters

If two programs elect their leader on one Lease, one of them is idle although it seems healthy. Volcano's scheduler
names its Lease `volcano`, whatever `--scheduler-name` says (volcano-sh/volcano#3818): of two schedulers one schedules
nothing, and its Pods stay Pending without an Event.

## Proof

The last write of the one holder and the take-over by the other, which are revisions of one Lease. The holders'
workloads are known by the owners of their Pods, by workloads that name their Pods so, or by the component in "… became
leader". The finding is an error if Pods of a scheduler that did not lead waited longer than 15 s without a PodScheduled
condition, or if the Lease flaps; otherwise it is a warning. If nothing tells that the first workload was still wanted,
the finding is inconclusive.

## Looks alike but is benign

- Replicas of one Deployment, StatefulSet or DaemonSet.
- A rollout, which is a new ReplicaSet of the same Deployment, even if it renames the component.
- A workload that was deleted or scaled to zero before another one took its place.
- Holders on the host's network, which are named after nodes.
- A component that only repeats the holder's identity, as controller-runtime writes it.
- One operator whose controllers use a Lease each.
- The heartbeats of nodes in `kube-node-lease`.

## What to do

Give each scheduler a Lease of its own: `--leader-elect-resource-name=<its --scheduler-name>`, for which `kubectl edit`
of its Deployment is enough tonight. The role of its account has to allow that Lease. Then see whether what waited has
gone on.
"""

from collections import defaultdict
from collections.abc import Iterator

from timeline.core.entries import Level, ObjectRef
from timeline.core.order import SECOND
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import about, kubectl, own_leases
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence
from timeline.judging.leases.elections import Election, Handover
from timeline.judging.leases.holders import WORKLOADS, last_ref
from timeline.judging.leases.sharing import links_of
from timeline.judging.leases.terms import is_heartbeat
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

WAIT = setting("lease-contention", "wait", 15, "s", "How long a Pod waits for a scheduler without the Lease at least.")
AFFECTED = 100  # the most Pods that a finding names


@rule(
    "lease-contention",
    judges=("Lease",),
    needs=(
        need(line("Lease", verbs="create update")),
        need(line("Pod", *WORKLOADS, verbs="state"), line("Event", verbs="create")),
        need(line("Lease", verbs="create"), misses="holders from the creation of the Lease on"),
        need(line("Lease", verbs="update"), misses="holders that do not create the Lease anew"),
        need(line("Pod", verbs="state"), misses="holders whose workload only their Pods show, and Pods that waited"),
        need(line("Pod", verbs="delete", level=Level.METADATA), misses="holders whose Pod was to go"),
    ),
    also=(line(*WORKLOADS, verbs="delete"),),
    incident="{anchor} went between holders that need Leases of their own{times}",
    harm="{anchors} went from one to the other",
)
def judge(lease: Track, world: World) -> Iterator[Finding]:
    if is_heartbeat(lease):
        return
    election = Election(lease, world)
    rivals = {
        (old, new): wanted
        for old, new in election.handovers
        if election.holders.differ(old, new)
        and (wanted := election.wanted(old, election.write(new.taken))) is not False
    }
    sure = [handover for handover, wanted in rivals.items() if wanted]
    if rivals:
        yield _finding(election, sure or list(rivals), Verdict.EXACT if sure else Verdict.INCONCLUSIVE)


def _finding(election: Election, rivals: list[Handover], verdict: Verdict) -> Finding:
    lease, world, holders = election.lease, election.world, election.holders
    terms = [term for handover in rivals for term in handover]
    names = sorted({holders.title(term) for term in terms})
    waiting = _waiting(election, rivals)
    effect = _effect(election, waiting)
    workloads = [last_ref(name, world) for name in sorted({each for each in map(holders.workload, terms) if each})]
    return Finding(
        rule="lease-contention",
        subject=lease.ref,
        anchor=lease.name,
        verdict=verdict,
        summary=f"Lease {lease.ref.name} was held in turn by {' and '.join(names)}",
        occurrences=tuple(_occurrence(election, handover, verdict, effect) for handover in rivals),
        advice=_advice(lease, names, workloads),
        affects=(*workloads, *waiting[:AFFECTED]),
    )


def _occurrence(election: Election, handover: Handover, verdict: Verdict, effect: tuple[Effect, str]) -> Occurrence:
    (old, new), ref = handover, election.lease.ref
    was, now = election.holders.title(old), election.holders.title(new)
    whose = f"both are writes of one Lease, held by {old.holder} of {was} and by {new.holder} of {now}"
    sure = f"Exact: {whose}; the first was still wanted when the second took it."
    unsure = f"Inconclusive: {whose}; nothing says whether the first was still wanted."
    return occurrence(
        Proof(f"held by {was}", ref, election.write(old.renewed)),
        Proof(f"taken by {now}", ref, election.write(new.taken), Part.ACT),
        headline=f"Lease {ref.name} went from {was} to {now}",
        plural="Leases",
        why=unsure if verdict is Verdict.INCONCLUSIVE else sure,
        effect=effect,
        links=links_of(election, [handover]),
    )


def _effect(election: Election, waiting: list[ObjectRef]) -> tuple[Effect, str]:
    if waiting:
        pods = f"{len(waiting)} Pods" if len(waiting) > 1 else "a Pod"
        return Effect.OBSERVED, f"{pods} waited for a scheduler that did not lead"
    if election.flaps():
        return Effect.OBSERVED, "the Lease changed hands again and again"
    return Effect.POSSIBLE, "no Pod was seen to wait for the other"


def _waiting(election: Election, rivals: list[Handover]) -> list[ObjectRef]:
    """Return the Pods that waited for one of these schedulers while it did not lead."""
    begin = election.write(rivals[0][0].taken).time
    schedulers = {name for handover in rivals for term in handover for name in election.holders.schedulers(term)}
    led: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for term in election.terms:
        renewed = election.write(term.renewed)
        until = renewed.time + renewed.facts.duration * SECOND
        end = until if term.left is None else min(until, election.write(term.left).time)
        for name in election.holders.schedulers(term):
            led[name].append((election.write(term.taken).time, end))
    found = []
    for pod in election.world.of_kind("", "Pod", election.lease.until, after=begin) if schedulers else ():
        scheduler = pod.value("scheduler")
        if scheduler not in schedulers:
            continue
        start, end = max(begin, pod.first.time), _waited_until(pod, election.world)
        served = sum(max(0, min(end, until) - max(start, since)) for since, until in led[scheduler])
        waited = end - start - served >= WAIT.microseconds
        if waited and election.world.complete("", "Pod", start, end, pod.ref.namespace):
            found.append(pod.ref)
    return found


def _waited_until(pod: Track, world: World) -> int:
    """Return the drawn time at which a scheduler first considered a Pod, or at which the Pod stopped waiting."""
    for moment in pod.moments:
        facts = moment.facts
        if facts.scheduled or facts.node or facts.terminal or facts.deleting:
            return moment.time
    return world.last if pod.until is None else pod.until


def _advice(lease: Track, names: list[str], workloads: list[ObjectRef]) -> tuple[str, ...]:
    return (
        f"Look: who leads now? {about('get', lease.ref, ' -o yaml')} names the holder.",
        *own_leases(workloads),
        "Clean: see whether what waited for the one that did not lead has gone on.",
        f"Prevent: give each of {' and '.join(names)} its own Lease: let whatever installs them, such as a chart, name "
        "it after the release.",
        f"Verify: {kubectl(lease.ref.namespace, 'get lease {} -w', lease.ref.name)} keeps one holder.",
    )
