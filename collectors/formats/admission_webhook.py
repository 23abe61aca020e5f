"""Read what an admission review says about a write that may follow: who asked for it, which revision it replaces, and
what the object will be. It does no I/O.

The webhook is asked before the write is committed, so a review is never a change by itself. `Review.content` lets the
change that a watch shows be recognised: the API server calls validating webhooks with the object as it will be stored,
but for the fields that storing sets.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from collectors.gate import Limits, Skipped, admit
from collectors.normalise import admission, is_present
from collectors.normalise.admission import WHOLE, AdmissionRequest
from timeline.core.bounds import FAULTS
from timeline.core.entries import Change, Clock, Entry, ObjectRef, revision
from timeline.core.values import check_object, decoded
from timeline.history.packing import ENTRIES, Packer
from timeline.kinds import Metadata

OPERATIONS = ("CREATE", "UPDATE", "DELETE")
_SET_BY_STORING = ("managedFields", "resourceVersion", "generation")


class Review(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One review. Times are microseconds since 1970, by the clock of this machine."""

    id: str  # the UID of the request
    at: int  # when it arrived
    operation: str  # one of OPERATIONS
    uid: str  # of the object
    replaces: str = ""  # the revision of the object before the write; "" for a creation
    content: str = ""  # what identifies the object after the write; "" for a deletion
    actor: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: Metadata


_object = msgspec.json.Decoder(_Object)
_encode = msgspec.json.Encoder(order="sorted").encode
_lines = msgspec.json.Decoder(Review)


def review_of(request: AdmissionRequest, at: int, limits: Limits) -> Review | None:
    """Return what a request says of the write that may follow it; None for a dry run, and for what is no write of an
    object with a UID. Raise ValueError if a field cannot be used."""
    if request.dryRun or request.operation not in OPERATIONS or request.subResource not in WHOLE:
        return None
    before = _object.decode(request.oldObject).metadata if is_present(request.oldObject) else None
    after = _object.decode(request.object).metadata if is_present(request.object) else None
    uid = (before and before.uid) or (after and after.uid)
    if not uid or not request.userInfo.username or (request.operation == "CREATE") is (before is not None):
        return None
    replaces = (before.resourceVersion or "") if before else ""
    if before and revision(replaces) is None:
        return None
    ref = ObjectRef(request.kind.group, request.kind.version, request.kind.kind, "", "", uid)
    whole = bytes(request.object) if after is not None and request.operation != "DELETE" else b""
    actor = request.userInfo.username
    written = Entry(ref, Change.OBSERVED, None, Clock.AUDIT, at, at, actor=actor, identity=request.uid, body=whole)
    (admitted,) = admit([written], limits)
    if isinstance(admitted, Skipped):
        raise ValueError(admitted.reason)
    assert isinstance(admitted, Entry)
    content = content_of(admitted.body)
    return Review(admitted.identity, at, request.operation, admitted.ref.uid, replaces, content, admitted.actor)


def content_of(body: bytes) -> str:
    """Return what identifies the content of a redacted object, but for the fields that storing sets; "" without one."""
    if not body:
        return ""
    parsed = decoded(body)
    parsed.pop("apiVersion", None)
    parsed.pop("kind", None)
    metadata = parsed.get("metadata")
    if isinstance(metadata, dict):
        for name in _SET_BY_STORING:
            metadata.pop(name, None)
    return sha256(_encode(parsed)).hexdigest()[:32]


class Read(NamedTuple):
    """What was read of several requests to the webhook."""

    lines: bytes  # the reviews, packed as they wait for the worker
    identities: list[str]  # of the reviews
    unread: int  # requests that could not be read


def read(bodies: Iterator[bytes], times: Sequence[int], limits: Limits) -> Read:
    """Read requests to the webhook, each with when it arrived in microseconds since 1970."""
    lines, identities, unread = [], [], 0
    for body, at in zip(bodies, times, strict=False):
        try:
            check_object(body)
            asked = admission.review_of(body).request
            review = review_of(asked, at, limits) if asked else None
        except FAULTS:
            unread += 1
            continue
        if review:
            lines.append(line_of(review))
            identities.append(review.id)
    return Read(Packer(ENTRIES).pack(b"\n".join(lines)), identities, unread)


def line_of(review: Review) -> bytes:
    return msgspec.json.encode(review)


def from_line(line: bytes) -> Review:
    return _lines.decode(line)
