"""This module keeps the objects of a small API server in memory, and writes the audit log and the watches that it would
write.

What goes on at the same time is written as steps: generators that act on the cluster and yield how many seconds pass
until they go on.
"""

import json
from collections import defaultdict
from collections.abc import Generator
from copy import deepcopy
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import count
from typing import Any
from uuid import NAMESPACE_OID, uuid5

Body = dict[str, Any]
Steps = Generator[float, None, None]
ADMIN = "kubectl/v1.36.0 (linux/amd64) kubernetes/8d5f2a1"
SCHEDULER = "kube-scheduler/v1.36.2 (linux/amd64) kubernetes/8d5f2a1/scheduler"
KUBELET = "kubelet/v1.36.2 (linux/amd64) kubernetes/8d5f2a1"
_BEGINS = 1_795_760_000_000_000  # microseconds since 1970
_LASTS = 4_000  # microseconds of a request
_APIS = {
    "APIService": "apiregistration.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "EndpointSlice": "discovery.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "PodGroup": "scheduling.volcano.sh/v1beta1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "Topic": "kafka.example.com/v1",
    "ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
    "Job": "batch.volcano.sh/v1alpha1",
}


def controller(name: str) -> str:
    """Return the user agent of a controller of the controller manager."""
    return f"kube-controller-manager/v1.36.2 (linux/amd64) kubernetes/8d5f2a1/system:serviceaccount:kube-system:{name}"


class Cluster:
    """The objects of a cluster by kind, namespace and name, the lines of its audit log, and those of its watches by
    kind."""

    def __init__(self) -> None:
        self.now = _BEGINS
        self.lines: list[bytes] = []
        self.watches: dict[str, list[bytes]] = defaultdict(list)
        self.objects: dict[tuple[str, str, str], Body] = {}
        self._revision = 1000
        self._numbers = count(1)

    def create(self, kind: str, name: str, space: str = "", *, by: str = ADMIN, owner: Body | None = None,
               labels: Body | None = None, finalizers: tuple[str, ...] = (), **content: Any) -> Body:  # fmt: skip
        """Create an object, whose owner is another one if that is given, and return it."""
        metadata: Body = {"name": name, "uid": self._uid(), "creationTimestamp": _time(self.now)[:19] + "Z"}
        metadata |= {"generation": 1, "labels": labels or {}} | ({"namespace": space} if space else {})
        if finalizers:
            metadata["finalizers"] = [*finalizers]
        if owner:
            whose = {key: owner[key] for key in ("apiVersion", "kind")}
            whose |= {key: owner["metadata"][key] for key in ("name", "uid")}
            metadata["ownerReferences"] = [whose | {"controller": True, "blockOwnerDeletion": True}]
        body = {"kind": kind, "apiVersion": _APIS.get(kind, "v1"), "metadata": metadata, **deepcopy(content)}
        self.objects[kind, space, name] = body
        self._committed(body, "create", by, 201, asked=body)
        return body

    def patch(self, body: Body, change: Body, *, by: str, sub: str = "", revision: bool = False) -> None:
        """Merge a change into an object, at the revision that it has if `revision` is given."""
        if revision:
            change = {**change, "metadata": {**change.get("metadata", {}), "resourceVersion": _revision(body)}}
        before = json.dumps(body.get("spec"))
        _merge(body, {**change, "metadata": {**change.get("metadata", {}), "resourceVersion": None}})
        if json.dumps(body.get("spec")) != before:
            body["metadata"]["generation"] += 1
        self._committed(body, "patch", by, 200, asked=change, sub=sub)

    def bind(self, pod: Body, node: str) -> None:
        """Bind a Pod to a node, as the scheduler does."""
        pod.setdefault("spec", {})["nodeName"] = node
        self._changed(pod, "MODIFIED")
        target = {"kind": "Binding", "apiVersion": "v1", "target": {"kind": "Node", "name": node}}
        answer = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        self._log(pod, "create", SCHEDULER, {"code": 201}, asked=target, answer=answer, sub="binding")

    def end(self, body: Body, *, by: str, sub: str = "", grace: int = 0) -> None:
        """Ask an object to end. It stays while it has finalizers or time to end, until `gone`."""
        body["metadata"] |= {"deletionTimestamp": _time(self.now + grace * 1_000_000)[:19] + "Z"}
        if grace or "finalizers" in body["metadata"]:
            body["metadata"]["deletionGracePeriodSeconds"] = grace
        asked: Body = {"kind": "DeleteOptions", "apiVersion": "v1"} if not sub else {"kind": "Eviction"}
        if sub:
            self._changed(body, "MODIFIED")
            answer = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
            self._log(body, "create", by, {"code": 201}, asked=asked, answer=answer, sub=sub)
        else:
            self._committed(body, "delete", by, 200, asked=asked)

    def gone(self, body: Body, *, by: str) -> None:
        """Delete an object that nothing holds any more: the finalizer that goes last takes it along."""
        self.objects.pop(_key(body))
        if body["metadata"].pop("finalizers", None):
            self._committed(body, "patch", by, 200, asked={"metadata": {"finalizers": None}})
            return
        if "deletionGracePeriodSeconds" in body["metadata"]:
            body["metadata"]["deletionGracePeriodSeconds"] = 0
        self._committed(body, "delete", by, 200, asked={"kind": "DeleteOptions", "gracePeriodSeconds": 0})

    def refuse(self, kind: str, name: str, space: str, code: int, message: str, *, by: str = ADMIN, sub: str = "",
               verb: str = "create", api: str = "", **status: Any) -> None:  # fmt: skip
        """Refuse a request about an object with a code and a message."""
        metadata = {"name": name} | ({"namespace": space} if space else {})
        body = {"kind": kind, "apiVersion": api or _APIS.get(kind, "v1"), "metadata": metadata}
        said = {"status": "Failure", "message": message} if message else {}
        self._log(body, verb, by, {**said, **status, "code": code}, asked=body, sub=sub)

    def _committed(self, body: Body, verb: str, by: str, code: int, *, asked: Body, sub: str = "") -> None:
        there = "ADDED" if verb == "create" else "MODIFIED"
        self._changed(body, there if _key(body) in self.objects else "DELETED")
        self._log(body, verb, by, {"code": code}, asked=asked, answer=body, sub=sub)

    def _changed(self, body: Body, change: str) -> None:
        self._revision += 1
        body["metadata"]["resourceVersion"] = str(self._revision)
        self.watches[body["kind"]].append(json.dumps({"type": change, "object": body}).encode())

    def _log(self, body: Body, verb: str, by: str, status: Body, *, asked: Body, answer: Body | None = None,
             sub: str = "") -> None:  # fmt: skip
        kind, space, name = _key(body)
        group, _, version = body["apiVersion"].rpartition("/")
        plural = kind.lower() + ("es" if kind.endswith("s") else "s")
        ref = {"resource": plural, "apiVersion": version, "name": name} | ({"apiGroup": group} if group else {})
        ref |= ({"namespace": space} if space else {}) | ({"subresource": sub} if sub else {})
        line = {
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": self._uid(),
            "stage": "ResponseComplete", "requestURI": f"/apis/{plural}/{name}", "verb": verb,
            "user": {"username": "admin" if by == ADMIN else f"system:{by.partition('/')[0]}"}, "userAgent": by,
            "objectRef": ref, "responseStatus": {"metadata": {}, **status}, "requestObject": asked,
            "requestReceivedTimestamp": _time(self.now), "stageTimestamp": _time(self.now + _LASTS),
        }  # fmt: skip
        self.lines.append(json.dumps(line | ({"responseObject": answer} if answer else {})).encode())
        self.now += _LASTS + 1_000

    def _uid(self) -> str:
        return str(uuid5(NAMESPACE_OID, str(next(self._numbers))))


def run(cluster: Cluster, *steps: Steps) -> None:
    """Let all steps go on at the same time until the last one ends."""
    queue = [(cluster.now + 1_000_000 * number, number, each) for number, each in enumerate(steps)]
    while queue:
        due, number, each = heappop(queue)
        cluster.now = max(cluster.now, due)
        if (seconds := next(each, None)) is not None:
            heappush(queue, (cluster.now + int(seconds * 1_000_000), number, each))


def _key(body: Body) -> tuple[str, str, str]:
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


def _revision(body: Body) -> str:
    return str(body["metadata"]["resourceVersion"])


def _merge(into: Body, change: Body) -> None:
    for key, value in change.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = deepcopy(value)


def _time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
