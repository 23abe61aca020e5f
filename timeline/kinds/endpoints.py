"""Read Endpoints."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Metadata, Phase, Shape
from timeline.kinds.endpointslice import placement


class _Address(msgspec.Struct, gc=False):
    nodeName: str | None = None


class _Subset(msgspec.Struct, gc=False):
    addresses: tuple[_Address, ...] | None = None
    notReadyAddresses: tuple[_Address, ...] | None = None


class _Labels(msgspec.Struct, gc=False):
    managed_by: str = msgspec.field(default="", name="endpoints.kubernetes.io/managed-by")


class _Annotations(msgspec.Struct, gc=False):
    leader: str | None = msgspec.field(default=None, name="control-plane.alpha.kubernetes.io/leader")


class _Metadata(Metadata):
    labels: _Labels | None = None
    annotations: _Annotations | None = None


class EndpointsShape(Shape):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    subsets: tuple[_Subset, ...] | None = None


class EndpointsFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """How many addresses of an Endpoints object are ready, and on which nodes they are."""

    managed_by: str = ""
    lock: bool = False  # the object is used for leader election, as was usual before Leases existed
    ready: int = 0
    not_ready: int = 0
    placement: int = 0  # see `endpointslice.placement`


def _facts(endpoints: EndpointsShape) -> EndpointsFacts:
    subsets = endpoints.subsets or ()
    labels = endpoints.metadata.labels or _Labels()
    annotations = endpoints.metadata.annotations or _Annotations()
    ready = [address for each in subsets for address in each.addresses or ()]
    return EndpointsFacts(
        *endpoints.metadata.common,
        managed_by=labels.managed_by,
        lock=annotations.leader is not None,
        ready=len(ready),
        not_ready=sum(len(each.notReadyAddresses or ()) for each in subsets),
        placement=placement(each.nodeName for each in ready),
    )


def _phase(endpoints: EndpointsFacts) -> Phase:
    if endpoints.deleting:
        return Phase("Terminating", "ended")
    total = endpoints.ready + endpoints.not_ready
    text = f"{endpoints.ready} of {total} ready" if endpoints.not_ready else f"{endpoints.ready} ready"
    return Phase(text, "strong" if endpoints.ready else "pale")


def _marks(before: EndpointsFacts, after: EndpointsFacts) -> Iterable[Mark]:
    if (before.ready, before.not_ready) != (after.ready, after.not_ready):
        yield Mark("ready", f"{after.ready} ready, {after.not_ready} not")


KIND = Kind("", "Endpoints", "ep", "Endpoints", EndpointsShape, EndpointsFacts, _facts, _phase, _marks, subresources=())
