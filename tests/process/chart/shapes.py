"""This module has the shapes in which the chart is installed, and renders each of them with helm once."""

import os
import subprocess
from functools import cache
from typing import Any

import yaml

from deploy.chart.derive import CHART, tool

Objects = list[dict[str, Any]]
_IMAGE = {"repository": "registry.example.org/causeline"}
_SERVER = {"hosts": ["causeline.example.org"], "existingSecret": "causeline"}
_COLLECTOR = {"enabled": True, "url": "https://causeline.example.org", "cluster": "prod", "tokenSecret": "collector"}
_POD = {
    "podLabels": {"team": "platform"},
    "podAnnotations": {"example.org/note": "one"},
    "nodeSelector": {"kubernetes.io/arch": "arm64"},
    "tolerations": [{"key": "spot", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "high",
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example.org:3128"}],
}
# The components whose Pods are parts of the server.
SERVER = ("web", "worker", "periodic", "beat", "migrate")
MINIMAL: dict[str, Any] = {"image": _IMAGE, "server": _SERVER}
SHAPES: dict[str, dict[str, Any]] = {
    "minimal": MINIMAL,
    "embedded": {**MINIMAL, "postgresql": {"embedded": True}, "valkey": {"embedded": True}},
    "one node": {**MINIMAL, "data": {"accessMode": "ReadWriteOnce", "storageClass": "fast"}},
    "plain": {
        **MINIMAL,
        "networkPolicy": {"enabled": False},
        "metrics": {"enabled": False},
        "migration": {"enabled": False},
        "data": {"existingClaim": "uploads"},
        "web": {"maxUnavailable": 0, "spread": False},
    },
    "pooler": {
        **MINIMAL,
        "database": {"existingSecret": "causeline-app", "key": "pooler", "directKey": "uri"},
        "broker": {"existingSecret": "valkey", "key": "uri"},
    },
    "ingress": {**MINIMAL, "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "causeline-tls"}},
    "gateway": {
        **MINIMAL,
        "gateway": {"enabled": True, "parentRefs": [{"name": "public", "namespace": "gateways"}]},
        "service": {"port": 8080, "annotations": {"example.org/note": "one"}},
    },
    "sign-in": {
        **MINIMAL,
        "server": {**_SERVER, "settings": {"CAUSELINE_OIDC_GROUPS": "platform", "CAUSELINE_PASSWORDS": False}},
        "oidc": {"enabled": True, "issuer": "https://id.example.org/realms/main", "clientId": "causeline"},
    },
    "keda": {**MINIMAL, "worker": {"autoscaling": {"by": "keda", "prometheusAddress": "http://prometheus:9090"}}},
    "collector": {"image": _IMAGE, "server": {"enabled": False}, "collector": _COLLECTOR},
    "collector of namespaces": {
        "image": _IMAGE,
        "server": {"enabled": False},
        "collector": {**_COLLECTOR, "namespaces": ["shop", "payments"], "caConfigMap": "authority", **_POD},
        "fullnameOverride": "watcher",
    },
    "in-cluster namespaces": {**MINIMAL, "inCluster": {"enabled": True, "namespaces": ["shop"], "writeEvents": True}},
    "all": {
        "image": {**_IMAGE, "tag": "1.2.3", "digest": f"sha256:{'0' * 64}", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "commonLabels": {"team": "platform"},
        "commonAnnotations": {"example.org/owner": "platform"},
        "server": {
            **_SERVER,
            "hosts": ["causeline.example.org", "causeline.internal"],
            "proxies": ["10.0.0.0/8", "192.168.0.1"],
            "settings": {"CAUSELINE_KEEP_DAYS": 30, "CAUSELINE_KEEP_BYTES": 10**12, "CAUSELINE_DEBUG": False},
            "secretSettings": {"CAUSELINE_METRICS_TOKEN": "metrics"},
        },
        "kubeconfigs": {"existingSecret": "kubeconfigs"},
        "inCluster": {"enabled": True, "include": ["widgets.example.org"]},
        "web": {"autoscaling": {"enabled": True}, **_POD},
        "worker": {"autoscaling": {"by": "hpa"}, **_POD},
        "periodic": {"replicas": 2, **_POD},
        "beat": _POD,
        "migration": {"podAnnotations": {"sidecar.istio.io/inject": "false"}},
        "ingress": {"enabled": True},
        "gateway": {"enabled": True, "parentRefs": [{"name": "public"}], "annotations": {"example.org/note": "one"}},
        "metrics": {
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
        },
        "networkPolicy": {
            "webFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}],
            "databaseTo": [{"ipBlock": {"cidr": "10.1.0.0/16"}}],
            "clustersTo": [{"ipBlock": {"cidr": "10.2.0.0/16"}}],
            "destinationsTo": [{"ipBlock": {"cidr": "192.0.2.0/24"}}],
            "collectorTo": [{"ipBlock": {"cidr": "192.0.2.7/32"}}],
            "destinationsPorts": [443, 587],
        },
        "collector": {
            **_COLLECTOR,
            "include": ["*.example.org", "queues.jobs.example.com"],
            "exclude": ["jobs.batch", "nodes", "leases.coordination.k8s.io"],
            "settings": {"CAUSELINE_REDACT": "strict"},
            "persistent": False,
        },
    },
}


def helm(command: str, values: dict[str, Any], *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run `helm template`, `lint` or `install` with these values, in the namespace `observability`."""
    named = [] if command == "lint" else ["release"]
    line = [tool("helm"), command, *named, str(CHART), "--namespace", "observability", "--values", "-", *arguments]
    no_cluster = os.environ | {"KUBECONFIG": os.devnull}
    return subprocess.run(line, input=yaml.safe_dump(values), capture_output=True, text=True, env=no_cluster)


@cache
def text(shape: str) -> str:
    """Return what helm renders of a shape."""
    done = helm("template", SHAPES[shape])
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def rendered(shape: str) -> Objects:
    """Return the objects of a shape."""
    return [each for each in yaml.load_all(text(shape), yaml.CSafeLoader) if each]


def of_kind(shape: str, *kinds: str) -> Objects:
    """Return the objects of these kinds."""
    return [each for each in rendered(shape) if each["kind"] in kinds]


def named(shape: str, kind: str, name: str) -> dict[str, Any]:
    """Return one object by its kind and name."""
    (found,) = [each for each in of_kind(shape, kind) if each["metadata"]["name"] == name]
    return found


def pods(shape: str) -> dict[str, dict[str, Any]]:
    """Return the templates of Pods of a shape, by their component."""
    templates = [each["spec"]["template"] for each in of_kind(shape, "Deployment", "StatefulSet", "Job")]
    return {each["metadata"]["labels"]["app.kubernetes.io/component"]: each for each in templates}


def container(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the only container of a Pod."""
    (only,) = pod["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def environment(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the only container of a Pod: its value, or the reference to a key of a Secret."""
    given = container(pod).get("env", [])
    names = [each["name"] for each in given]
    assert len(names) == len(set(names)), names
    return {each["name"]: each["value"] if "value" in each else each["valueFrom"]["secretKeyRef"] for each in given}
