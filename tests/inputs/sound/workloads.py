"""Workloads whose Pods are replaced one after the other, and Services that follow them."""

from tests.inputs.sound.cluster import ADMIN, Body, Cluster, Steps, controller
from tests.inputs.sound.pods import conditions, follow, over, pod, service

_STATEFUL = controller("statefulset-controller")
_VOLCANO = "vc-controller-manager/v1.11.0 (linux/amd64)"


def traffic_turned(cluster: Cluster) -> Steps:
    """A Service is turned from blue to green once green is ready. Its endpoints follow each Pod within four seconds.
    Another Service is scaled to none before it is turned."""
    cluster.create("Namespace", "colours", status={"phase": "Active"})
    made = service(cluster, "shop", "colours", colour="blue")
    blue = yield from pod(cluster, "blue-0", "colours", "node-a", labels={"colour": "blue"})
    yield 4
    follow(cluster, blue)
    yield 10
    yield from pod(cluster, "green-0", "colours", "node-b", labels={"colour": "green"}, waits=6)
    yield 3
    cluster.patch(made, {"spec": {"selector": {"colour": "green"}}}, by=ADMIN)
    yield 0.5
    follow(cluster, made)
    yield 20
    yield from over(cluster, blue, by=ADMIN)
    other = service(cluster, "closed", "colours", shift="day")
    day = yield from pod(cluster, "day-0", "colours", "node-a", labels={"shift": "day"})
    follow(cluster, day)
    yield 20
    yield from over(cluster, day, by=ADMIN)
    yield 30
    cluster.patch(other, {"spec": {"selector": {"shift": "night"}}}, by=ADMIN)
    yield 1
    night = yield from pod(cluster, "night-0", "colours", "node-a", labels={"shift": "night"}, waits=9)
    follow(cluster, night)


def stateful_sets(cluster: Cluster) -> Steps:
    """StatefulSets of all strategies get a new template while one Pod is not ready yet. Only the one that replaces its
    Pods in order waits, and each of its Pods becomes ready."""
    cluster.create("Namespace", "stores-of-all", status={"phase": "Active"})
    strategies: dict[str, Body] = {
        "in-order": {},
        "on-delete": {"updateStrategy": {"type": "OnDelete"}},
        "canary": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}},
        "parallel": {"podManagementPolicy": "Parallel"},
    }
    for name, strategy in strategies.items():
        made = cluster.create("StatefulSet", name, "stores-of-all", spec={"replicas": 2, **strategy})
        yield from _rolled(cluster, made, name, ready=name == "in-order")
        yield 400


def _rolled(cluster: Cluster, made: Body, name: str, *, ready: bool) -> Steps:
    revisions = [f"{name}-{number}" for number in range(2)]
    status = {"currentRevision": revisions[0], "updateRevision": revisions[0], "replicas": 2}
    cluster.patch(made, {"status": status}, by=_STATEFUL, sub="status")
    pods = []
    for number in range(2):
        waits = 5 if ready or not number else 600
        started = pod(cluster, f"{name}-{number}", "stores-of-all", "node-a", owner=made, by=_STATEFUL, waits=waits,
                      labels={"controller-revision-hash": revisions[0]})  # fmt: skip
        if waits == 5:
            pods.append((yield from started))
        else:
            yield next(started)
            yield next(started) - 599
    change = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "registry.example/app:2"}]}}}}
    cluster.patch(made, change, by=ADMIN)
    yield 0.1
    cluster.patch(made, {"status": {"updateRevision": revisions[1]}}, by=_STATEFUL, sub="status")
    for each in reversed(pods if ready else []):
        yield from over(cluster, each, by=_STATEFUL)
        yield from pod(cluster, each["metadata"]["name"], "stores-of-all", "node-a", owner=made, by=_STATEFUL,
                       labels={"controller-revision-hash": revisions[1]}, waits=45)  # fmt: skip


def scaled(cluster: Cluster) -> Steps:
    """An autoscaler doubles and halves a workload within its bounds, as often as its load does."""
    cluster.create("Namespace", "scaled", status={"phase": "Active"})
    web = cluster.create("Deployment", "web", "scaled", spec={"replicas": 2}, labels={"app": "web"})
    owner = cluster.create("ReplicaSet", "web-1", "scaled", owner=web, spec={"replicas": 2}, labels={"app": "web"})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    bounds = {"minReplicas": 2, "maxReplicas": 4, "scaleTargetRef": target}
    autoscaler = cluster.create("HorizontalPodAutoscaler", "web", "scaled", spec=bounds)
    for turn in range(12):
        for replicas in (4, 2):
            cluster.patch(web, {"spec": {"replicas": replicas}}, by=controller("horizontal-pod-autoscaler"))
            status = {"currentReplicas": 6 - replicas, "desiredReplicas": replicas}
            cluster.patch(autoscaler, {"status": status}, by=controller("horizontal-pod-autoscaler"), sub="status")
            yield 0.1
            cluster.patch(owner, {"spec": {"replicas": replicas}}, by=controller("deployment-controller"))
            yield 0.1
            if replicas == 4:
                more = []
                for number in range(2):
                    name = f"web-1-{turn}-{number}"
                    more.append((yield from pod(cluster, name, "scaled", "node-a", owner=owner, labels={"app": "web"})))
            else:
                yield from over(cluster, *more, by=controller("replicaset-controller"))
            yield 20


def gangs(cluster: Cluster) -> Steps:
    """A gang is bound within seconds and grows beyond its least number; another one waits as a whole."""
    cluster.create("Namespace", "gangs", status={"phase": "Active"})
    for name, members in (("train", 4), ("later", 0)):
        job = cluster.create("Job", name, "gangs", spec={"minAvailable": 3})
        cluster.create("PodGroup", name, "gangs", by=_VOLCANO, owner=job, spec={"minMember": 3},
                       status={"phase": "Inqueue"})  # fmt: skip
        for number in range(members):
            yield from pod(cluster, f"{name}-{number}", "gangs", "node-a", owner=job, by=_VOLCANO)
            yield 3 if number < 2 else 100
        for number in range(0 if members else 3):
            cluster.create("Pod", f"{name}-{number}", "gangs", by=_VOLCANO, owner=job, status={"phase": "Pending"})
            yield 0.1
    yield 100


def pods_slow_to_end(cluster: Cluster) -> Steps:
    """A Pod stops being ready for a while, and its endpoint follows; another one takes its time to end."""
    cluster.create("Namespace", "slow", status={"phase": "Active"})
    service(cluster, "api", "slow", app="api")
    one = yield from pod(cluster, "api-0", "slow", "node-a", labels={"app": "api"})
    follow(cluster, one)
    for ready in (False, True):
        yield 15
        cluster.patch(one, {"status": conditions(PodScheduled=True, Ready=ready)}, by="kubelet/v1.36.2", sub="status")
        yield 4
        follow(cluster, one)
    yield from over(cluster, one, by=ADMIN, takes=28)
