"""Read CSINodes, in which a kubelet names the storage drivers that have registered at it."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Driver(msgspec.Struct, gc=False):
    name: str = ""


class _Spec(msgspec.Struct, gc=False):
    drivers: tuple[_Driver, ...] | None = None


class CSINodeShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class CSINodeFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a CSINode, which has the name of its Node."""

    drivers: tuple[str, ...] = ()


def _facts(node: CSINodeShape) -> CSINodeFacts:
    return CSINodeFacts(*node.metadata.common, drivers=tuple(each.name for each in node.spec.drivers or ()))


def _phase(node: CSINodeFacts) -> Phase:
    if node.deleting:
        return Phase("Terminating", "ended")
    return Phase(", ".join(node.drivers) or "No driver", "strong" if node.drivers else "pale")


def _marks(before: CSINodeFacts, after: CSINodeFacts) -> Iterable[Mark]:
    for driver in after.drivers:
        if driver not in before.drivers:
            yield Mark("ready", f"driver {driver} registered")
    for driver in before.drivers:
        if driver not in after.drivers:
            yield Mark("status", f"driver {driver} gone")


KIND = Kind(
    "storage.k8s.io",
    "CSINode",
    "csi",
    "Cluster",
    CSINodeShape,
    CSINodeFacts,
    _facts,
    _phase,
    _marks,
    namespaced=False,
    subresources=(),
)
