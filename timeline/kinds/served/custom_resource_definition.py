"""Read CustomResourceDefinitions: whether the API serves the kind that each defines."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: tuple[_Condition, ...] | None = None


class CustomResourceDefinitionShape(Shape):
    status: _Status = msgspec.field(default_factory=_Status)


class CustomResourceDefinitionFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a CustomResourceDefinition."""

    established: bool = False


def _facts(definition: CustomResourceDefinitionShape) -> CustomResourceDefinitionFacts:
    conditions = definition.status.conditions or ()
    return CustomResourceDefinitionFacts(
        *definition.metadata.common,
        established=any(each.type == "Established" and each.status == "True" for each in conditions),
    )


def _phase(definition: CustomResourceDefinitionFacts) -> Phase:
    if definition.deleting:
        return Phase("Terminating", "ended")
    return Phase("Established", "strong") if definition.established else Phase("New", "pale")


def _marks(before: CustomResourceDefinitionFacts, after: CustomResourceDefinitionFacts) -> Iterable[Mark]:
    if before.established != after.established:
        yield Mark("ready" if after.established else "status", f"{'' if after.established else 'not '}established")


KIND = Kind(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "crd",
    "Cluster",
    CustomResourceDefinitionShape,
    CustomResourceDefinitionFacts,
    _facts,
    _phase,
    _marks,
    namespaced=False,
)
