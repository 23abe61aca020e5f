"""Objects that a controller created beyond what their owner asks for, and deleted again.

## What it sees

The controller of ReplicaSets created a Pod although as many were active as `spec.replicas` asks for, and then deleted
Pods of the ReplicaSet that had not finished, while its `metadata.generation` stayed the same. Or the controller of a
custom resource created two objects of one role, shortly after each other, and deleted one of them again, while the
generation of the custom resource stayed the same; or that of a DaemonSet two Pods for one node. Objects are of one role
if the API server has completed their names from the same beginning.

## Why it matters

The surplus Pods are scheduled, pull images and take work before they are deleted, and the ones that are deleted need
not be the surplus ones: Pods that served may go instead. The controller had not seen what it had created itself, or two
controllers acted at a time.

## Proof

The creations beyond `spec.replicas`, and the deletions by the same controller, which deletes Pods only if it counts too
many, between two states of the ReplicaSet of one generation. No line of Pods is known to be missing. The greatest
`replicas` of the last 30 s counts. Of a custom resource or a DaemonSet: the two creations and the deletion, by one
program, after which there were as many of the role as before the second creation.

## Looks alike but is benign

- A rollout with surge: it has several ReplicaSets, each of which is judged by its own number.
- A ReplicaSet that was scaled down while its Pods were created.
- The replacement of a Pod that was evicted, deleted, preempted, or that failed.
- A Pod that was adopted: then the ReplicaSet has one too many that its controller did not create.
- Surplus Pods that are never deleted: nothing shows that the controller did not want them.
- Retries of a Job: job-excess-pods judges the Pods of Jobs.
- Objects of a custom resource that are of several roles, such as one for each zone, or whose names have numbers.
- The replacement of an object that was deleted or had finished before, or one that comes after the deletion.
- Two objects of one role that both stay.

## What to do

Find out whether two controllers ran, or why the controller had not seen its own Pods: an API server or a proxy that
holds its watch back. If it goes on, restart it. Undo what the surplus Pods did twice. Kubernetes 1.36 lets the
controller of ReplicaSets wait until it has seen its own writes (KEP-5647).
"""

from collections.abc import Iterator

from timeline.core.actors import actor_of
from timeline.core.entries import Level
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import about, kubectl, restart
from timeline.judging.cleanup import MOST
from timeline.judging.coverage.lines import SELDOM_OWN, line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence
from timeline.judging.jobs.surplus import Surplus, surpluses
from timeline.judging.jobs.twins import Twin, twins
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between

NOTICE = setting("duplicate-child", "notice", 30, "s", "How long a controller may take to notice smaller replicas.")
CLOSE = setting("duplicate-child", "close", 5, "s", "How soon after the first object of a role the second one comes.")
WITHIN = setting("duplicate-child", "within", 60, "s", "How soon after its creation the surplus is deleted.")


@rule(
    "duplicate-child",
    judges=(),
    spares=SELDOM_OWN,
    needs=(
        need(line("ReplicaSet", verbs="state"), misses="ReplicaSets, as nothing says how many Pods they ask for"),
        need(line("Pod", verbs="create", sent=True)),
        need(line("Pod", verbs="delete", level=Level.METADATA, sent=True)),
        need(line("ReplicaSet", verbs="status"), misses="ReplicaSets whose status alone was written meanwhile"),
        need(line("Pod", verbs="status"), misses="ReplicaSets whose Pods may have ended"),
    ),
    also=(line(verbs="create delete", sent=True),),
    incident="{anchor} got more objects than it asked for{times}",
    harm="{count} objects too many in {anchors}",
)
def judge(owner: Track, world: World) -> Iterator[Finding]:
    if owner.ref.kind != "ReplicaSet" or owner.ref.group != "apps":
        yield from _twice(owner, world)
        return
    found = list(surpluses(owner, world, NOTICE.microseconds, WITHIN.microseconds))
    if not found:
        return
    ref, count = owner.ref, sum(len(each.created) for each in found)
    pods = f"{count} Pods" if count > 1 else "one Pod"
    yield Finding(
        rule="duplicate-child",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{ref.kind} {ref.name} got {pods} more than the {found[0].allowed} that it asks for",
        occurrences=tuple(_occurrence(owner, each) for each in found),
        affects=tuple(done.pod.ref for each in found for done in each.created)[:MOST],
        count=count,
        advice=(
            f"Look: do two controllers act at a time? The Events in {about('describe', ref)} tell who created Pods "
            "and who deleted them.",
            *restart(actor_of(found[-1].created[-1].moment.entry)),
            "Clean: see what the surplus Pods did while they ran, and undo what was done twice.",
            "Prevent: find out why the controller had not seen its own Pods: a watch that is held back, a Lease that "
            "was lost; Kubernetes 1.36 lets it wait until it has seen them (KEP-5647).",
            f"Verify: {kubectl(ref.namespace, 'get replicaset {} -w', ref.name)} shows that the numbers stay.",
        ),
    )


def _occurrence(owner: Track, surplus: Surplus) -> Occurrence:
    first, last, deleted = surplus.created[0], surplus.created[-1], surplus.deleted
    proof = [
        Proof(f"asks for {surplus.allowed}", owner.ref, surplus.state),
        Proof("first surplus Pod created", first.pod.ref, first.moment, Part.ACT),
    ]
    if last is not first:
        proof.append(Proof("last surplus Pod created", last.pod.ref, last.moment, Part.ACT))
    proof.append(Proof("first one deleted", deleted[0].pod.ref, deleted[0].moment, Part.ACT))
    proof[1:] = sorted(proof[1:], key=lambda each: each.moment.at)
    count = len(surplus.created)
    return occurrence(
        *proof,
        headline=f"{first.actor.component} created {count} {'Pods' if count > 1 else 'Pod'} more than the "
        f"{surplus.allowed} that {{subjects}} asks for, and deleted {len(deleted)}",
        plural="ReplicaSets",
        why="Exact: no line of Pods is known to be missing, and the ReplicaSet had one generation from the creations "
        "to the deletions.",
        effect=(Effect.POSSIBLE, f"{len(deleted)} {'Pods were' if len(deleted) > 1 else 'Pod was'} deleted again"),
        first=first.moment.time,
        last=max(last.moment.time, deleted[-1].moment.time),
        acts=tuple(
            Proof(each.moment.change.value, each.pod.ref, each.moment, Part.ACT)
            for each in (*surplus.created, *surplus.deleted)
        ),
    )


def _twice(owner: Track, world: World) -> Iterator[Finding]:
    """Yield a finding about the objects of one role that the controller of an owner created twice."""
    found = list(twins(owner, world, CLOSE.microseconds, WITHIN.microseconds))
    if not found:
        return
    ref, twin = owner.ref, found[0]
    resource = twin.second[0].ref.kind.lower()
    yield Finding(
        rule="duplicate-child",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{twin.actor.component} created {twin.second[0].ref.kind} {twin.role} of {ref.kind} {ref.name} twice, "
        "and deleted one again",
        occurrences=tuple(_of_twin(each) for each in found),
        affects=tuple(each.deleted[0].ref for each in found)[:MOST],
        count=len(found),
        advice=(
            f"Look: {kubectl(ref.namespace, 'get {} -w', resource)}, and the log of {twin.actor.component}: did two of "
            "its replicas act at a time, or had it not seen what it had created?",
            *restart(twin.actor),
            "Clean: see what the surplus object did while it was there, and undo what was done twice.",
            "Prevent: let the controller create objects by a name that follows from their role, so that a second "
            "creation is refused, or wait until its cache has the first one.",
            f"Verify: {kubectl(ref.namespace, 'get {} -w', resource)} shows one object for each role.",
        ),
    )


def _of_twin(twin: Twin) -> Occurrence:
    (first, one), (second, other), (deleted, asked) = twin.first, twin.second, twin.deleted
    kind = second.ref.kind
    return occurrence(
        Proof(f"first {kind} created", first.ref, one),
        Proof(f"second {kind} created", second.ref, other, Part.ACT),
        Proof("one of them deleted", deleted.ref, asked, Part.ACT),
        headline=f"{twin.actor.component} created {kind} {twin.role} of {{subjects}} twice within "
        f"{between(one, other)}, and deleted one again",
        plural="owners",
        why="Exact: no line of these objects is known to be missing, and their owner had one generation all the time.",
        effect=(Effect.POSSIBLE, f"{kind} {deleted.ref.name} was deleted again"),
        first=one.time,
    )
