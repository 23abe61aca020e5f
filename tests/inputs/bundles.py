"""This module lays out small archives as the tools write them that collect the state of a cluster."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import yaml

from tests.inputs.events import event
from tests.inputs.objects import made

HERE = "shop"
LOG = b'2026-11-21T07:52:00.123456789Z I1121 07:52:00.1 1 c.go:1] "Synced" pod="shop/web-1"\n'
KLOG = b'I1121 07:52:00.123456       1 controller.go:12] "Synced" pod="shop/web-1"\n'
LOG = b"2026-11-21T07:52:00.123456789Z " + KLOG
AUDIT = json.dumps(
    event(objectRef={"resource": "pods", "namespace": HERE, "name": "web-2", "apiVersion": "v1"})
).encode()


class Bundle(NamedTuple):
    """This tuple is one archive: its files, and what has to be read from it."""

    name: str  # of the archive, without what says how it is packed
    files: dict[str, bytes]
    objects: set[str]  # kind/namespace/name of each object
    logs: set[str]  # the logs of which lines are read
    unread: set[str]  # the files that are named as not read


def thing(kind: str, name: str, revision: int, namespace: str = HERE, api: str = "v1", **more: Any) -> dict[str, Any]:
    """Return an object that a cluster has stored."""
    whole = made(name, revision, namespace=namespace or None, uid=f"{kind}-{name}")
    return {**whole, "apiVersion": api, "kind": kind, **more}


POD = thing("Pod", "web-1", 101, spec={"nodeName": "node-1", "containers": []}, status={"phase": "Running"})
NODE = thing("Node", "node-1", 90, namespace="")
DEPLOYMENT = thing("Deployment", "web", 95, api="apps/v1", spec={"replicas": 1})
EVENT = thing(
    "Event", "web-1.17", 102, reason="Started", message="Started", type="Normal",
    involvedObject={"kind": "Pod", "namespace": HERE, "name": "web-1"}, lastTimestamp="2026-11-21T07:52:01Z",
    eventTime=None, reportingComponent="",
)  # fmt: skip
TABLE = (
    b"NAMESPACE   LAST SEEN   TYPE     REASON    OBJECT      MESSAGE\n"
    b"shop        5m          Normal   Started   pod/web-1   Started container web\n"
)


def _list(kind: str, *items: dict[str, Any], api: str = "v1", bare: bool = False) -> dict[str, Any]:
    kept = [
        {key: value for key, value in each.items() if not bare or key not in ("apiVersion", "kind")} for each in items
    ]
    return {"kind": kind, "apiVersion": api, "metadata": {"resourceVersion": "200"}, "items": kept}


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


def _yaml(value: Any, indent: int = 2) -> bytes:
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, indent=indent)).encode()


def _kindless(whole: dict[str, Any]) -> bytes:
    metadata = {key: value for key, value in whole["metadata"].items() if key != "managedFields"}
    return json.dumps(
        {**{k: v for k, v in whole.items() if k not in ("apiVersion", "kind")}, "metadata": metadata}
    ).encode()


def must_gather() -> Bundle:
    at = "must-gather/quay-io-openshift-must-gather-sha256-0a1b"
    return Bundle(
        "must-gather",
        {
            f"{at}/version": b"openshift/must-gather\n4.18.0\n",
            f"{at}/timestamp": b"2026-11-21 07:52:00.1 +0000 UTC m=+0.04\n",
            f"{at}/event-filter.html": b"<!DOCTYPE html><html></html>",
            f"{at}/namespaces/{HERE}/{HERE}.yaml": b"---\n" + _yaml(thing("Namespace", HERE, 80, namespace="")),
            f"{at}/namespaces/{HERE}/core/pods.yaml": b"---\n" + _yaml(_list("PodList", POD, bare=True)),
            f"{at}/namespaces/{HERE}/core/events.yaml": b"---\n" + _yaml(_list("EventList", EVENT, bare=True)),
            f"{at}/namespaces/{HERE}/apps/deployments.yaml": _yaml(_list("List", DEPLOYMENT)),
            f"{at}/namespaces/{HERE}/pods/web-1/web-1.yaml": b"---\n" + _yaml(POD),
            f"{at}/namespaces/{HERE}/pods/web-1/web/web/logs/current.log": LOG,
            f"{at}/cluster-scoped-resources/core/nodes/node-1.yaml": b"---\n" + _yaml(NODE),
            f"{at}/audit_logs/kube-apiserver/node-1-audit.log": AUDIT + b"\n",
            f"{at}/audit_logs/kube-apiserver.audit_logs_listing": b"node-1 audit.log\n",
        },
        {"Namespace//shop", "Pod/shop/web-1", "Event/shop/web-1.17", "Deployment/shop/web", "Node//node-1",
         "Pod/shop/web-2"},
        {"shop/web-1/web"},
        {"version", "timestamp", "event-filter.html", "kube-apiserver.audit_logs_listing"},
    )  # fmt: skip


def troubleshoot() -> Bundle:
    at = "support-bundle-2026-11-21T07_52_00"
    resources = [{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [{"name": "pods"}]}]
    return Bundle(
        "support-bundle-2026-11-21T07_52_00",
        {
            f"{at}/version.yaml": b"apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\nspec: {}\n",
            f"{at}/analysis.json": b'[{"name":"ok","severity":"debug"}]',
            f"{at}/cluster-resources/pods/{HERE}.json": _json(_list("PodList", POD)),
            f"{at}/cluster-resources/pods-errors.json": b"null",
            f"{at}/cluster-resources/events/{HERE}.json": _json(_list("EventList", EVENT)),
            f"{at}/cluster-resources/deployments/{HERE}.json": _json(_list("DeploymentList", DEPLOYMENT)),
            f"{at}/cluster-resources/nodes.json": _json(_list("NodeList", NODE)),
            f"{at}/cluster-resources/custom-resources/queues.example.com/{HERE}.json": _json(
                [thing("Queue", "q", 70, api="example.com/v1")]
            ),
            f"{at}/cluster-resources/resources.json": _json(resources),
            f"{at}/cluster-resources/auth-cani-list/{HERE}.json": b'[{"verbs":["*"],"resources":["*"]}]',
            f"{at}/cluster-resources/pods/logs/{HERE}/web-1/web.log": LOG,
            f"{at}/cluster-resources/pods/logs/{HERE}/web-1/web-logs-errors.log": b"container not found\n",
        },
        {"Pod/shop/web-1", "Event/shop/web-1.17", "Deployment/shop/web", "Node//node-1", "Queue/shop/q"},
        {"shop/web-1/web"},
        {"version.yaml", "analysis.json", "pods-errors.json", "resources.json", "auth-cani-list/shop.json",
         "web-logs-errors.log"},
    )  # fmt: skip


def insights() -> Bundle:
    compact = {"namespace": HERE, "lastTimestamp": "2026-11-21T08:52:01+01:00", "reason": "BackOff",
               "message": "Back-off restarting failed container", "type": "Warning"}  # fmt: skip
    operator = thing("ClusterOperator", "dns", 60, namespace="", api="config.openshift.io/v1")
    return Bundle(
        "insights-2026-11-21-075200",
        {
            f"config/pod/{HERE}/web-1.json": _kindless(POD),
            "config/node/node-1.json": _kindless(NODE),
            "config/clusteroperator/dns.json": json.dumps(operator).encode(),
            "config/infrastructure.json": _kindless(thing("Infrastructure", "cluster", 61, namespace="")),
            "config/clusterrolebinding/admin.json": _kindless(thing("ClusterRoleBinding", "admin", 62, namespace="")),
            "config/id": b"0a1b2c3d",
            "config/tsdb.json": b'{"status":"success","data":{"headStats":{"numSeries":1}}}',
            f"config/pod/{HERE}/logs/web-1/web_current.log": KLOG,
            f"conditional/namespaces/{HERE}/pods/web-0/web-0.json": _kindless({**thing("Pod", "web-0", 99)}),
            f"conditional/namespaces/{HERE}/pods/web-0/containers/web/logs/last-100-lines.log": LOG,
            f"events/{HERE}.json": json.dumps({"items": [compact]}).encode(),
            "insights-operator/gathers.json": b'{"status_reports":[],"memory_alloc_bytes":1}',
        },
        {"Pod/shop/web-1", "Node//node-1", "ClusterOperator//dns", "Pod/shop/web-0", "Infrastructure//cluster"},
        {"shop/web-1/web", "shop/web-0/web", "events/shop.json"},
        {"clusterrolebinding/admin.json", "config/id", "config/tsdb.json", "gathers.json"},
    )


def rancher() -> Bundle:
    def nulled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: nulled(each) for key, each in value.items()}
        return [nulled(each) for each in value] if isinstance(value, list) else "null" if value in (None, "") else value

    at = "supportbundle_0a1b_2026-11-21T07-52-00Z"
    return Bundle(
        at,
        {
            f"{at}/metadata.yaml": b"projectName: Harvester\nbundleVersion: 0.1.0\n",
            f"{at}/bundleGenerationError.log": b"Failed to get /apis/x: not found\n",
            f"{at}/yamls/namespaced/{HERE}/v1/pods.yaml": _yaml(nulled(_list("List", POD)), 4),
            f"{at}/yamls/namespaced/{HERE}/v1/events.yaml": _yaml(nulled(_list("List", EVENT)), 4),
            f"{at}/yamls/namespaced/{HERE}/apps/v1/deployments.yaml": _yaml(nulled(_list("List", DEPLOYMENT)), 4),
            f"{at}/yamls/cluster/v1/nodes.yaml": _yaml(nulled(_list("List", NODE)), 4),
            f"{at}/logs/{HERE}/web-1/web.log": KLOG,
            f"{at}/logs/{HERE}/web-1/web.log.1": KLOG,
        },
        {"Pod/shop/web-1", "Event/shop/web-1.17", "Deployment/shop/web", "Node//node-1"},
        {"shop/web-1/web"},
        {"metadata.yaml", "bundleGenerationError.log"},
    )


def sos() -> Bundle:
    at = "sosreport-node-1-2026-11-21-abcdefg"
    kubectl = "kubectl_--kubeconfig_.etc.kubernetes.admin.conf"
    commands = f"{at}/sos_commands/kubernetes/cluster-info"
    return Bundle(
        at,
        {
            f"{at}/version.txt": b"sosreport: 4.8.0\n",
            f"{at}/etc/kubernetes/admin.conf": b"apiVersion: v1\nclusters: []\nkind: Config\nusers: []\n",
            f"{commands}/{HERE}/{kubectl}_get_-o_json_--namespace_{HERE}_pods": _json(_list("List", POD)),
            f"{commands}/{HERE}/{kubectl}_get_-o_json_--namespace_{HERE}_events": _json(_list("List", EVENT)),
            f"{commands}/{kubectl}_get_-o_json_nodes": _json(_list("List", NODE)),
            f"{commands}/{kubectl}_get_--all-namespaces_true_events": TABLE,
            f"{commands}/{kubectl}_get_--all-namespaces_true_pods": b"NAMESPACE   NAME\nshop        web-1\n",
            f"{commands}/{HERE}/podlogs/web-1/{kubectl}_--namespace_{HERE}_logs_web-1_-c_web": KLOG,
            f"{at}/sos_commands/openshift/namespaces/{HERE}/pods/podlogs/oc_logs_--namespace_{HERE}_web-1": KLOG,
            f"{at}/var/log/pods/kube-system_etcd-node-1_0a1b/etcd/0.log": b"2026-11-21T07:52:00.1Z stderr F " + KLOG,
            f"{at}/var/log/kubernetes/audit/audit.log": AUDIT + b"\n",
        },
        {"Pod/shop/web-1", "Event/shop/web-1.17", "Node//node-1", "Pod/shop/web-2"},
        {"shop/web-1/web", "shop/web-1", "kube-system/etcd-node-1/etcd", "get_--all-namespaces_true_events"},
        {"version.txt", "admin.conf", "get_--all-namespaces_true_pods"},
    )  # fmt: skip


def velero() -> Bundle:
    def both(resource: str, version: str, place: str, whole: dict[str, Any]) -> dict[str, bytes]:
        data = json.dumps(whole, separators=(",", ":")).encode()
        return {
            f"resources/{resource}/{place}.json": data,
            f"resources/{resource}/{version}-preferredversion/{place}.json": data,
        }

    return Bundle(
        "nightly-20261121075200",
        {
            "metadata/version": b"1.1.0\n",
            **both("pods", "v1", f"namespaces/{HERE}/web-1", POD),
            **both("deployments.apps", "v1", f"namespaces/{HERE}/web", DEPLOYMENT),
            **both("nodes", "v1", "cluster/node-1", NODE),
        },
        {"Pod/shop/web-1", "Deployment/shop/web", "Node//node-1"},
        set(),
        {"metadata/version"},
    )


BUNDLES: dict[str, Callable[[], Bundle]] = {
    each.__name__: each for each in (must_gather, troubleshoot, insights, rancher, sos, velero)
}
"""By name of the tool: its archive."""
