"""Serve Events of events.k8s.io also as Events of v1, which kubectl reads, as an API server does. It does no I/O.

Both are one change, with one resourceVersion.
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
    """Return whether a resource is the Events of events.k8s.io."""
    return (resource.group, resource.kind) == (_GROUP, "Event")


def with_core_events(commits: Iterable[Commit], known_uids: set[str]) -> list[Commit]:
    """Return all commits, and each Event of events.k8s.io also as one of v1.

    Events whose UID is in `known_uids` were recorded under v1 as well, and are not added again.
    """
    result: list[Commit] = []
    for commit in commits:
        result.append(commit)
        if is_events_group(commit.resource) and commit.uid not in known_uids:
            result.append(replace(commit, resource=CORE, body=_core(commit.body)))
    return result


def _core(body: bytes) -> bytes:
    """Return the Event with the field names of v1."""
    event: dict[str, Any] = {_NAMES.get(name, name): value for name, value in orjson.loads(body).items()}
    return orjson.dumps(event | {"apiVersion": "v1"})
