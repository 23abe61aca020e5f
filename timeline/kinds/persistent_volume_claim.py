"""Read PersistentVolumeClaims."""

from collections.abc import Iterable
from typing import Any

import msgspec

from timeline.core.entries import Facts
from timeline.core.order import At
from timeline.kinds import Kind, Mark, Phase, Shape


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None


class PhasedShape(Shape):
    status: _Status = msgspec.field(default_factory=_Status)


class PhasedFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of the kinds for which only the phase of the status matters."""

    phase: str = ""


def facts(shape: PhasedShape) -> PhasedFacts:
    return PhasedFacts(*shape.metadata.common, phase=shape.status.phase or "")


def marks(before: PhasedFacts, after: PhasedFacts) -> Iterable[Mark]:
    if before.phase != after.phase:
        yield Mark("status", f"phase {after.phase or 'empty'}")


def _phase(claim: PhasedFacts) -> Phase:
    if claim.deleting:
        return Phase("Terminating", "ended")
    return Phase(claim.phase or "Pending", "strong" if claim.phase == "Bound" else "pale")


def _spells(claim: Any) -> Iterable[tuple[str, At, At | None]]:
    """Yield one spell, "claimed", that begins with the first moment and does not end, so that the claims of an owner
    can be counted."""
    yield "claimed", claim.first.at, None


KIND = Kind(
    "", "PersistentVolumeClaim", "pvc", "Claims", PhasedShape, PhasedFacts, facts, _phase, marks, spells=_spells
)
