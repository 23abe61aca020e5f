"""Pods that a node refused after they had been bound to it, again and again.

## What it sees

Pods of one owner were bound to one node and then failed at once with a reason by which a kubelet refuses a Pod, such as
`OutOfcpu`, `UnexpectedAdmissionError` or `NodeAffinity`. The owner created another one each time.

## Why it matters

The scheduler and the kubelet do not agree on what the node has. Each Pod that is refused is replaced at once, bound to
the same node and refused again: hundreds of failed Pods, and none that runs.

## Proof

Each Pod that failed with such a reason and whose containers never started, and its owner. As many as the setting
`times` within the setting `within` are a warning.

## Looks alike but is benign

- A few Pods that are refused once, such as when a node restarts: this is only an info.
- Pods that a node refuses because it shuts down.
- Pods that were evicted, preempted, or that ran and failed. Pods that a node does not take because it lacks memory or
  disk have the reason `Evicted`, too, but never ran.

## What to do

Keep Pods away from the node, and find out why its kubelet counts otherwise than the scheduler.
"""

from collections.abc import Iterator

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import OWNERS, line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.nodes.bindings import node_at
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict
from timeline.kinds.pod import refusal_of

TIMES = setting("refused-by-node", "times", 3, "", "How many refused Pods of one owner are a warning.")
WITHIN = setting("refused-by-node", "within", 600, "s", "How long before and after a refused Pod others count.")


@rule(
    "refused-by-node",
    judges=("Pod",),
    needs=(
        need(line("Pod", verbs="state")),
        need(line("Pod", verbs="status"), misses="Pods whose failure only a write of the status shows"),
    ),
    also=(OWNERS,),
    incident="A node refused {subjects} that were bound to it",
    harm="{count} Pods that a node refused",
)
def judge(pod: Track, world: World) -> Iterator[Finding]:
    refused = refusal_of(pod)
    if refused is None:
        return
    ref, node, reason = pod.ref, refused.facts.node, refused.facts.refused
    known = node_at(node, refused.time, world) if node else None
    named = ObjectRef("", "v1", "Node", "", node) if node else None
    where, count = f"Node {node}" if node else "its node", _refused(pod, refused, world)
    others = "{names} did not run"
    if pod.owner and count > 1:
        others = f"{count} Pods of {pod.owner.kind} {pod.owner.name} were refused"
    once = occurrence(
        *([Proof("created", ref, pod.created, Part.ACT)] if pod.created else []),
        Proof(f"refused: {reason}", ref, refused, Part.ACT),
        headline=f"{where} refused {{subjects}}: {reason}",
        plural="Pods",
        why="Exact: the status of the Pod gives the reason.",
        effect=(Effect.POSSIBLE if count >= TIMES.value else Effect.NONE, others),
    )
    node = node or "NODE"
    yield Finding(
        rule="refused-by-node",
        subject=ref,
        other=known.ref if known else named,
        verdict=Verdict.EXACT,
        summary=f"{where} refused Pod {ref.name}: {reason}",
        occurrences=(once,),
        advice=(
            f"Look: {kubectl('', 'describe node {}', node)}: what does it say that it has, and what runs there that "
            "the scheduler does not know, such as static Pods?",
            f"Stop: keep Pods away from it: {kubectl('', 'cordon {}', node)}.",
            "Clean: delete the failed Pods: "
            + kubectl(ref.namespace, "delete pods --field-selector=status.phase=Failed")
            + ", which deletes all failed Pods of the namespace.",
            "Prevent: restart the kubelet or the device plugin that counts otherwise, before the node takes Pods "
            "again.",
            f"Verify: {kubectl(ref.namespace, 'get pods -w')} shows that the next Pod runs.",
        ),
    )


def _refused(pod: Track, refused: Moment, world: World) -> int:
    """Return how many Pods of the owner were refused shortly before and after this one, which counts, too."""
    if pod.owner is None:
        return 1
    start, end = refused.time - WITHIN.microseconds, world.no_later(refused.time + WITHIN.microseconds)
    until = max(refused.at, (end, refused.at[1]))
    return world.tally(pod.owner.uid, "refused", until) - world.tally(pod.owner.uid, "refused", (start, 0))
