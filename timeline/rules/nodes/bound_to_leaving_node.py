"""A Pod that was bound to a node that was about to go.

## What it sees

A node got a taint by which an autoscaler or a drain marks it as leaving, was made unschedulable, or was asked to end.
Shortly after, a Pod was bound to it. The node went without the Pod having been evicted.

## Why it matters

The Pod is lost together with the node: nobody asked it to stop, and its owner notices only when the node is found to be
gone, minutes later.

## Proof

The write that marked the node, the binding that was committed after it, and the deletion of the node, before which the
Pod was not asked to end.

## Looks alike but is benign

- A Pod that tolerates the taint, and Pods of DaemonSets.
- A drain that evicts the Pod, too.
- A Pod that had finished.
- A Pod that never started: its owner lost nothing, and this is only an info.

## What to do

Let whoever takes nodes away look again for Pods after the taint, before it deletes the node.
"""

from collections.abc import Iterator

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.nodes.bindings import Binding, binding_of, node_at
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, order_of, why

WITHIN = setting("bound-to-leaving-node", "within", 60, "s", "How soon after the mark the Pod was bound.")
_LEAVING = (
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "node.kubernetes.io/unschedulable",
    "node.cloudprovider.kubernetes.io/shutdown",
    "aws-node-termination-handler/",
)


@rule(
    "bound-to-leaving-node",
    judges=("Pod",),
    needs=(
        need(line("Pod", verbs="state")),
        need(line("Node", verbs="update")),
        need(line("Node", verbs="delete")),
        need(line("Pod", verbs="update status"), misses="Pods whose binding only a later write shows"),
        need(line("Pod", verbs="delete"), misses="Pods that were evicted"),
    ),
    incident="{subjects} were bound to nodes that were about to go",
    harm="{count} Pods lost with their nodes",
    times=True,
)
def judge(pod: Track, world: World) -> Iterator[Finding]:
    bound = binding_of(pod)
    if bound is None or (pod.owner and pod.owner.kind in ("DaemonSet", "Node")):
        return
    node = node_at(bound.node, bound.moment.time, world, pod.until)
    if node is None or node.ended is None or (pod.until is not None and node.ended.time > pod.until):
        return
    marked = _marked(node, bound, pod)
    gone, asked = node.ended, pod.asked_to_end
    if marked is None or gone.time < bound.moment.time or (asked is not None and asked <= gone.time):
        return
    facts, verdict = pod.facts_at(gone.time), order_of(marked, bound.moment)
    if verdict is None or facts is None or facts.terminal or not world.gapless(pod, bound.moment.time, gone.time):
        return
    yield _finding(pod, node.ref, bound, marked, gone, ran=facts.phase == "Running", verdict=verdict)


def _marked(node: Track, bound: Binding, pod: Track) -> Moment | None:
    """Return the write from which on a node was about to go when a Pod was bound to it; None if it was not, was marked
    long before, or if the Pod tolerates that."""
    marked = None
    for moment in node.moments:
        if moment.at > bound.moment.at:
            break
        mark = moment.facts is not None and _mark(moment)
        marked = (marked or moment) if mark and not _tolerated(mark, pod) else None
    return marked if marked and bound.moment.time - marked.time <= WITHIN.microseconds else None


def _mark(moment: Moment) -> str:
    """Return what says that a node is about to go: the key of a taint, or a word; "" if nothing does."""
    facts = moment.facts
    if facts.deleting:
        return "deleted"
    taints = (each.partition(":")[0].partition("=")[0] for each in getattr(facts, "taints", ()))
    found = next((each for each in taints if each.startswith(_LEAVING)), "")
    return found or ("unschedulable" if getattr(facts, "unschedulable", False) else "")


def _tolerated(mark: str, pod: Track) -> bool:
    tolerated = pod.value("tolerates") or ()
    return mark in tolerated or "*" in tolerated


def _finding(
    pod: Track, node: ObjectRef, bound: Binding, marked: Moment, gone: Moment, *, ran: bool, verdict: Verdict
) -> Finding:
    ref, late = pod.ref, between(marked, bound.moment)
    role = f"marked: {_mark(marked)}"
    lost = "{names} ran on it, and was lost with it" if ran else "{names} had not started when it went"
    once = occurrence(
        Proof(role, node, marked),
        Proof(f"bound to {node.name}", ref, bound.moment, Part.ACT),
        Proof("node deleted", node, gone, Part.REMOVED),
        headline=f"{{subjects}} was bound to Node {node.name} {late} after that had been marked as leaving",
        plural="Pods",
        why=why(verdict, marked, bound.moment),
        effect=(Effect.OBSERVED if ran else Effect.NONE, lost),
        interval=between(bound.moment, gone),
    )
    return Finding(
        rule="bound-to-leaving-node",
        subject=ref,
        other=node,
        verdict=verdict,
        summary=f"Pod {ref.name} was bound to Node {node.name}, which was about to go, and was never evicted",
        occurrences=(once,),
        measured=once,
        advice=(
            "Look: who marked the node, and who bound the Pod? The proof has the actors.",
            f"Clean: delete the Pod, so that its owner creates another one: "
            f"{kubectl(ref.namespace, 'delete pod {} --force --grace-period=0', ref.name)}, as the node is gone.",
            "Prevent: upgrade the autoscaler; it has to look for Pods again after it has set the taint.",
            f"Verify: {kubectl(ref.namespace, 'get pods -o wide')} shows no Pod on {node.name}.",
        ),
    )
