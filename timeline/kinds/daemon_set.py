"""This module reads DaemonSets, whose desired number of Pods is in their status."""

from timeline.kinds import deployment
from timeline.kinds.deployment import WorkloadFacts, WorkloadShape, locks


def _facts(workload: WorkloadShape) -> WorkloadFacts:
    wanted = workload.status.desiredNumberScheduled
    return WorkloadFacts(*workload.metadata.common, replicas=-1 if wanted is None else wanted, locks=locks(workload))


KIND = deployment.KIND._replace(kind="DaemonSet", short="ds", facts=_facts)
