"""Read ReplicaSets. Only their numbers of Pods matter."""

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Shape


class _Spec(msgspec.Struct, gc=False):
    replicas: int | None = None


class ReplicaSetShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class ReplicaSetFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a ReplicaSet."""

    replicas: int = -1  # how many Pods it wants; -1 if no body of it was logged


def _facts(replica_set: ReplicaSetShape) -> ReplicaSetFacts:
    replicas = replica_set.spec.replicas
    return ReplicaSetFacts(*replica_set.metadata.common, replicas=1 if replicas is None else replicas)


KIND = Kind(
    "apps",
    "ReplicaSet",
    "rs",
    "Workloads",
    ReplicaSetShape,
    ReplicaSetFacts,
    _facts,
    subresources=("status", "scale"),
)
