"""The part of a Pod that is decoded, with the field names of the Kubernetes API.

The decoder skips all other fields.
"""

import msgspec

from timeline.kinds import Metadata, Shape


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


class Source(msgspec.Struct, gc=False):
    """The object from which a volume or a variable is read. Which of the fields holds its name depends on the type of
    the volume."""

    name: str | None = None
    secretName: str | None = None
    claimName: str | None = None
    optional: bool | None = None


class _Projection(msgspec.Struct, gc=False):
    configMap: Source | None = None
    secret: Source | None = None


class _Projected(msgspec.Struct, gc=False):
    sources: tuple[_Projection, ...] | None = None


class _Volume(msgspec.Struct, gc=False):
    configMap: Source | None = None
    secret: Source | None = None
    persistentVolumeClaim: Source | None = None
    projected: _Projected | None = None


class _EnvFrom(msgspec.Struct, gc=False):
    configMapRef: Source | None = None
    secretRef: Source | None = None


class _ValueFrom(msgspec.Struct, gc=False):
    configMapKeyRef: Source | None = None
    secretKeyRef: Source | None = None


class _Env(msgspec.Struct, gc=False):
    valueFrom: _ValueFrom | None = None


class _Container(msgspec.Struct, gc=False):
    name: str = ""
    image: str | None = None
    envFrom: tuple[_EnvFrom, ...] | None = None
    env: tuple[_Env, ...] | None = None


class Toleration(msgspec.Struct, gc=False):
    key: str | None = None
    effect: str | None = None


class PodSpec(msgspec.Struct, gc=False):
    nodeName: str | None = None
    hostname: str | None = None
    subdomain: str | None = None
    schedulerName: str | None = None
    serviceAccountName: str | None = None
    priorityClassName: str | None = None
    volumes: tuple[_Volume, ...] | None = None
    containers: tuple[_Container, ...] | None = None
    initContainers: tuple[_Container, ...] | None = None
    tolerations: msgspec.Raw = msgspec.Raw()


class _PodIP(msgspec.Struct, gc=False):
    ip: str | None = None


class PodStatus(msgspec.Struct, gc=False):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    conditions: tuple[_Condition, ...] | None = None
    containerStatuses: tuple[_ContainerStatus, ...] | None = None
    podIP: str | None = None
    podIPs: tuple[_PodIP, ...] | None = None


class PodAnnotations(msgspec.Struct, gc=False):
    attempt: str | None = msgspec.field(default=None, name="volcano.sh/job-version")
    index: str | None = msgspec.field(default=None, name="batch.kubernetes.io/job-completion-index")


class _Metadata(Metadata):
    annotations: PodAnnotations | None = None
    labels: msgspec.Raw = msgspec.Raw()


class PodShape(Shape):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)
