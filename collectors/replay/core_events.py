"""This pure module also serves Events of events.k8s.io under v1, as an API server does, because kubectl asks there.

Both are one change, with one revision.
"""

from collections.abc import Iterable
from typing import Any

import orjson
from msgspec.structs import replace

from collectors.replay.commit_order import Commit
from collectors.replay.resources import Resource

CORE = Resource("", "v1", "Event", "events", True, ("ev",))
_GROUP = "events.k8s.io"
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def is_events_group(resource: Resource) -> bool:
    return (resource.group, resource.kind) == (_GROUP, "Event")


def with_core_events(commits: Iterable[Commit], known_uids: set[str]) -> list[Commit]:
    """All of them, and each Event of the other group as one of v1, unless its UID is among those known there."""
    result: list[Commit] = []
    for commit in commits:
        result.append(commit)
        if is_events_group(commit.resource) and commit.uid not in known_uids:
            result.append(replace(commit, resource=CORE, body=_core(commit.body)))
    return result


def _core(body: bytes) -> bytes:
    event: dict[str, Any] = {_NAMES.get(name, name): value for name, value in orjson.loads(body).items()}
    return orjson.dumps(event | {"apiVersion": "v1"})
