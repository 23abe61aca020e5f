"""Read Volcano's PodGroups."""

from timeline.kinds import Kind, Phase
from timeline.kinds.persistent_volume_claim import PhasedFacts, PhasedShape, facts, marks


def _phase(group: PhasedFacts) -> Phase:
    if group.deleting:
        return Phase("Terminating", "ended")
    return Phase(group.phase or "New", "strong" if group.phase == "Running" else "pale")


KIND = Kind("scheduling.volcano.sh", "PodGroup", "pg", "Groups", PhasedShape, PhasedFacts, facts, _phase, marks)
