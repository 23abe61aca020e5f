from collections.abc import Iterable
from functools import lru_cache

import msgspec

from timeline.core.entries import Facts
from timeline.core.job_pods import TERMINAL, spells
from timeline.kinds import Kind, Mark, Metadata, Phase, Reference, Shape, address, seconds


class _State(msgspec.Struct, gc=False):
    startedAt: str | None = None
    finishedAt: str | None = None
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


class _Source(msgspec.Struct, gc=False):
    """Where a volume or a variable comes from; a Secret's volume calls its name secretName."""

    name: str | None = None
    secretName: str | None = None
    claimName: str | None = None
    optional: bool | None = None


class _Projection(msgspec.Struct, gc=False):
    configMap: _Source | None = None
    secret: _Source | None = None


class _Projected(msgspec.Struct, gc=False):
    sources: tuple[_Projection, ...] | None = None


class _Volume(msgspec.Struct, gc=False):
    configMap: _Source | None = None
    secret: _Source | None = None
    persistentVolumeClaim: _Source | None = None
    projected: _Projected | None = None


class _EnvFrom(msgspec.Struct, gc=False):
    configMapRef: _Source | None = None
    secretRef: _Source | None = None


class _ValueFrom(msgspec.Struct, gc=False):
    configMapKeyRef: _Source | None = None
    secretKeyRef: _Source | None = None


class _Env(msgspec.Struct, gc=False):
    valueFrom: _ValueFrom | None = None


class _Container(msgspec.Struct, gc=False):
    envFrom: tuple[_EnvFrom, ...] | None = None
    env: tuple[_Env, ...] | None = None


class _Spec(msgspec.Struct, gc=False):
    nodeName: str | None = None
    hostname: str | None = None
    subdomain: str | None = None
    schedulerName: str | None = None
    serviceAccountName: str | None = None
    priorityClassName: str | None = None
    volumes: tuple[_Volume, ...] | None = None
    containers: tuple[_Container, ...] | None = None
    initContainers: tuple[_Container, ...] | None = None


class _PodIP(msgspec.Struct, gc=False):
    ip: str | None = None


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None
    reason: str | None = None
    conditions: tuple[_Condition, ...] | None = None
    containerStatuses: tuple[_ContainerStatus, ...] | None = None
    podIP: str | None = None
    podIPs: tuple[_PodIP, ...] | None = None


class _Annotations(msgspec.Struct, gc=False):
    attempt: str | None = msgspec.field(default=None, name="volcano.sh/job-version")
    index: str | None = msgspec.field(default=None, name="batch.kubernetes.io/job-completion-index")


class _Metadata(Metadata):
    annotations: _Annotations | None = None


class PodShape(Shape):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class PodFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    phase: str = ""
    node: str = ""
    hostname: str = ""
    subdomain: str = ""
    ready: bool = False
    started: int = 0  # earliest start of a container that is or was running, microseconds; whole seconds, node clock
    stopped: int = 0  # latest end of a container that has ended, microseconds; whole seconds, node clock
    restarts: int = 0
    failed: bool = False  # a container ended with an exit code other than 0
    disrupted: bool = False  # evicted, preempted or taken off its node: it did not end by itself
    scheduled: str = ""  # the status of condition PodScheduled: True, False, or "" where there is none
    attempt: int = -1  # Volcano's volcano.sh/job-version
    index: int = -1  # of an Indexed Job
    scheduler: str = ""
    addresses: tuple[str, ...] = ()  # status.podIPs; those of its node where it is on the host's network
    needs: tuple[Reference, ...] = ()  # ConfigMaps, Secrets, claims, … without which it cannot run; none is optional

    @property
    def terminal(self) -> bool:
        return self.phase in TERMINAL

    def failed_since(self, before: "PodFacts") -> bool:
        """Whether a container failed or was restarted between two revisions, and not because the Pod was stopped."""
        if self.deleting or self.disrupted:
            return False
        return self.restarts > before.restarts or (self.failed and not before.failed)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() else -1


def _facts(pod: PodShape) -> PodFacts:
    spec, status = pod.spec, pod.status
    started, stopped, restarts, failed = 0, 0, 0, status.phase == "Failed"
    for container in status.containerStatuses or ():
        restarts += container.restartCount
        if container.state and container.state.terminated and container.state.terminated.finishedAt:
            stopped = max(stopped, seconds(container.state.terminated.finishedAt))
        for state in (container.state, container.lastState):
            run = state and (state.terminated or state.running)
            if state and run:
                failed = failed or (state.terminated is not None and state.terminated.exitCode != 0)
                if run.startedAt:
                    began = seconds(run.startedAt)
                    started = min(started or began, began)
    ready = disrupted = False
    scheduled = ""
    for condition in status.conditions or ():
        if condition.type == "PodScheduled":
            scheduled = condition.status
        elif condition.status == "True":
            ready = ready or condition.type == "Ready"
            disrupted = disrupted or condition.type == "DisruptionTarget"
    annotations = pod.metadata.annotations or _Annotations()
    return PodFacts(
        *pod.metadata.common,
        phase=status.phase or "",
        node=spec.nodeName or "",
        hostname=spec.hostname or "",
        subdomain=spec.subdomain or "",
        ready=ready,
        started=started,
        stopped=stopped,
        restarts=restarts,
        failed=failed,
        disrupted=disrupted or status.reason == "Evicted",
        scheduled=scheduled,
        attempt=_number(annotations.attempt),
        index=_number(annotations.index),
        scheduler=spec.schedulerName or "",
        addresses=_addresses(status),
        needs=_needs(spec),
    )


def _addresses(status: _Status) -> tuple[str, ...]:
    if not status.podIP and not status.podIPs:
        return ()
    told = (status.podIP, *(each.ip for each in status.podIPs or ()))
    return tuple(dict.fromkeys(filter(None, map(address, told))))


def _needs(spec: _Spec) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for volume in spec.volumes or ():
        _add(found, "ConfigMap", volume.configMap)
        _add(found, "Secret", volume.secret)
        _add(found, "PersistentVolumeClaim", volume.persistentVolumeClaim)
        for each in (volume.projected and volume.projected.sources) or ():
            _add(found, "ConfigMap", each.configMap)
            _add(found, "Secret", each.secret)
    for container in (*(spec.initContainers or ()), *(spec.containers or ())):
        for whole in container.envFrom or ():
            _add(found, "ConfigMap", whole.configMapRef)
            _add(found, "Secret", whole.secretRef)
        for one in container.env or ():
            if one.valueFrom:
                _add(found, "ConfigMap", one.valueFrom.configMapKeyRef)
                _add(found, "Secret", one.valueFrom.secretKeyRef)
    if spec.serviceAccountName:
        found.append(_reference("ServiceAccount", spec.serviceAccountName))
    if spec.priorityClassName:
        found.append(_reference("PriorityClass", spec.priorityClassName))
    return _once(tuple(found)) if found else ()


def _add(found: list[Reference], kind: str, source: _Source | None) -> None:
    if source and not source.optional and (name := source.name or source.secretName or source.claimName):
        found.append(_reference(kind, name))


@lru_cache(10_000)
def _reference(kind: str, name: str) -> Reference:
    if kind == "PriorityClass":
        return Reference("scheduling.k8s.io", kind, name, "priority", "")
    return Reference("", kind, name, _ROLES[kind])


@lru_cache(10_000)
def _once(references: tuple[Reference, ...]) -> tuple[Reference, ...]:
    """Each but once; and many Pods of one template share one tuple."""
    return tuple(dict.fromkeys(references))


_ROLES = {
    "ConfigMap": "config",
    "Secret": "secret",
    "PersistentVolumeClaim": "claim",
    "ServiceAccount": "service account",
}


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
    return (Reference("", "Service", pod.subdomain, "subdomain"), *pod.needs) if pod.subdomain else pod.needs


KIND = Kind(
    "",
    "Pod",
    "pod",
    "Pods",
    PodShape,
    PodFacts,
    _facts,
    _phase,
    _marks,
    _references,
    subtitle=lambda pod: pod.node,
    spells=spells,
    addresses=lambda pod: pod.addresses,
)
