"""Read Pods."""

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from timeline.core.entries import Facts
from timeline.core.job_pods import TERMINAL, spells
from timeline.core.numbers import whole_number
from timeline.core.order import At
from timeline.kinds import Kind, Mark, Phase, Reference, Telling, address, seconds
from timeline.kinds._pod_shape import PodAnnotations, PodShape, PodSpec, PodStatus, Source, Toleration


class PodFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a Pod."""

    phase: str = ""
    node: str = ""
    hostname: str = ""
    subdomain: str = ""
    ready: bool = False
    started: int = 0  # the earliest start of a container, in microseconds; whole seconds, the clock of the node
    stopped: int = 0  # the latest end of a container that has ended, in microseconds; whole seconds, the node's clock
    restarts: int = 0
    failed: bool = False  # a container ended with an exit code other than 0
    disrupted: bool = False  # it was evicted, preempted or removed from its node, so it did not end by itself
    scheduled: str = ""  # the status of condition PodScheduled: "True", "False", or "" without the condition
    attempt: int = -1  # Volcano's annotation volcano.sh/job-version; -1 without it
    index: int = -1  # the completion index within an Indexed Job; -1 for other Pods
    scheduler: str = ""
    addresses: tuple[str, ...] = ()  # status.podIPs, which are those of its node if it uses the host network
    images: tuple[tuple[str, str], ...] = ()  # the name and the image of each container
    revision: str = ""  # of its owner's template: the label controller-revision-hash
    labels: str = ""  # a hash of all of its labels; "" without any
    refused: str = ""  # why it failed, if its status gives one reason for all of it, such as "OutOfcpu"
    tolerates: tuple[str, ...] = ()  # keys of the taints that do not keep it away from a node; "*" for all
    needs: tuple[Reference, ...] = ()  # the ConfigMaps, Secrets, claims and other objects without which it cannot run

    @property
    def terminal(self) -> bool:
        return self.phase in TERMINAL

    @property
    def turned_away(self) -> bool:
        """Return whether a kubelet refused the Pod, so that it failed without having run."""
        if not self.refused or self.started:
            return False
        kept_out = not self.disrupted and _TURNED_AWAY.fullmatch(self.refused) is not None
        return kept_out or self.refused == _ON_ARRIVAL

    def failed_since(self, before: "PodFacts") -> bool:
        """Return whether a container failed or was restarted since the earlier state `before`, for another reason than
        that the Pod was stopped."""
        if self.deleting or self.disrupted:
            return False
        return self.restarts > before.restarts or (self.failed and not before.failed)


# The reasons for which a kubelet refuses a Pod, but for NodeShutdown: that of a node that is about to go.
_TURNED_AWAY = re.compile(
    r"OutOf\w+|Unexpected\w+|NodeAffinity|NodePorts|NodeName|TopologyAffinityError|SMTAlignmentError"
    r"|ResourceAllocationError|PodFeatureUnsupported|InvalidNodeInfo|AppArmor|SysctlForbidden|PodOS\w+"
    r"|\w+NotSupported|InitContainerRestartPolicyForbidden|VolumeAttachmentLimitExceeded"
)
_ON_ARRIVAL = "Evicted on arrival"  # the reason is "Evicted", but the message that of a Pod that is not let in
_PRESSED = "The node had condition: "  # of one that ran, a kubelet says "The node was low on resource: "


def _number(text: str | None) -> int:
    number = whole_number(text or "")
    return -1 if number is None else number


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
    annotations = pod.metadata.annotations or PodAnnotations()
    revision, labels = _labels(bytes(pod.metadata.labels)) if pod.metadata.labels else ("", "")
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
        images=_images(spec),
        revision=revision,
        labels=labels,
        refused=_refused(status),
        tolerates=_tolerates(bytes(spec.tolerations)) if spec.tolerations else (),
        needs=_needs(spec),
    )


@lru_cache(10_000)  # each write of a Pod repeats its labels
def _labels(text: bytes) -> tuple[str, str]:
    """Return the revision that the labels of a Pod name, and a hash of all labels; "" for each that there is not."""
    labels = _read_labels.decode(text)
    if not labels:
        return "", ""
    every = repr(sorted(labels.items())).encode()
    return labels.get("controller-revision-hash", ""), blake2b(every, digest_size=4).hexdigest()


_read_labels = msgspec.json.Decoder(dict[str, str] | None)


def _refused(status: PodStatus) -> str:
    if status.phase != "Failed":
        return ""
    on_arrival = status.reason == "Evicted" and _PRESSED in (status.message or "")
    return _ON_ARRIVAL if on_arrival else status.reason or ""


def _addresses(status: PodStatus) -> tuple[str, ...]:
    if not status.podIP and not status.podIPs:
        return ()
    every = (status.podIP, *(each.ip for each in status.podIPs or ()))
    return tuple(dict.fromkeys(filter(None, map(address, every))))


def _images(spec: PodSpec) -> tuple[tuple[str, str], ...]:
    containers = (*(spec.initContainers or ()), *(spec.containers or ()))
    return _shared(tuple((each.name, each.image) for each in containers if each.image))


@lru_cache(10_000)
def _shared(images: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the same images. The cache lets all Pods of one template share one tuple."""
    return images


@lru_cache(1_000)  # all Pods of one template share one text
def _tolerates(tolerations: bytes) -> tuple[str, ...]:
    """Return the keys of the taints that a Pod tolerates for another reason than that Kubernetes lets all Pods of a
    kind tolerate them."""
    every = _tolerations.decode(tolerations) or ()
    keeping = (each.key or "*" for each in every if each.effect in (None, "", "NoSchedule"))
    return tuple(dict.fromkeys(key for key in keeping if not key.startswith("node.kubernetes.io/")))


_tolerations = msgspec.json.Decoder(tuple[Toleration, ...] | None)


def _spells(pod: Any) -> Iterable[tuple[str, At, At | None]]:
    """Yield the spells of a Pod of a Job (see `timeline.core.job_pods`), and "refused", which begins when a node
    refused the Pod and does not end."""
    yield from spells(pod)
    if refused := refusal_of(pod):
        yield "refused", refused.at, None


def refusal_of(pod: Any) -> Any:
    """Return the moment of a Pod at which a node had refused it; None if none did, or if the Pod had run before."""
    refused = next((each for each in pod.moments if each.facts.refused and each.facts.turned_away), None)
    if refused is None or any(each.facts.started for each in pod.moments if each.at <= refused.at):
        return None
    return refused


def _clues(pod: PodFacts) -> Iterable[str]:
    if pod.node:
        yield f"on {pod.node}"
    yield from (f"address {each}" for each in pod.addresses)
    yield from (f"image {image} in container {name}" for name, image in pod.images)


def _needs(spec: PodSpec) -> tuple[Reference, ...]:
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


def _add(found: list[Reference], kind: str, source: Source | None) -> None:
    if source and not source.optional and (name := source.name or source.secretName or source.claimName):
        found.append(_reference(kind, name))


@lru_cache(10_000)
def _reference(kind: str, name: str) -> Reference:
    if kind == "PriorityClass":
        return Reference("scheduling.k8s.io", kind, name, "priority", "")
    return Reference("", kind, name, _ROLES[kind])


@lru_cache(10_000)
def _once(references: tuple[Reference, ...]) -> tuple[Reference, ...]:
    """Return the references without duplicates. The cache lets all Pods of one template share one tuple."""
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
    spells=_spells,
    addresses=lambda pod: pod.addresses,
    clues=_clues,
    telling=Telling(
        conditions=(
            ("DisruptionTarget", "True"),
            ("PodScheduled", "False"),
            ("Initialized", "False"),
            ("ContainersReady", "False"),
            ("Ready", "False"),
        ),
        numbers=(),
    ),
    aliases=("po",),
    subresources=("status", "binding", "ephemeralcontainers", "eviction", "resize"),
)
