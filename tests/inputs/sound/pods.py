"""This module plays what the scheduler, the kubelets and the controller of EndpointSlices do with Pods."""

from collections.abc import Generator
from typing import Any

from tests.inputs.sound.cluster import KUBELET, Body, Cluster, Steps, controller

_SLICES = controller("endpointslice-controller")


def conditions(**states: bool) -> Body:
    """Return a status with these conditions."""
    return {"conditions": [{"type": name, "status": str(state)} for name, state in states.items()]}


def pod(cluster: Cluster, name: str, space: str, node: str, *, owner: Body | None = None, by: str = "",
        labels: Body | None = None, waits: float = 2, **spec: Any) -> Generator[float, None, Body]:  # fmt: skip
    """Create a Pod, bind it to a node, and have it ready after it has waited for so many seconds."""
    content = {"containers": [{"name": "main", "image": "registry.example/app:1"}], **spec}
    made = cluster.create(
        "Pod", name, space, by=by or controller("replicaset-controller"), owner=owner, labels=labels, spec=content,
        status={"phase": "Pending"},
    )  # fmt: skip
    yield 0.1
    cluster.bind(made, node)
    yield waits
    running = {"phase": "Running", **conditions(PodScheduled=True, Ready=True)}
    cluster.patch(made, {"status": running}, by=KUBELET, sub="status")
    return made


def over(cluster: Cluster, *pods: Body, by: str, sub: str = "", takes: float = 2) -> Steps:
    """Have Pods asked to end, and gone once they have ended."""
    for each in pods:
        cluster.end(each, by=by, sub=sub, grace=30)
    yield 0.2
    for each in pods:
        follow(cluster, each)
    yield takes
    for each in pods:
        cluster.gone(each, by=KUBELET)
        follow(cluster, each)


def service(cluster: Cluster, name: str, space: str, **selector: str) -> Body:
    """Create a Service with its EndpointSlice."""
    made = cluster.create("Service", name, space, spec={"selector": selector, "ports": [{"port": 443}]})
    cluster.create(
        "EndpointSlice", f"{name}-x1", space, by=_SLICES, owner=made, labels={"kubernetes.io/service-name": name},
        addressType="IPv4", endpoints=[],
    )  # fmt: skip
    return made


def follow(cluster: Cluster, written: Body) -> None:
    """Write the EndpointSlice of a Service that was written, or those of the Services that select a Pod."""
    space, labels = written["metadata"]["namespace"], written["metadata"]["labels"]
    services = [body for (kind, where, _), body in [*cluster.objects.items()] if (kind, where) == ("Service", space)]
    for each in services:
        if each is written or each["spec"]["selector"].items() <= labels.items():
            piece = cluster.objects["EndpointSlice", space, f"{each['metadata']['name']}-x1"]
            cluster.patch(piece, {"endpoints": _endpoints(cluster, each)}, by=_SLICES)


def _endpoints(cluster: Cluster, of_service: Body) -> list[Body]:
    space, selector = of_service["metadata"]["namespace"], of_service["spec"]["selector"]
    return [
        _endpoint(number, body)
        for number, ((kind, where, _), body) in enumerate(cluster.objects.items())
        if (kind, where) == ("Pod", space) and selector.items() <= body["metadata"]["labels"].items()
    ]


def _endpoint(number: int, selected: Body) -> Body:
    ends = "deletionTimestamp" in selected["metadata"]
    states = selected["status"].get("conditions", ())
    ready = any((each["type"], each["status"]) == ("Ready", "True") for each in states)
    return {
        "addresses": [f"10.0.0.{number % 250}"],
        "conditions": {"ready": ready and not ends, "serving": ready, "terminating": ends},
        "targetRef": {"kind": "Pod"} | {key: selected["metadata"][key] for key in ("namespace", "name", "uid")},
    }
