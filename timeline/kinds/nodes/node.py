"""Read Nodes: whether they take Pods."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Taint(msgspec.Struct, gc=False):
    key: str = ""
    value: str | None = None
    effect: str = ""


class _Spec(msgspec.Struct, gc=False):
    taints: tuple[_Taint, ...] | None = None
    unschedulable: bool | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: tuple[_Condition, ...] | None = None


class NodeShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class NodeFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a Node."""

    taints: tuple[str, ...] = ()  # "key:effect" or "key=value:effect", as kubectl writes them
    unschedulable: bool = False
    ready: str = ""  # the status of condition Ready: "True", "False", "Unknown"; "" without the condition


def _facts(node: NodeShape) -> NodeFacts:
    ready = next((each.status for each in node.status.conditions or () if each.type == "Ready"), "")
    return NodeFacts(
        *node.metadata.common,
        taints=tuple(map(_taint, node.spec.taints or ())),
        unschedulable=bool(node.spec.unschedulable),
        ready=ready,
    )


def _taint(taint: _Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _phase(node: NodeFacts) -> Phase:
    if node.deleting:
        return Phase("Terminating", "ended")
    if node.ready != "True":
        return Phase("Not ready" if node.ready else "New", "pale")
    return Phase("Unschedulable", "muted") if node.unschedulable else Phase("Ready", "strong")


def _marks(before: NodeFacts, after: NodeFacts) -> Iterable[Mark]:
    if before.ready != after.ready:
        yield Mark("ready" if after.ready == "True" else "status", f"ready: {after.ready or 'unknown'}")
    for taint in after.taints:
        if taint not in before.taints:
            yield Mark("status", f"taint {taint}")
    for taint in before.taints:
        if taint not in after.taints:
            yield Mark("status", f"taint {taint} taken away")


KIND = Kind(
    "", "Node", "node", "Cluster", NodeShape, NodeFacts, _facts, _phase, _marks, aliases=("no",), namespaced=False
)
