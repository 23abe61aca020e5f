"""Read EndpointSlices."""

from collections.abc import Iterable
from zlib import crc32

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Metadata, Phase, Reference, Shape

_FEW = 20  # the most endpoints of a slice whose Pods are kept: each change of a slice repeats all of them


class _Conditions(msgspec.Struct, gc=False):
    ready: bool | None = None


class _Target(msgspec.Struct, gc=False):
    kind: str | None = None
    name: str | None = None


class _Endpoint(msgspec.Struct, gc=False):
    conditions: _Conditions | None = None
    nodeName: str | None = None
    targetRef: _Target | None = None


class _Labels(msgspec.Struct, gc=False):
    service: str = msgspec.field(default="", name="kubernetes.io/service-name")
    managed_by: str = msgspec.field(default="", name="endpointslice.kubernetes.io/managed-by")


class _Metadata(Metadata):
    labels: _Labels | None = None


class EndpointSliceShape(Shape):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    endpoints: tuple[_Endpoint, ...] | None = None


class EndpointSliceFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """The Service to which a slice belongs, how many endpoints are ready, and on which nodes they are."""

    service: str = ""
    managed_by: str = ""
    endpoints: int = 0
    ready: int = 0
    # The names of the Pods whose endpoints are ready, and of those whose endpoints are not; () of a slice with many.
    ready_pods: tuple[str, ...] = ()
    unready_pods: tuple[str, ...] = ()
    placement: int = 0  # a checksum of the nodes of its ready endpoints; 0 if none is on a node


def placement(nodes: Iterable[str | None]) -> int:
    """Return a checksum that changes with the set of nodes. A slice of 1000 endpoints is written often, so the names of
    the nodes are not kept."""
    return crc32(" ".join(sorted({node for node in nodes if node})).encode())


def _facts(endpoint_slice: EndpointSliceShape) -> EndpointSliceFacts:
    endpoints = endpoint_slice.endpoints or ()
    labels = endpoint_slice.metadata.labels or _Labels()
    # The API says that an unknown readiness is to be taken as ready.
    ready = [each for each in endpoints if each.conditions is None or each.conditions.ready is not False]
    return EndpointSliceFacts(
        *endpoint_slice.metadata.common,
        service=labels.service,
        managed_by=labels.managed_by,
        endpoints=len(endpoints),
        ready=len(ready),
        ready_pods=_pods(endpoints, ready=True),
        unready_pods=_pods(endpoints, ready=False),
        placement=placement(each.nodeName for each in ready),
    )


def _pods(endpoints: tuple[_Endpoint, ...], *, ready: bool) -> tuple[str, ...]:
    """Return the names of the Pods whose endpoints are ready, or are not; () if there are more than _FEW endpoints."""
    if len(endpoints) > _FEW:
        return ()
    found = (each for each in endpoints if (each.conditions is None or each.conditions.ready is not False) is ready)
    targets = (each.targetRef for each in found if each.targetRef and each.targetRef.kind == "Pod")
    return tuple(sorted(each.name for each in targets if each.name))


def _phase(endpoint_slice: EndpointSliceFacts) -> Phase:
    if endpoint_slice.deleting:
        return Phase("Terminating", "ended")
    ready, total = endpoint_slice.ready, endpoint_slice.endpoints
    text = f"{ready} ready" if ready == total else f"{ready} of {total} ready"
    return Phase(text, "strong" if ready else "pale")


def _marks(before: EndpointSliceFacts, after: EndpointSliceFacts) -> Iterable[Mark]:
    if (before.ready, before.endpoints) != (after.ready, after.endpoints):
        yield Mark("ready", f"{after.ready} of {after.endpoints} ready")


def _references(endpoint_slice: EndpointSliceFacts) -> Iterable[Reference]:
    if endpoint_slice.service:
        yield Reference("", "Service", endpoint_slice.service, "service")


KIND = Kind(
    "discovery.k8s.io",
    "EndpointSlice",
    "eps",
    "Endpoints",
    EndpointSliceShape,
    EndpointSliceFacts,
    _facts,
    _phase,
    _marks,
    _references,
    subresources=(),
)
