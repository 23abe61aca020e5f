"""Read StatefulSets: how many Pods each wants, and which revision of its template it rolls out."""

from collections.abc import Iterable

import msgspec

from timeline.kinds import Mark, Shape, Telling, deployment
from timeline.kinds.deployment import WorkloadFacts, locks


class _Rolling(msgspec.Struct, gc=False):
    partition: int | None = None
    maxUnavailable: int | str | None = None


class _Strategy(msgspec.Struct, gc=False):
    type: str | None = None
    rollingUpdate: _Rolling | None = None


class _Spec(deployment.WorkloadSpec):
    podManagementPolicy: str | None = None
    updateStrategy: _Strategy | None = None


class _Status(msgspec.Struct, gc=False):
    updateRevision: str | None = None


class StatefulSetShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class StatefulSetFacts(WorkloadFacts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a StatefulSet."""

    revision: str = ""  # of the template that it rolls out
    stepwise: bool = False  # it replaces one Pod after the other, and waits until each is ready


def _facts(workload: StatefulSetShape) -> StatefulSetFacts:
    spec = workload.spec
    strategy = spec.updateStrategy or _Strategy()
    rolling = strategy.rollingUpdate or _Rolling()
    stepwise = spec.podManagementPolicy in (None, "OrderedReady") and strategy.type in (None, "RollingUpdate")
    return StatefulSetFacts(
        *workload.metadata.common,
        replicas=1 if spec.replicas is None else spec.replicas,
        locks=locks(workload),
        revision=workload.status.updateRevision or "",
        stepwise=stepwise and not rolling.partition and rolling.maxUnavailable in (None, 1),
    )


def _marks(before: StatefulSetFacts, after: StatefulSetFacts) -> Iterable[Mark]:
    if before.revision != after.revision and before.revision:
        yield Mark("status", f"rolls out {after.revision}")


KIND = deployment.KIND._replace(
    kind="StatefulSet",
    short="sts",
    shape=StatefulSetShape,
    facts_type=StatefulSetFacts,
    facts=_facts,
    marks=_marks,
    telling=Telling(),
)
