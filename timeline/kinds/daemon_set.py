"""Read DaemonSets, whose desired number of Pods is in their status."""

from timeline.kinds import Telling, deployment
from timeline.kinds.deployment import WorkloadFacts, WorkloadShape, locks


def _facts(workload: WorkloadShape) -> WorkloadFacts:
    wanted = workload.status.desiredNumberScheduled
    return WorkloadFacts(*workload.metadata.common, replicas=-1 if wanted is None else wanted, locks=locks(workload))


_TELLING = Telling(
    numbers=(
        ("wanted", "status.desiredNumberScheduled"),
        ("ready", "status.numberReady"),
        ("updated", "status.updatedNumberScheduled"),
        ("unavailable", "status.numberUnavailable"),
        ("misscheduled", "status.numberMisscheduled"),
    )
)

KIND = deployment.KIND._replace(kind="DaemonSet", short="ds", facts=_facts, telling=_TELLING, subresources=("status",))
