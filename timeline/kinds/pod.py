from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from timeline.entries import Facts, microseconds
from timeline.kinds import Kind, Mark, Phase, Reference, Shape

Time = Annotated[datetime, msgspec.Meta(tz=True)]


class _State(msgspec.Struct, gc=False):
    startedAt: Time | None = None
    exitCode: int = 0


class _ContainerState(msgspec.Struct, gc=False):
    running: _State | None = None
    terminated: _State | None = None


class _ContainerStatus(msgspec.Struct, gc=False):
    restartCount: int = 0
    state: _ContainerState | None = None
    lastState: _ContainerState | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Named(msgspec.Struct, gc=False):
    name: str | None = None
    claimName: str | None = None


class _Volume(msgspec.Struct, gc=False):
    configMap: _Named | None = None
    persistentVolumeClaim: _Named | None = None


class _Spec(msgspec.Struct, gc=False):
    nodeName: str | None = None
    hostname: str | None = None
    subdomain: str | None = None
    volumes: tuple[_Volume, ...] | None = None


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None
    reason: str | None = None
    conditions: tuple[_Condition, ...] | None = None
    containerStatuses: tuple[_ContainerStatus, ...] | None = None


class PodShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class PodFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    phase: str = ""
    node: str = ""
    hostname: str = ""
    subdomain: str = ""
    ready: bool = False
    started: int = 0  # earliest start of a container that is or was running, microseconds; whole seconds, node clock
    restarts: int = 0
    failed: bool = False  # a container ended with an exit code other than 0
    disrupted: bool = False  # evicted, preempted or taken off its node: it did not end by itself
    asked: int = 0  # when its deletion was asked for, microseconds; whole seconds, API server's clock
    attempt: int = -1  # Volcano's volcano.sh/job-version
    config_maps: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    @property
    def terminal(self) -> bool:
        return self.phase in {"Succeeded", "Failed"}

    def failed_since(self, before: "PodFacts") -> bool:
        """Whether a container failed or was restarted between two revisions, and not because the Pod was stopped."""
        if self.deleting or self.disrupted:
            return False
        return self.restarts > before.restarts or (self.failed and not before.failed)


def _asked(pod: PodShape) -> int:
    """deletionTimestamp is when the grace period ends."""
    if pod.metadata.deletionTimestamp is None:
        return 0
    ends = microseconds(msgspec.convert(pod.metadata.deletionTimestamp, Time))
    return min(ends, max(0, ends - (pod.metadata.deletionGracePeriodSeconds or 0) * 1_000_000))


def _facts(pod: PodShape) -> PodFacts:
    containers = pod.status.containerStatuses or ()
    states = [state for each in containers for state in (each.state, each.lastState) if state]
    runs = [run for state in states for run in (state.running, state.terminated) if run]
    annotations = pod.metadata.annotations or {}
    attempt = annotations.get("volcano.sh/job-version", "")
    volumes = pod.spec.volumes or ()
    holding = {each.type for each in pod.status.conditions or () if each.status == "True"}
    return PodFacts(
        **pod.metadata.common,
        phase=pod.status.phase or "",
        node=pod.spec.nodeName or "",
        hostname=pod.spec.hostname or "",
        subdomain=pod.spec.subdomain or "",
        ready="Ready" in holding,
        started=min((microseconds(run.startedAt) for run in runs if run.startedAt), default=0),
        restarts=sum(each.restartCount for each in containers),
        failed=pod.status.phase == "Failed" or any(state.terminated and state.terminated.exitCode for state in states),
        disrupted=pod.status.reason == "Evicted" or "DisruptionTarget" in holding,
        asked=_asked(pod),
        attempt=int(attempt) if attempt.isdecimal() else -1,
        config_maps=tuple(each.configMap.name for each in volumes if each.configMap and each.configMap.name),
        claims=tuple(
            each.persistentVolumeClaim.claimName
            for each in volumes
            if each.persistentVolumeClaim and each.persistentVolumeClaim.claimName
        ),
    )


def _phase(pod: PodFacts) -> Phase:
    if pod.terminal:
        return Phase(pod.phase, "ended")
    if pod.deleting:
        return Phase("Terminating", "ended")
    if pod.phase == "Running":
        return Phase("Running", "strong")
    return Phase("Scheduled", "pale") if pod.node else Phase("Pending", "muted")


def _marks(before: PodFacts, after: PodFacts) -> Iterable[Mark]:
    if after.node and not before.node:
        yield Mark("scheduled", f"scheduled to {after.node}")
    if after.phase == "Running" != before.phase:
        yield Mark("started", "running")
    if after.ready and not before.ready:
        yield Mark("ready", "ready")
    if after.restarts > before.restarts:
        yield Mark("restarted", f"restarted, {after.restarts} in all")
    if after.terminal and not before.terminal:
        yield Mark("finished", after.phase.lower())


def _references(pod: PodFacts) -> Iterable[Reference]:
    if pod.subdomain:
        yield Reference("", "Service", pod.subdomain, "subdomain")
    for name in pod.config_maps:
        yield Reference("", "ConfigMap", name, "config")
    for name in pod.claims:
        yield Reference("", "PersistentVolumeClaim", name, "claim")


KIND = Kind(
    "", "Pod", "pod", "Pods", PodShape, PodFacts, _facts, _phase, _marks, _references, subtitle=lambda pod: pod.node
)
