"""This module lets all of it happen on one day. Run it to see the audit log of that day."""

from tests.inputs.sound import admission, nodes, objects, workloads
from tests.inputs.sound.cluster import Cluster, run


def day() -> Cluster:
    """Return a cluster after a day on which every order is kept."""
    cluster = Cluster()
    run(
        cluster,
        admission.webhook_upgraded(cluster),
        admission.first_injection(cluster),
        admission.kind_before_its_objects(cluster),
        admission.namespace_furnished(cluster),
        admission.quota_respected(cluster),
        nodes.nodes_replaced(cluster),
        nodes.node_restarted(cluster),
        nodes.volume_moved(cluster),
        workloads.traffic_turned(cluster),
        workloads.stateful_sets(cluster),
        workloads.scaled(cluster),
        workloads.gangs(cluster),
        workloads.pods_slow_to_end(cluster),
        objects.operator_removed(cluster),
        objects.deleted_in_foreground(cluster),
        objects.lists_shared(cluster),
        objects.environments(cluster),
    )
    return cluster


if __name__ == "__main__":
    print(b"\n".join(day().lines).decode())
