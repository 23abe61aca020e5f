from collections.abc import Iterable

import msgspec

from timeline.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None


class PodGroupShape(Shape):
    status: _Status = msgspec.field(default_factory=_Status)


class PodGroupFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    phase: str = ""


def _facts(group: PodGroupShape) -> PodGroupFacts:
    return PodGroupFacts(**group.metadata.common, phase=group.status.phase or "")


def _phase(group: PodGroupFacts) -> Phase:
    if group.deleting:
        return Phase("Terminating", "ended")
    return Phase(group.phase or "New", "strong" if group.phase == "Running" else "pale")


def _marks(before: PodGroupFacts, after: PodGroupFacts) -> Iterable[Mark]:
    if before.phase != after.phase:
        yield Mark("status", f"phase {after.phase or 'empty'}")


KIND = Kind("scheduling.volcano.sh", "PodGroup", "pg", "Groups", PodGroupShape, PodGroupFacts, _facts, _phase, _marks)
