"""This module makes audit events for tests, and reads real ones from tests/data."""

import json
from typing import Any

from collectors.formats import Limits, Skipped
from collectors.formats.audit import read_lines
from collectors.formats.stream import Line
from collectors.gate import admit
from tests import DATA
from timeline.core.entries import Entry


def event(**changes: Any) -> dict[str, Any]:
    """Return the event of a Pod's creation at level RequestResponse. `changes` replace fields; None removes one."""
    made: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": "a1",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/n/pods",
        "verb": "create",
        "user": {"username": "somebody"},
        "objectRef": {"resource": "pods", "namespace": "n", "name": "p", "apiVersion": "v1"},
        "responseStatus": {"code": 201},
        "responseObject": pod(),
        "requestReceivedTimestamp": "2026-11-21T07:52:00.100001Z",
        "stageTimestamp": "2026-11-21T07:52:00.200002Z",
        **changes,
    }
    return {key: value for key, value in made.items() if value is not None}


def pod(**metadata: Any) -> dict[str, Any]:
    fields = {"name": "p", "namespace": "n", "uid": "u1", "resourceVersion": "100", **metadata}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": fields, "spec": {}, "status": {"phase": "Pending"}}


def items_of(*lines: bytes | dict[str, Any], bodies: bool = False) -> list[Entry | Skipped]:
    """Return the entries of these lines of a file named `log`, and what was skipped."""
    raw = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    read = read_lines((Line("log", number, data) for number, data in enumerate(raw, 1)), bodies)
    return [item for item in admit(read, Limits(), bodies=bodies) if isinstance(item, Entry | Skipped)]


def entries_of(*lines: bytes | dict[str, Any], bodies: bool = False) -> list[Entry]:
    """Return the entries of these lines, none of which may be skipped."""
    items = items_of(*lines, bodies=bodies)
    entries = [item for item in items if not isinstance(item, Skipped)]
    assert len(entries) == len(items), items
    return entries


def reasons_of(*lines: bytes | dict[str, Any], bodies: bool = False) -> list[str]:
    return [str(item) for item in items_of(*lines, bodies=bodies) if isinstance(item, Skipped)]


def real(name: str) -> list[bytes]:
    """Return the lines of a file in tests/data."""
    return (DATA / name).read_bytes().splitlines()
