"""Read Volcano's PodGroups."""

import msgspec

from timeline.kinds import Kind, Phase
from timeline.kinds.persistent_volume_claim import PhasedFacts, PhasedShape, marks


class _Spec(msgspec.Struct, gc=False):
    minMember: int | None = None


class PodGroupShape(PhasedShape):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class PodGroupFacts(PhasedFacts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a PodGroup."""

    least: int = 0  # how many Pods have to be bound together; 0 if it does not say


def _facts(group: PodGroupShape) -> PodGroupFacts:
    return PodGroupFacts(*group.metadata.common, phase=group.status.phase or "", least=group.spec.minMember or 0)


def _phase(group: PodGroupFacts) -> Phase:
    if group.deleting:
        return Phase("Terminating", "ended")
    return Phase(group.phase or "New", "strong" if group.phase == "Running" else "pale")


KIND = Kind("scheduling.volcano.sh", "PodGroup", "pg", "Groups", PodGroupShape, PodGroupFacts, _facts, _phase, marks)
