"""This pure module answers SelfSubjectAccessReviews, in JSON or in Protocol Buffers as kubectl sends them."""

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
_PROTOBUF = b"k8s\0"  # what Kubernetes puts before a message
_RAW, _SPEC, _RESOURCE, _VERB, _GROUP, _PLURAL = 2, 2, 1, 2, 3, 5  # numbers of fields


class RequestedAccess(NamedTuple):
    """`resource` as paths have it; "" where something else is asked for."""

    verb: str
    group: str
    resource: str

    @property
    def name(self) -> str:
        """As kubectl names the resource."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def requested_access(body: bytes) -> RequestedAccess:
    """Raises ValueError for what is no review."""
    if body.startswith(_PROTOBUF):
        message = _field(_field(body[len(_PROTOBUF) :], _RAW), _SPEC)
        message_attributes = _field(message, _RESOURCE)
        return RequestedAccess(*(_field(message_attributes, number).decode() for number in (_VERB, _GROUP, _PLURAL)))
    try:
        attributes = orjson.loads(body)["spec"].get("resourceAttributes") or {}
        return RequestedAccess(*(str(attributes.get(name) or "") for name in ("verb", "group", "resource")))
    except (KeyError, AttributeError, TypeError):
        raise ValueError("this is no SelfSubjectAccessReview") from None


def review_answer(allowed: bool) -> dict[str, Any]:
    status = {"allowed": allowed, "reason": "" if allowed else "not allowed in this replay"}
    return {"kind": "SelfSubjectAccessReview", "apiVersion": API_VERSION, "metadata": {}, "spec": {}, "status": status}


def _field(message: bytes, number: int) -> bytes:
    """The field of a number, where it has bytes; b"" where it is not set. Raises ValueError."""
    return next((value for each, value in _fields(message) if each == number), b"")


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
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
            raise ValueError("this is no message that a review is written in")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        value |= (message[at] & 127) << shift
        at += 1
        if message[at - 1] < 128:
            return value, at
        shift += 7
    raise ValueError("the message ends too early")
