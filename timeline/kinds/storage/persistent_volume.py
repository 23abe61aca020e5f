"""Read PersistentVolumes: which claim each belongs to, and whether several nodes may have it."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Reference, Shape

_OF_ONE_NODE = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})


class _Claim(msgspec.Struct, gc=False):
    namespace: str | None = None
    name: str | None = None


class _Spec(msgspec.Struct, gc=False):
    accessModes: tuple[str, ...] | None = None
    claimRef: _Claim | None = None


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None


class PersistentVolumeShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class PersistentVolumeFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a PersistentVolume."""

    phase: str = ""
    claim: Reference | None = None
    exclusive: bool = False  # only one node at a time may have it


def _facts(volume: PersistentVolumeShape) -> PersistentVolumeFacts:
    claim, modes = volume.spec.claimRef, volume.spec.accessModes
    return PersistentVolumeFacts(
        *volume.metadata.common,
        phase=volume.status.phase or "",
        claim=(
            Reference("", "PersistentVolumeClaim", claim.name, "claim", claim.namespace or "")
            if claim and claim.name
            else None
        ),
        exclusive=bool(modes) and _OF_ONE_NODE.issuperset(modes or ()),
    )


def _phase(volume: PersistentVolumeFacts) -> Phase:
    if volume.deleting:
        return Phase("Terminating", "ended")
    return Phase(volume.phase or "Pending", "strong" if volume.phase == "Bound" else "pale")


def _marks(before: PersistentVolumeFacts, after: PersistentVolumeFacts) -> Iterable[Mark]:
    if before.phase != after.phase:
        yield Mark("status", f"phase {after.phase or 'empty'}")


def _references(volume: PersistentVolumeFacts) -> Iterable[Reference]:
    return (volume.claim,) if volume.claim else ()


KIND = Kind(
    "",
    "PersistentVolume",
    "pv",
    "Claims",
    PersistentVolumeShape,
    PersistentVolumeFacts,
    _facts,
    _phase,
    _marks,
    _references,
    namespaced=False,
)
