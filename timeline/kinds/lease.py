"""Read Leases."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Spec(msgspec.Struct, gc=False):
    holderIdentity: str | None = None
    leaseDurationSeconds: int | None = None
    leaseTransitions: int | None = None
    renewTime: str | None = None


class LeaseShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class LeaseFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a Lease."""

    holder: str = ""
    duration: int = 0  # seconds
    transitions: int = 0
    renewed: str = ""  # renewTime as text: a new value shows a renewal, but not its time, since holders' clocks differ
    steady: bool = False  # renewals before this one were left out, and each of them came within the duration


def _facts(lease: LeaseShape) -> LeaseFacts:
    spec = lease.spec
    return LeaseFacts(
        *lease.metadata.common,
        holder=spec.holderIdentity or "",
        duration=spec.leaseDurationSeconds or 0,
        transitions=spec.leaseTransitions or 0,
        # No rule needs the heartbeats that each node sends every ten seconds.
        renewed="" if lease.metadata.namespace == "kube-node-lease" else spec.renewTime or "",
    )


def _phase(lease: LeaseFacts) -> Phase:
    return Phase(lease.holder.partition("_")[0], "strong") if lease.holder else Phase("no holder", "muted")


def _marks(before: LeaseFacts, after: LeaseFacts) -> Iterable[Mark]:
    if before.holder != after.holder:
        if after.holder:
            yield Mark("taken", f"taken by {after.holder}")
        else:
            yield Mark("released", f"released by {before.holder}")


def _again(before: LeaseFacts, after: LeaseFacts, apart: int) -> LeaseFacts | None:
    """Return the facts to keep if the second write only renewed the Lease, in time and for the same holder; else
    None."""
    same = replace(before, renewed=after.renewed, steady=after.steady) == after
    renewed = before.renewed != after.renewed or not after.renewed
    in_time = after.steady or apart <= after.duration * 1_000_000
    return replace(after, steady=True) if same and renewed and in_time else None


def _drawn(lease: LeaseFacts) -> LeaseFacts:
    """Return the facts without renewals. Most changes of Leases are nothing else."""
    return replace(lease, renewed="", steady=False) if lease.renewed or lease.steady else lease


KIND = Kind(
    "coordination.k8s.io",
    "Lease",
    "lease",
    "Leases",
    LeaseShape,
    LeaseFacts,
    _facts,
    _phase,
    _marks,
    again=_again,
    drawn=_drawn,
    subresources=(),
)
