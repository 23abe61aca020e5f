"""Answer SelfSubjectAccessReviews, in JSON or in the Protocol Buffers that kubectl sends. It does no I/O.

The envelope of Protocol Buffers is `runtime.Unknown`:
https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

API_VERSION = "authorization.k8s.io/v1"
DISCOVERED = {
    "name": "selfsubjectaccessreviews",
    "singularName": "selfsubjectaccessreview",
    "namespaced": False,
    "kind": "SelfSubjectAccessReview",
    "verbs": ["create"],
}
_PROTOBUF = b"k8s\0"  # what Kubernetes writes before a message
# Numbers of fields: `raw` of the envelope, `spec` of the review, and those of the attributes.
_RAW, _SPEC, _RESOURCE, _VERB, _GROUP, _PLURAL, _NAMESPACE = 2, 2, 1, 2, 3, 5, 1


class RequestedAccess(NamedTuple):
    """What a review asks for; `resource` is the plural, "" if it asks for something else."""

    verb: str
    group: str
    resource: str
    namespace: str = ""  # "" asks about all namespaces

    @property
    def name(self) -> str:
        """Return the resource as kubectl names it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def requested_access(body: bytes) -> RequestedAccess:
    """Return what a review asks for. Raise ValueError if the body is not a review."""
    if body.startswith(_PROTOBUF):
        message = _field(_field(body[len(_PROTOBUF) :], _RAW), _SPEC)
        message_attributes = _field(message, _RESOURCE)
        numbers = _VERB, _GROUP, _PLURAL, _NAMESPACE
        return RequestedAccess(*(_field(message_attributes, number).decode() for number in numbers))
    try:
        attributes = orjson.loads(body)["spec"].get("resourceAttributes") or {}
        names = "verb", "group", "resource", "namespace"
        return RequestedAccess(*(str(attributes.get(name) or "") for name in names))
    except (KeyError, AttributeError, TypeError):
        raise ValueError("this is not a SelfSubjectAccessReview") from None


def review_answer(allowed: bool) -> dict[str, Any]:
    status = {"allowed": allowed, "reason": "" if allowed else "not allowed in this replay"}
    return {"kind": "SelfSubjectAccessReview", "apiVersion": API_VERSION, "metadata": {}, "spec": {}, "status": status}


def _field(message: bytes, number: int) -> bytes:
    """Return the bytes of the field with this number; b"" if it is not set. Raise ValueError."""
    return next((value for each, value in _fields(message) if each == number), b"")


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each field with a length; skip numbers. Raise ValueError for other types."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            _, at = _varint(message, at)
        elif key & 7 == 2:
            size, at = _varint(message, at)
            yield key >> 3, message[at : at + size]
            at += size
        else:
            raise ValueError("this is not a Protocol Buffers message of a review")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length integer at a place, and the place after it. Raise ValueError."""
    value = shift = 0
    while at < len(message):
        value |= (message[at] & 127) << shift
        at += 1
        if message[at - 1] < 128:
            return value, at
        shift += 7
    raise ValueError("the message ends too early")
