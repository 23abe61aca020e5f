"""The faults that a replayed server can be made to produce, once or several times. It does no I/O."""

from collections.abc import Iterable
from typing import Literal

import msgspec
import orjson
from msgspec.structs import replace

from collectors.replay.commits import Commit
from collectors.replay.resources import Resource

Kind = Literal[
    "reset",  # a watch: the connection is reset in the middle of an object
    "half-line",  # a watch: the response ends properly in the middle of an object
    "hang",  # a watch: sends nothing more, and does not end
    "gone-in-stream",  # a watch: sends an ERROR event with status 410
    "duplicate",  # a watch: an event is sent twice
    "delay",  # a watch: the following events come `seconds` late
    "no-revision",  # an object of a list or a watch has no resourceVersion
    "odd-revision",  # its resourceVersion is not a number
    "no-metadata",  # its metadata is null
    "gone",  # status 410
    "throttle",  # status 429 with Retry-After: `seconds`
    "error",  # status 500
    "unauthorized",  # status 401
    "forbidden",  # status 403
    "slow-list",  # a list: each page takes `seconds`
    "close",  # the connection is closed without an answer
]
IN_STREAM: tuple[Kind, ...] = ("reset", "half-line", "hang", "gone-in-stream", "duplicate", "delay")
IN_OBJECT: tuple[Kind, ...] = ("no-revision", "odd-revision", "no-metadata")


class Fault(msgspec.Struct, forbid_unknown_fields=True):
    """One fault, and the requests that it applies to."""

    kind: Kind
    resource: str = "*"  # as kubectl names it: pods, jobs.batch.volcano.sh; * for any
    verb: Literal["*", "list", "watch", "get"] = "*"
    count: int = 1  # how many times it happens
    after: int = 0  # how many events of a watch are sent before it
    seconds: float = 1


class Faults:
    """Hold the faults that have not happened yet."""

    def __init__(self) -> None:
        self.armed: list[Fault] = []
        self.applied: dict[str, int] = {}  # kind -> how often it has happened

    def take(self, resource: Resource | None, verb: str) -> Fault | None:
        """Return and count the fault that applies to a request; None if there is none."""
        for fault in self.armed:
            if fault.kind not in (*IN_STREAM, *IN_OBJECT) and _matches(fault, resource, verb):
                if fault.kind == "slow-list" and verb != "list":
                    continue
                return self._use(fault)
        return None

    def take_in_stream(self, resource: Resource, sent: int) -> Fault | None:
        """Return and count the fault that applies to a watch that has sent so many events; None if there is none."""
        for fault in self.armed:
            if fault.kind in IN_STREAM and sent >= fault.after and _matches(fault, resource, "watch"):
                return self._use(fault)
        return None

    def may_affect(self, resource: Resource) -> bool:
        """Return whether a fault may apply to a watch of this resource."""
        return any(
            fault.kind in (*IN_STREAM, *IN_OBJECT) and _matches(fault, resource, "watch") for fault in self.armed
        )

    def damaged(self, commit: Commit, verb: str, sent: int) -> Commit:
        """Return an object, damaged if a fault applies; `sent` objects were sent before it."""
        for fault in self.armed:
            if fault.kind in IN_OBJECT and sent >= fault.after and _matches(fault, commit.resource, verb):
                return replace(commit, body=_damaged(commit.body, self._use(fault).kind))
        return commit

    def arm(self, faults: Iterable[Fault]) -> None:
        """Add faults."""
        self.armed += faults

    def _use(self, fault: Fault) -> Fault:
        self.applied[fault.kind] = self.applied.get(fault.kind, 0) + 1
        fault.count -= 1
        if fault.count <= 0:
            self.armed.remove(fault)
        return fault


def _damaged(body: bytes, kind: Kind) -> bytes:
    document = orjson.loads(body)
    if kind == "no-metadata":
        return orjson.dumps({**document, "metadata": None})
    del document["metadata"]["resourceVersion"]
    if kind == "odd-revision":
        document["metadata"]["resourceVersion"] = "abc"
    return orjson.dumps(document)


def _matches(fault: Fault, resource: Resource | None, verb: str) -> bool:
    if fault.verb not in ("*", verb):
        return False
    return fault.resource == "*" or (resource is not None and fault.resource in (resource.plural, resource.name))
