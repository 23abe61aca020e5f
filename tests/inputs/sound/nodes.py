"""Nodes that are ready before they are used and empty before they go, and volumes that one node has at a time."""

from collections.abc import Generator

from tests.inputs.sound.cluster import ADMIN, KUBELET, Body, Cluster, Steps, controller
from tests.inputs.sound.pods import conditions, over, pod

_SETS, _REPLICAS = controller("daemon-set-controller"), controller("replicaset-controller")
_AUTOSCALER = "cluster-autoscaler/v1.36.0 (linux/amd64)"
_DRIVER, _ATTACHER = "ebs.csi.aws.com", "csi-attacher/v4.8.0 (linux/amd64)"
_LIFECYCLE = controller("node-controller")


def nodes_replaced(cluster: Cluster) -> Steps:
    """Node by node, a new one becomes ready and gets its network and its storage driver; the taint that keeps Pods away
    goes; the old one is drained and goes. Its Pods wait for a budget, and for their volumes."""
    cluster.create("Namespace", "apps", status={"phase": "Active"})
    agents = cluster.create("DaemonSet", "network", "apps", spec={}, labels={"app": "network"})
    owner = cluster.create("ReplicaSet", "web-1", "apps", spec={"replicas": 2}, labels={"app": "web"})
    asks = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    budget = cluster.create("PodDisruptionBudget", "web", "apps", spec=asks)
    old, agent = yield from _node(cluster, "node-1", agents)
    for number in range(2):
        yield from pod(cluster, f"web-1-{number}", "apps", "node-1", owner=owner, labels={"app": "web"})
    allows = {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2}
    cluster.patch(budget, {"status": allows}, by=controller("disruption-controller"), sub="status")
    yield 5
    for turn in (2, 3):
        new, next_agent = yield from _node(cluster, f"node-{turn}", agents)
        yield 10
        by = _AUTOSCALER if turn == 2 else ADMIN
        taint = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}
        cordon = {"unschedulable": True, "taints": [taint] if turn == 2 else []}
        cluster.patch(old, {"spec": cordon}, by=by, revision=True)
        yield 1
        yield from _drained(cluster, owner, f"node-{turn}", by)
        yield from over(cluster, agent, by=controller("pod-garbage-collector"))
        cluster.gone(old, by=by)
        old, agent = new, next_agent
        yield 30


def _node(cluster: Cluster, name: str, agents: Body) -> Generator[float, None, tuple[Body, Body]]:
    waiting = {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}
    away = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    node = cluster.create("Node", name, by=KUBELET, spec={"taints": [waiting, away]}, status=conditions(Ready=False))
    drivers = cluster.create("CSINode", name, by=KUBELET, spec={"drivers": []})
    yield 1
    tolerates = [{"operator": "Exists"}]
    agent = yield from pod(cluster, f"network-{name}", "apps", name, owner=agents, by=_SETS, waits=4,
                           tolerations=tolerates)  # fmt: skip
    cluster.patch(drivers, {"spec": {"drivers": [{"name": _DRIVER, "nodeID": name}]}}, by=KUBELET)
    yield 1
    cluster.patch(node, {"status": conditions(Ready=True)}, by=KUBELET, sub="status")
    yield 0.1
    cluster.patch(node, {"spec": {"taints": [waiting]}}, by=_LIFECYCLE, revision=True)
    yield 0.3
    cluster.patch(node, {"spec": {"taints": []}}, by="cilium-operator/1.17", revision=True)
    return node, agent


def _drained(cluster: Cluster, owner: Body, node: str, by: str) -> Steps:
    """Evict the Pods of a ReplicaSet one after the other: each is refused until its replacement is ready."""
    pods = [body for (kind, space, _), body in cluster.objects.items() if (kind, space) == ("Pod", "apps")]
    for each in [each for each in pods if each["metadata"]["labels"].get("app") == "web"]:
        name = each["metadata"]["name"]
        spare = pod(cluster, f"{name}-{node[-1]}", "apps", node, owner=owner, labels={"app": "web"}, waits=14)
        yield next(spare)
        next(spare)  # it is bound, and will be ready when the last of these is refused
        for _ in range(3):
            said = "Cannot evict pod as it would violate the pod's disruption budget."
            why = {"reason": "DisruptionBudget",
                   "message": "The disruption budget web needs 2 healthy pods and has 2 currently"}  # fmt: skip
            cluster.refuse("Pod", name, "apps", 429, said, by=by, sub="eviction", reason="TooManyRequests",
                           details={"causes": [why]})  # fmt: skip
            yield 5
        yield from spare
        yield from over(cluster, each, by=by, sub="eviction")


def node_restarted(cluster: Cluster) -> Steps:
    """A node restarts with another label, and refuses one Pod; another Pod cannot mount a volume once, as its Secret
    came after it, although the driver is there."""
    cluster.create("Namespace", "restarts", status={"phase": "Active"})
    owner = cluster.create("ReplicaSet", "api-1", "restarts", spec={"replicas": 2}, labels={"app": "api"})
    drivers = {"drivers": [{"name": _DRIVER, "nodeID": "node-r"}]}
    cluster.create("CSINode", "node-r", by=KUBELET, spec=drivers)
    node = cluster.create("Node", "node-r", by=KUBELET, status=conditions(Ready=True))
    made = yield from pod(cluster, "api-1-a", "restarts", "node-r", owner=owner, labels={"app": "api"})
    cluster.patch(node, {"status": conditions(Ready=False)}, by=KUBELET, sub="status")
    yield 20
    cluster.patch(node, {"status": conditions(Ready=True)}, by=KUBELET, sub="status")
    refused = {"phase": "Failed", "reason": "NodeAffinity", "message": "Predicate NodeAffinity failed"}
    cluster.patch(made, {"status": refused}, by=KUBELET, sub="status")
    yield 0.2
    waits = pod(cluster, "api-1-b", "restarts", "node-r", owner=owner, labels={"app": "api"}, waits=8)
    yield next(waits)
    rest = next(waits)
    ref = {"kind": "Pod", "namespace": "restarts", "name": "api-1-b"}
    said = 'MountVolume.SetUp failed for volume "keys" : secret "keys" not found'
    cluster.create("Event", "api-1-b.18a", "restarts", by=KUBELET, involvedObject=ref, reason="FailedMount",
                   message=said, type="Warning", count=1, source={"host": "node-r"})  # fmt: skip
    yield rest
    yield from waits


def volume_moved(cluster: Cluster) -> Steps:
    """A Pod moves to another node: its volume is detached there first, which takes 40 seconds. A volume that many nodes
    may have is attached to two."""
    cluster.create("Namespace", "disks-of-all", status={"phase": "Active"})
    one = yield from _claimed(cluster, "data", "ReadWriteOnce")
    many = yield from _claimed(cluster, "shared", "ReadWriteMany")
    for node in ("node-a", "node-b"):
        yield from _attached(cluster, many, node)
    held = yield from _attached(cluster, one, "node-a")
    labels = {"app": "db"}
    use = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    owner = cluster.create("StatefulSet", "db", "disks-of-all", spec={"replicas": 1}, labels=labels)
    by = controller("statefulset-controller")
    first = yield from pod(cluster, "db-0", "disks-of-all", "node-a", owner=owner, by=by, labels=labels, volumes=use)
    yield 20
    yield from over(cluster, first, by=ADMIN, sub="eviction")
    again = pod(cluster, "db-0", "disks-of-all", "node-b", owner=owner, by=by, labels=labels, volumes=use, waits=45)
    yield next(again)
    next(again)
    wanted = _attachment(cluster, one, "node-b")
    yield 1
    cluster.end(held, by=controller("attachdetach-controller"))
    yield 40
    cluster.patch(held, {"status": {"attached": False}}, by=_ATTACHER, sub="status")
    cluster.gone(held, by=_ATTACHER)
    yield 1
    cluster.patch(wanted, {"status": {"attached": True}}, by=_ATTACHER, sub="status")
    yield from again


def _claimed(cluster: Cluster, name: str, mode: str) -> Generator[float, None, Body]:
    use = {"accessModes": [mode]}
    claim = {"namespace": "disks-of-all", "name": name}
    cluster.create("PersistentVolumeClaim", name, "disks-of-all", spec=use | {"volumeName": f"pv-{name}"},
                   status={"phase": "Bound"})  # fmt: skip
    yield 0.1
    return cluster.create("PersistentVolume", f"pv-{name}", spec=use | {"claimRef": claim}, status={"phase": "Bound"})


def _attachment(cluster: Cluster, volume: Body, node: str) -> Body:
    name = volume["metadata"]["name"]
    spec = {"attacher": _DRIVER, "nodeName": node, "source": {"persistentVolumeName": name}}
    return cluster.create("VolumeAttachment", f"csi-{name}-{node}", by=controller("attachdetach-controller"),
                          finalizers=("external-attacher/ebs-csi-aws-com",), spec=spec,
                          status={"attached": False})  # fmt: skip


def _attached(cluster: Cluster, volume: Body, node: str) -> Generator[float, None, Body]:
    made = _attachment(cluster, volume, node)
    yield 2
    cluster.patch(made, {"status": {"attached": True}}, by=_ATTACHER, sub="status")
    return made
