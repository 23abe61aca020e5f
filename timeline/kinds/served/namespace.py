"""Read Namespaces: what a Namespace that is being deleted still waits for."""

import re
from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape

_LONGEST = 4096  # characters of a message that are searched
_LEFT = re.compile(r"(?:: |, )([A-Za-z0-9][-./_A-Za-z0-9]{0,316}) in \d+ resource instances")
_RESOURCE = re.compile(r"(?:: |, )([a-z0-9][-.a-z0-9]{0,316}) has \d+ resource instances")


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""
    message: str | None = None


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None
    conditions: tuple[_Condition, ...] | None = None


class NamespaceShape(Shape):
    status: _Status = msgspec.field(default_factory=_Status)


class NamespaceFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a Namespace."""

    phase: str = ""
    finalizers_left: tuple[str, ...] = ()  # those of objects in it, while it is being deleted
    resources_left: tuple[str, ...] = ()  # those that it still has objects of, such as "widgets.example.com"
    undiscovered: bool = False  # its controller could not list all kinds, as an APIService does not answer


def _facts(namespace: NamespaceShape) -> NamespaceFacts:
    true = {each.type: each.message or "" for each in namespace.status.conditions or () if each.status == "True"}
    finalizers, resources = true.get("NamespaceFinalizersRemaining", ""), true.get("NamespaceContentRemaining", "")
    return NamespaceFacts(
        *namespace.metadata.common,
        phase=namespace.status.phase or "",
        finalizers_left=tuple(_LEFT.findall(finalizers[:_LONGEST])),
        resources_left=tuple(_RESOURCE.findall(resources[:_LONGEST])),
        undiscovered="NamespaceDeletionDiscoveryFailure" in true,
    )


def _phase(namespace: NamespaceFacts) -> Phase:
    if namespace.deleting:
        return Phase("Terminating", "ended")
    return Phase(namespace.phase or "Active", "strong")


def _marks(before: NamespaceFacts, after: NamespaceFacts) -> Iterable[Mark]:
    if before.finalizers_left != after.finalizers_left:
        yield Mark("finalizer", f"waits for {', '.join(after.finalizers_left) or 'no finalizer'}")


KIND = Kind(
    "",
    "Namespace",
    "ns",
    "Cluster",
    NamespaceShape,
    NamespaceFacts,
    _facts,
    _phase,
    _marks,
    namespaced=False,
    subresources=("status", "finalize"),
)
