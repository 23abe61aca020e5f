"""Build the responses of an API server except single objects, such as Status, lists and events. It does no I/O."""

from collections.abc import Iterable
from typing import Any

import orjson

from collectors.replay.commits import Commit
from collectors.replay.http import Response
from collectors.replay.resources import Resource

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    504: "Timeout",
}


class StatusError(Exception):
    """Make the server answer with a Status (meta/v1)."""

    def __init__(self, code: int, message: str, *, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.details = details or {}

    @property
    def status(self) -> dict[str, Any]:
        """Return the Status as a dict."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": _REASONS[self.code],
            **({"details": self.details} if self.details else {}),
            "code": self.code,
        }

    def answer(self) -> Response:
        retry_after = self.details.get("retryAfterSeconds")
        return Response(
            self.code, orjson.dumps(self.status), (("Retry-After", str(retry_after)),) if retry_after else ()
        )

    def event(self) -> bytes:
        """Return the Status as an ERROR event of a watch that has begun."""
        return b'{"type":"ERROR","object":%b}\n' % orjson.dumps(self.status)


def expired(wanted: int, oldest: int) -> StatusError:
    """Return the error for a resourceVersion that is too old."""
    return StatusError(410, f"too old resource version: {wanted} ({oldest})")


def too_large(wanted: int, current: int) -> StatusError:
    """Return the error for a resourceVersion that is not reached yet."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return StatusError(504, f"Too large resource version: {wanted}, current: {current}", details=details)


def not_found(resource: Resource, name: str) -> StatusError:
    """Return the error for an object that does not exist."""
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return StatusError(404, f'{resource.name} "{name}" not found', details=details)


def json(document: Any, status: int = 200) -> Response:
    """Return a response with this document as JSON."""
    return Response(status, orjson.dumps(document))


def metadata_of_list(revision: int, following: str, remaining: int) -> dict[str, Any]:
    """Return the metadata of a list.

    `following` is the token of the next page, and `remaining` the number of objects on later pages. Either may be
    empty.
    """
    document = {"resourceVersion": str(revision), "continue": following, "remainingItemCount": remaining}
    return {name: value for name, value in document.items() if value}


def list_of(kind: str, api_version: str, commits: Iterable[Commit], metadata: dict[str, Any]) -> Response:
    """Return a list of the objects of these commits."""
    head = b'{"kind":"%bList","apiVersion":"%b","metadata":%b,"items":['
    document = head % (kind.encode(), api_version.encode(), orjson.dumps(metadata))
    return Response(200, b"".join((document, b",".join([commit.body for commit in commits]), b"]}")))


def event(change: str, body: bytes) -> bytes:
    """Return one line of a watch."""
    return b'{"type":"%b","object":%b}\n' % (change.encode(), body)


def events(commits: Iterable[Commit]) -> bytes:
    """Return the lines of one watch, in the order of the commits."""
    parts: list[bytes] = []
    for commit in commits:
        parts += (_HEADS[commit.change], commit.body, b"}\n")
    return b"".join(parts)


_HEADS = {change: b'{"type":"%b","object":' % change.encode() for change in ("ADDED", "MODIFIED", "DELETED")}


def bookmark(resource: Resource, revision: int, *, ends_initial: bool = False) -> bytes:
    """Return a bookmark; with `ends_initial`, the one that ends the initial events."""
    metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
    if ends_initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    document = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return event("BOOKMARK", orjson.dumps(document))
