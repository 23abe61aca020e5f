"""Webhooks, kinds, Namespaces and quotas that are ready before they are needed, or at the next try."""

from collections.abc import Generator

from tests.inputs.sound.cluster import ADMIN, Body, Cluster, Steps, controller
from tests.inputs.sound.pods import conditions, follow, over, pod, service

_CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_INJECTOR = "cainjector/v1.16.0 (linux/amd64) cert-manager/8d5f2a1"


def webhook_upgraded(cluster: Cluster) -> Steps:
    """Each configuration comes after its Service, the new Service before the old one goes, and its certificate after
    both authorities are trusted. One write meets the moment of the change, and its next try succeeds."""
    cluster.create("Namespace", "guards", status={"phase": "Active"})
    set_of = {}
    for version in ("one", "two"):
        service(cluster, f"guard-{version}", "guards", app="guard", version=version)
        labels = {"app": "guard", "version": version}
        set_of[version] = cluster.create(
            "ReplicaSet", f"guard-{version}", "guards", labels=labels, spec={"replicas": 2}
        )
    old = yield from _guards(cluster, set_of["one"])
    yield 1
    configurations = [cluster.create(kind, "guard", webhooks=_webhooks("one", "Q0Ex")) for kind in _CONFIGURATIONS]
    yield from _written(cluster, "after-creation")
    yield from _guards(cluster, set_of["two"])
    yield 1
    for each in configurations:
        cluster.patch(each, {"webhooks": _webhooks("two", "Q0Ex")}, by=ADMIN)
    _failed(cluster, "at-the-change", "dial tcp 10.96.7.7:443: connect: connection refused", path="two")
    yield 0.3
    yield from _written(cluster, "at-the-change")
    yield from over(cluster, *old, by=controller("replicaset-controller"))
    for authorities in ("Q0Ex", "Q0ExQ0Ey", "Q0Ey"):  # the new certificate comes with both
        for each in configurations:
            cluster.patch(each, {"webhooks": _webhooks("two", authorities)}, by=_INJECTOR)
        yield 20
        yield from _written(cluster, f"with-{authorities}".lower())
    said = 'admission webhook "check.guard.example.io" denied the request: no label "team"'
    for number in range(3):
        cluster.refuse("ConfigMap", f"no-team-{number}", "guards", 403, said, reason="Forbidden")
        yield 5


def first_injection(cluster: Cluster) -> Steps:
    """A configuration is created without its authority, which is written within a second."""
    cluster.create("Namespace", "injected", status={"phase": "Active"})
    service(cluster, "guard-new", "injected", app="guard")
    guard = yield from pod(cluster, "guard-new-0", "injected", "node-a", labels={"app": "guard"})
    follow(cluster, guard)
    hooks = _webhooks("new", "", space="injected", name="new")
    made = cluster.create("ValidatingWebhookConfiguration", "guard-new", webhooks=hooks)
    yield 0.1
    _failed(cluster, "first", "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            path="new", space="injected", name="new")  # fmt: skip
    yield 0.3
    cluster.patch(made, {"webhooks": _webhooks("new", "Q0Ex", space="injected", name="new")}, by=_INJECTOR)
    yield 0.2
    cluster.create("ConfigMap", "first", "injected")


def kind_before_its_objects(cluster: Cluster) -> Steps:
    """A definition is established before its objects are created, but for one client that knows of it too late by half
    a second; another one looks for a kind that nobody installs."""
    cluster.create("Namespace", "queues", status={"phase": "Active"})
    for _ in range(2):
        cluster.refuse("Topic", "early", "queues", 404, "", by="helm/3.16 (linux/amd64)")
        cluster.refuse("Route", "any", "queues", 404, "", by="helm/3.16", verb="get", api="route.example.io/v1")
        yield 0.2
    made = cluster.create("CustomResourceDefinition", "topics.kafka.example.com", spec={"group": "kafka.example.com"})
    yield 0.2
    cluster.patch(
        made, {"status": conditions(NamesAccepted=True, Established=True)}, by="kube-apiserver/v1.36.2", sub="status"
    )
    yield 0.2
    for name in ("early", "orders", "payments"):
        cluster.create("Topic", name, "queues", by="helm/3.16 (linux/amd64)", spec={"partitions": 3})
        yield 1
    cluster.refuse("Topic", "none", "queues", 404, 'topics.kafka.example.com "none" not found', verb="patch",
                   reason="NotFound")  # fmt: skip


def namespace_furnished(cluster: Cluster) -> Steps:
    """A Pod is created again as soon as its ServiceAccount is there. Later the Namespace goes, in which controllers
    still work, and comes again when it is gone."""
    for turn in range(2):
        made = cluster.create("Namespace", "team", status={"phase": "Active"}, spec={"finalizers": ["kubernetes"]})
        said = (
            'pods "web" is forbidden: error looking up service account team/default: serviceaccount "default" not found'
        )
        cluster.refuse("Pod", "web", "team", 403, said, reason="Forbidden")
        yield 0.2
        account = cluster.create("ServiceAccount", "default", "team", by=controller("service-account-controller"))
        yield 0.2
        web = yield from pod(cluster, "web", "team", "node-a", by=ADMIN)
        yield 60
        if turn:
            break
        cluster.end(made, by=ADMIN)
        cluster.patch(made, {"status": {"phase": "Terminating"}}, by=controller("namespace-controller"), sub="status")
        yield from over(cluster, web, by=controller("namespace-controller"))
        cluster.gone(account, by=controller("namespace-controller"))
        why = "is forbidden: unable to create new content in namespace team because it is being terminated"
        for by in (controller("root-ca-certificate-publisher"), "prometheus-operator/0.79.0") * 2:
            cluster.refuse("ConfigMap", "rules", "team", 403, f'configmaps "rules" {why}', by=by, reason="Forbidden")
            yield 2
        cluster.gone(made, by=controller("namespace-controller"))
        yield 300


def quota_respected(cluster: Cluster) -> Steps:
    """Two creations meet at a quota, and the second one succeeds at the next try; a third one is too much."""
    cluster.create("Namespace", "limited", status={"phase": "Active"})
    quota = cluster.create("ResourceQuota", "compute", "limited", spec={"hard": {"configmaps": "3"}})
    why = "the object has been modified; please apply your changes to the latest version and try again"
    for number in range(3):
        said = f'Operation cannot be fulfilled on resourcequotas "compute": {why}'
        cluster.refuse("ConfigMap", f"set-{number}", "limited", 409, said, reason="Conflict")
        yield 0.4
        cluster.create("ConfigMap", f"set-{number}", "limited")
        used = {"used": {"configmaps": str(number + 1)}}
        cluster.patch(quota, {"status": used}, by="kube-apiserver/v1.36.2", sub="status")
        yield 70
    for _ in range(4):
        said = 'configmaps "more" is forbidden: exceeded quota: compute, requested: configmaps=1, used: configmaps=3'
        cluster.refuse("ConfigMap", "more", "limited", 403, said, reason="Forbidden")
        yield 10


def _guards(cluster: Cluster, owner: Body) -> Generator[float, None, list[Body]]:
    name, labels = owner["metadata"]["name"], owner["metadata"]["labels"]
    made = []
    for number in range(2):
        made.append((yield from pod(cluster, f"{name}-{number}", "guards", "node-a", owner=owner, labels=labels)))
        yield 0.2
        follow(cluster, made[-1])
    return made


def _webhooks(version: str, authority: str, space: str = "guards", name: str = "check") -> list[Body]:
    where = {"namespace": space, "name": f"guard-{version}", "path": f"/{version}", "port": 443}
    config = {"service": where, "caBundle": authority}
    return [{"name": f"{name}.guard.example.io", "clientConfig": config, "failurePolicy": "Fail"}]


def _failed(cluster: Cluster, what: str, why: str, *, path: str, space: str = "guards", name: str = "check") -> None:
    called = f'Post "https://guard-{path}.{space}.svc:443/{path}?timeout=5s": {why}'
    said = (
        f'Internal error occurred: failed calling webhook "{name}.guard.example.io": failed to call webhook: {called}'
    )
    cluster.refuse("ConfigMap", what, space, 500, said, reason="InternalError")


def _written(cluster: Cluster, name: str) -> Steps:
    cluster.create("ConfigMap", name, "guards", labels={"team": "shop"})
    yield 1
