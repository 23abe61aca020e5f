"""Read HorizontalPodAutoscalers: how many replicas they want of what they scale."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Reference, Shape


class _Target(msgspec.Struct, gc=False):
    apiVersion: str | None = None
    kind: str | None = None
    name: str | None = None


class _Spec(msgspec.Struct, gc=False):
    scaleTargetRef: _Target | None = None


class _Status(msgspec.Struct, gc=False):
    desiredReplicas: int | None = None


class HorizontalPodAutoscalerShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class HorizontalPodAutoscalerFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a HorizontalPodAutoscaler."""

    wanted: int = -1  # replicas; -1 if it does not say
    target: Reference | None = None


def _facts(scaler: HorizontalPodAutoscalerShape) -> HorizontalPodAutoscalerFacts:
    target, wanted = scaler.spec.scaleTargetRef, scaler.status.desiredReplicas
    named = target and target.kind and target.name
    return HorizontalPodAutoscalerFacts(
        *scaler.metadata.common,
        wanted=-1 if wanted is None else wanted,
        target=(
            Reference((target.apiVersion or "").rpartition("/")[0], target.kind or "", target.name or "", "scales")
            if target and named
            else None
        ),
    )


def _phase(scaler: HorizontalPodAutoscalerFacts) -> Phase:
    if scaler.deleting:
        return Phase("Terminating", "ended")
    return Phase("New", "pale") if scaler.wanted < 0 else Phase(f"wants {scaler.wanted}", "strong")


def _marks(before: HorizontalPodAutoscalerFacts, after: HorizontalPodAutoscalerFacts) -> Iterable[Mark]:
    if before.wanted != after.wanted:
        yield Mark("status", f"wants {after.wanted}")


def _references(scaler: HorizontalPodAutoscalerFacts) -> Iterable[Reference]:
    return (scaler.target,) if scaler.target else ()


KIND = Kind(
    "autoscaling",
    "HorizontalPodAutoscaler",
    "hpa",
    "Workloads",
    HorizontalPodAutoscalerShape,
    HorizontalPodAutoscalerFacts,
    _facts,
    _phase,
    _marks,
    _references,
)
