from collections.abc import Iterable

import msgspec

from timeline.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Spec(msgspec.Struct, gc=False):
    holderIdentity: str | None = None


class LeaseShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class LeaseFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    holder: str = ""


def _facts(lease: LeaseShape) -> LeaseFacts:
    return LeaseFacts(**lease.metadata.common, holder=lease.spec.holderIdentity or "")


def _phase(lease: LeaseFacts) -> Phase:
    return Phase(lease.holder.partition("_")[0], "strong") if lease.holder else Phase("no holder", "muted")


def _marks(before: LeaseFacts, after: LeaseFacts) -> Iterable[Mark]:
    if before.holder != after.holder:
        if after.holder:
            yield Mark("taken", f"taken by {after.holder}")
        else:
            yield Mark("released", f"released by {before.holder}")


KIND = Kind("coordination.k8s.io", "Lease", "lease", "Leases", LeaseShape, LeaseFacts, _facts, _phase, _marks)
