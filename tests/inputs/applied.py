"""This module makes audit logs in which people and controllers change objects."""

from typing import Any

from tests.inputs.events import entries_of, event
from tests.inputs.recordings import world_of
from timeline.history.world.world import World
from timeline.kinds import seconds

NOON = seconds("2026-11-21T12:00:00Z")
KUBECTL = "kubectl/v1.33.1 (linux/amd64) kubernetes/8adc0f0"
MANAGER = "kube-controller-manager/v1.33.1 (linux/amd64) kubernetes/8adc0f0/system:serviceaccount:kube-system:x"
RESOURCES = {
    "Deployment": ("apps", "deployments"),
    "ReplicaSet": ("apps", "replicasets"),
    "ConfigMap": ("", "configmaps"),
    "Secret": ("", "secrets"),
    "Service": ("", "services"),
    "Node": ("", "nodes"),
    "Pod": ("", "pods"),
    "Lease": ("coordination.k8s.io", "leases"),
    "Event": ("", "events"),
    "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
}


class Log:
    """This class makes an audit log of writes at given seconds after noon."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._objects: dict[tuple[str, str], dict[str, Any]] = {}

    def write(
        self,
        kind: str,
        name: str,
        at: float,
        verb: str = "update",
        by: str = "alice",
        agent: str = KUBECTL,
        owner: dict[str, Any] | None = None,
        subresource: str | None = None,
        body: bool = True,
        metadata: dict[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        group, plural = RESOURCES[kind]
        namespace = None if kind in ("Node", "ValidatingWebhookConfiguration") else "shop"
        number = 100 + len(self.lines)
        before = self._objects.get((kind, name))
        whole = {
            "apiVersion": f"{group}/v1" if group else "v1",
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"{kind}-{name}".lower(),
                "creationTimestamp": "2026-11-21T12:00:00Z",
                "resourceVersion": str(number),
                **({"ownerReferences": [{**owner, "controller": True}]} if owner else {}),
                **(metadata or {}),
            },
            **fields,
        }
        self._objects[kind, name] = whole
        stamp = f"2026-11-21T12:{at // 60:02.0f}:{at % 60:09.6f}Z"
        self.lines.append(
            event(
                auditID=f"a{number}",
                level="RequestResponse" if body else "Metadata",
                verb=verb,
                user={"username": by},
                userAgent=agent,
                objectRef={
                    "resource": plural,
                    "apiGroup": group,
                    "apiVersion": "v1",
                    "name": name,
                    **({"namespace": namespace} if namespace else {}),
                    **({"subresource": subresource} if subresource else {}),
                    **({"resourceVersion": before["metadata"]["resourceVersion"]} if before else {}),
                },
                requestObject={"metadata": {"resourceVersion": before["metadata"]["resourceVersion"]}}
                if body and before and verb == "update"
                else None,
                responseObject=whole if body else None,
                responseStatus={"code": 201 if verb == "create" else 200},
                requestReceivedTimestamp=stamp,
                stageTimestamp=stamp,
            )
        )

    def world(self) -> World:
        return world_of(entries_of(*self.lines, bodies=True))


def deployment(image: str = "shop:1", replicas: int = 2, **container: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "web", "image": image, **container}]}
    return {"spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": pod}}}


OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "deployment-web"}


def rollout() -> Log:
    log = Log()
    log.write("Deployment", "web", 0, "create", **deployment())
    log.write("ReplicaSet", "web-1", 0.1, "create", by="system:x", agent=MANAGER, owner=OWNER, spec={"replicas": 2})
    log.write("ConfigMap", "settings", 0.2, "create", data={"mode": "blue"})
    log.write("ConfigMap", "settings", 60, data={"mode": "green"})
    log.write("Deployment", "web", 60.4, **deployment("shop:2"))
    log.write("ReplicaSet", "web-2", 60.5, "create", by="system:x", agent=MANAGER, owner=OWNER, spec={"replicas": 1})
    log.write("ReplicaSet", "web-1", 70, by="system:x", agent=MANAGER, owner=OWNER, spec={"replicas": 1})
    log.write("ReplicaSet", "web-2", 71, by="system:x", agent=MANAGER, owner=OWNER, spec={"replicas": 2})
    return log
