"""This module makes replay tapes of any size, with objects that exist at the beginning and changes that follow."""

import json
from typing import Any

from collectors.replay.commits import Commit, Tape
from collectors.replay.resources import Resource

PODS = Resource("", "v1", "Pod", "pods", True, ("po",))
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", True, ("cm",))
BEGINS = 1_795_250_000_000_000  # 2026-11-21T08:33:20Z, microseconds
_CONTENT: dict[Resource, dict[str, Any]] = {
    PODS: {"spec": {"containers": [{"name": "main", "image": "x" * 500}]}, "status": {"phase": "Running"}},
    CONFIG_MAPS: {"data": {"text": "x" * 500}},
}
_TIME = "2026-11-21T08:33:20Z"


def made(resource: Resource, number: int, revision: int, **fields: Any) -> bytes:
    metadata = {
        "name": f"object-{number:05}",
        "namespace": f"space-{number % 10}",
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(revision),
        "creationTimestamp": _TIME,
        "labels": {"tenth": str(number % 10)},
        "managedFields": [{"manager": "load", "operation": "Update", "time": _TIME, "fieldsV1": {"n": revision}}],
    }
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}
    return json.dumps(body).encode()


def commit(resource: Resource, number: int, revision: int, change: str, time: int) -> Commit:
    body = made(resource, number, revision, **_CONTENT[resource])
    metadata = json.loads(body)["metadata"]
    return Commit(resource, metadata["namespace"], metadata["name"], metadata["uid"], change, revision, time, body)


def busy(objects: int, changes: int, resources: tuple[Resource, ...] = (PODS,), a_second: int = 100) -> Tape:
    """Return a tape with this number of objects of each resource, and this number of changes. Each changes the next
    object."""
    standing = [
        commit(resource, number, 1 + at * objects + number, "ADDED", BEGINS)
        for at, resource in enumerate(resources)
        for number in range(objects)
    ]
    first = len(standing) + 1
    commits = [
        commit(
            resources[number % len(resources)],
            number // len(resources) % objects,
            first + number,
            "MODIFIED",
            BEGINS + number * 1_000_000 // a_second,
        )
        for number in range(changes)
    ]
    ends = commits[-1].time if commits else BEGINS
    return Tape(sorted(resources), dict.fromkeys(resources, ""), standing, commits, BEGINS, ends)
