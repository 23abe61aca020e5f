from collections.abc import Iterable
from typing import Any

import msgspec

from timeline.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Subset(msgspec.Struct, gc=False):
    addresses: tuple[Any, ...] | None = None
    notReadyAddresses: tuple[Any, ...] | None = None


class EndpointsShape(Shape):
    subsets: tuple[_Subset, ...] | None = None


class EndpointsFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    ready: int = 0
    not_ready: int = 0


def _facts(endpoints: EndpointsShape) -> EndpointsFacts:
    subsets = endpoints.subsets or ()
    return EndpointsFacts(
        **endpoints.metadata.common,
        ready=sum(len(each.addresses or ()) for each in subsets),
        not_ready=sum(len(each.notReadyAddresses or ()) for each in subsets),
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


KIND = Kind("", "Endpoints", "ep", "Endpoints", EndpointsShape, EndpointsFacts, _facts, _phase, _marks)
