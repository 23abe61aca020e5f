from collections.abc import Iterable

import msgspec

from timeline.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None


class ClaimShape(Shape):
    status: _Status = msgspec.field(default_factory=_Status)


class ClaimFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    phase: str = ""


def _facts(claim: ClaimShape) -> ClaimFacts:
    return ClaimFacts(**claim.metadata.common, phase=claim.status.phase or "")


def _phase(claim: ClaimFacts) -> Phase:
    if claim.deleting:
        return Phase("Terminating", "ended")
    return Phase(claim.phase or "Pending", "strong" if claim.phase == "Bound" else "pale")


def _marks(before: ClaimFacts, after: ClaimFacts) -> Iterable[Mark]:
    if before.phase != after.phase:
        yield Mark("status", after.phase.lower() or "no phase")


KIND = Kind("", "PersistentVolumeClaim", "pvc", "Claims", ClaimShape, ClaimFacts, _facts, _phase, _marks)
