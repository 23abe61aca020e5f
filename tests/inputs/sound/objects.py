"""Objects that are cleaned up before who cleans them up goes, and lists that several programs share."""

from tests.inputs.sound.cluster import ADMIN, Body, Cluster, Steps, controller
from tests.inputs.sound.pods import over, pod

_COLLECTOR = controller("generic-garbage-collector")
_OPERATOR = "topic-operator/0.45.0 (linux/amd64) kubernetes/8d5f2a1"


def operator_removed(cluster: Cluster) -> Steps:
    """An operator cleans up its objects, which takes up to two minutes, and is removed only once they are gone."""
    cluster.create("Namespace", "operated", status={"phase": "Active"})
    operator = cluster.create("Deployment", "topic-operator", "operated", spec={"replicas": 1})
    topics = []
    for name in ("one", "two"):
        topics.append(cluster.create("Topic", name, "operated", spec={"partitions": 1}))
        yield 0.2
        held = {"metadata": {"finalizers": ["kafka.example.com/topic"]}}
        cluster.patch(topics[-1], held, by=_OPERATOR, revision=True)
        yield 2
    for each in topics:
        cluster.end(each, by=ADMIN)
    for step in range(6):
        yield 20
        for each in topics:
            done = {"partitions": f"{6 - step} left"}
            cluster.patch(each, {"status": done}, by=_OPERATOR, sub="status")
    for each in topics:
        cluster.gone(each, by=_OPERATOR)
    yield 5
    cluster.gone(operator, by=ADMIN)
    yield 400


def deleted_in_foreground(cluster: Cluster) -> Steps:
    """The garbage collector deletes what an owner that is being deleted owns, and then what another one that is gone
    owned."""
    cluster.create("Namespace", "foreground", status={"phase": "Active"})
    web = cluster.create("Deployment", "web", "foreground", spec={"replicas": 1})
    owned = cluster.create("ReplicaSet", "web-1", "foreground", owner=web, spec={"replicas": 1})
    one = yield from pod(cluster, "web-1-a", "foreground", "node-a", owner=owned)
    yield 10
    for each in (web, owned):
        each["metadata"]["finalizers"] = ["foregroundDeletion"]
        cluster.end(each, by=ADMIN if each is web else _COLLECTOR)
        yield 0.5
    yield from over(cluster, one, by=_COLLECTOR)
    for each in (owned, web):
        cluster.gone(each, by=_COLLECTOR)
        yield 0.2
    web = cluster.create("Deployment", "web", "foreground", spec={"replicas": 1})
    owned = cluster.create("ReplicaSet", "web-2", "foreground", owner=web, spec={"replicas": 1})
    yield 10
    cluster.gone(web, by=ADMIN)
    yield 0.3
    cluster.gone(owned, by=_COLLECTOR)


def lists_shared(cluster: Cluster) -> Steps:
    """Two programs add to one list and take away from it: each its own element, or on the newest revision."""
    cluster.create("Namespace", "shared", status={"phase": "Active"})
    for number in range(3):
        made = cluster.create("Topic", f"t-{number}", "shared", finalizers=("one.example.com/held",), spec={})
        yield 0.2
        both = ["one.example.com/held", "two.example.com/held"]
        cluster.patch(made, {"metadata": {"finalizers": both}}, by="two/1.0 (linux/amd64)", revision=True)
        yield 0.2
        cluster.patch(made, {"metadata": {"finalizers": both[:1]}}, by="two/1.0 (linux/amd64)")
        yield 0.2
        cluster.patch(made, {"metadata": {"finalizers": [*both, "one.example.com/more"]}}, by="one/1.0 (linux/amd64)",
                      revision=True)  # fmt: skip
        yield 0.2
        cluster.patch(made, {"metadata": {"finalizers": ["one.example.com/more"]}}, by="one/1.0 (linux/amd64)",
                      revision=True)  # fmt: skip
        yield 5


def environments(cluster: Cluster) -> Steps:
    """A pipeline creates an environment for each change, and deletes it soon after, one after the other."""
    cluster.create("Namespace", "previews", status={"phase": "Active"})
    for number in range(12):
        made: Body = cluster.create("Topic", f"change-{number}", "previews", by="pipeline/3.1", spec={"partitions": 1})
        yield 15
        cluster.gone(made, by="pipeline/3.1")
        yield 5
