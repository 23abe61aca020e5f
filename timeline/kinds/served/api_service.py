"""Read APIServices: whether the server behind a group of kinds answers."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Reference, Shape


class _Service(msgspec.Struct, gc=False):
    namespace: str | None = None
    name: str | None = None


class _Spec(msgspec.Struct, gc=False):
    group: str | None = None
    service: _Service | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: tuple[_Condition, ...] | None = None


class APIServiceShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class APIServiceFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of an APIService."""

    serves: str = ""  # the API group
    available: str = ""  # the status of condition Available: "True", "False", "Unknown"; "" without the condition
    service: Reference | None = None  # the Service behind it; None if the API server itself serves the group


def _facts(api: APIServiceShape) -> APIServiceFacts:
    service = api.spec.service
    named = Reference("", "Service", service.name or "", "API", service.namespace or "") if service else None
    return APIServiceFacts(
        *api.metadata.common,
        serves=api.spec.group or "",
        available=next((each.status for each in api.status.conditions or () if each.type == "Available"), ""),
        service=named,
    )


def _phase(api: APIServiceFacts) -> Phase:
    if api.deleting:
        return Phase("Terminating", "ended")
    return Phase("Available", "strong") if api.available == "True" else Phase("Not available", "pale")


def _marks(before: APIServiceFacts, after: APIServiceFacts) -> Iterable[Mark]:
    if before.available != after.available:
        yield Mark("ready" if after.available == "True" else "status", f"available: {after.available or 'unknown'}")


def _references(api: APIServiceFacts) -> Iterable[Reference]:
    return (api.service,) if api.service else ()


KIND = Kind(
    "apiregistration.k8s.io",
    "APIService",
    "apis",
    "Cluster",
    APIServiceShape,
    APIServiceFacts,
    _facts,
    _phase,
    _marks,
    _references,
    namespaced=False,
)
