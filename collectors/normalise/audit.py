"""Pure: one event of an audit log becomes an entry, or a reason why it tells nothing of an object."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from collectors.normalise import KINDS, NOT_OBJECTS, decoder, outcome, owner, told
from collectors.redact import redact_json
from timeline.entries import Change, Clock, Entry, ObjectRef, Place, microseconds
from timeline.kinds import Kind, Metadata, kind_of

Time = Annotated[datetime, msgspec.Meta(tz=True)]


class _User(msgspec.Struct, gc=False):
    username: str = ""


class _ObjectReference(msgspec.Struct, gc=False):
    resource: str = ""
    apiGroup: str = ""
    apiVersion: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    subresource: str = ""


class _Code(msgspec.Struct, gc=False):
    code: int | None = None


class AuditEvent(msgspec.Struct, gc=False):
    """The part of `audit.k8s.io/v1` Event that matters; bodies stay raw until a fact needs them."""

    kind: str = ""
    apiVersion: str = ""
    level: str = ""
    auditID: str = ""
    stage: str = ""
    verb: str = ""
    requestURI: str = ""
    user: _User = msgspec.field(default_factory=_User)
    userAgent: str = ""
    objectRef: _ObjectReference | None = None
    responseStatus: _Code | None = None
    requestObject: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    responseObject: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    requestReceivedTimestamp: Time | None = None
    stageTimestamp: Time | None = None


class _Answer(msgspec.Struct, gc=False):
    """What any answer shows before it is known what it is."""

    kind: str = ""
    metadata: Metadata | None = None


class _Details(msgspec.Struct, gc=False):
    uid: str = ""


class _Status(msgspec.Struct, gc=False):
    details: _Details | None = None


class _NamespaceSpec(msgspec.Struct, gc=False):
    finalizers: tuple[str, ...] | None = None


class _Namespace(msgspec.Struct, gc=False):
    spec: _NamespaceSpec | None = None


class _Target(msgspec.Struct, gc=False):
    name: str = ""


class _Binding(msgspec.Struct, gc=False):
    metadata: Metadata | None = None
    target: _Target | None = None


_answer = msgspec.json.Decoder(_Answer)
_status = msgspec.json.Decoder(_Status)
_namespace = msgspec.json.Decoder(_Namespace)
_binding = msgspec.json.Decoder(_Binding)
_CHANGES = {"create": Change.CREATED, "update": Change.MODIFIED, "patch": Change.MODIFIED, "delete": Change.DELETED}
_BODY_OF_OBJECT = {"", "status", "ephemeralcontainers", "resize", "finalize", "approval"}


def entry_of(event: AuditEvent, place: Place, *, bodies: bool) -> Entry | None:
    """The change that an audit event tells of an object; None where it changed none.

    Raises ValueError (msgspec.ValidationError is one) with a reason where the event cannot be used.
    """
    ref, change = event.objectRef, _CHANGES.get(event.verb)
    if change is None or ref is None or event.stage != "ResponseComplete" or "dryRun=" in event.requestURI:
        return None
    if event.responseStatus is None or not 200 <= (event.responseStatus.code or 0) < 300:
        return None
    if event.requestReceivedTimestamp is None or event.stageTimestamp is None:
        raise ValueError("the event has no requestReceivedTimestamp or no stageTimestamp")
    if ref.subresource not in _BODY_OF_OBJECT and ref.subresource != "binding":
        return None  # eviction, scale, token, log, …: their effect shows in the object's own writes
    answer = _answer.decode(event.responseObject) if told(event.responseObject) else _Answer()
    kind = kind_of(ref.apiGroup, KINDS.get((ref.apiGroup, ref.resource)) or _named(event, answer) or ref.resource)
    if change is Change.MODIFIED and event.responseStatus.code == 201:
        change = Change.CREATED  # server-side apply creates what it does not find
    common = {
        "clock": Clock.AUDIT,
        "received": microseconds(event.requestReceivedTimestamp),
        "staged": microseconds(event.stageTimestamp),
        "action": ref.subresource,
        "actor": event.user.username,
        "user_agent": event.userAgent,
        "identity": event.auditID,
        "place": place,
    }
    if ref.subresource == "binding":
        return _bound(event, ref, kind, common)
    if answer.metadata is None or answer.kind in NOT_OBJECTS:
        return _bare(event, ref, kind, change, answer, common)
    return _whole(event, ref, kind, change, bodies, common)


def _whole(
    event: AuditEvent, ref: _ObjectReference, kind: Kind, change: Change, bodies: bool, common: dict[str, Any]
) -> Entry | None:
    """The answer is the object after the change."""
    shape = decoder(kind).decode(event.responseObject)
    metadata: Metadata = shape.metadata
    target = _object(ref, kind, metadata)
    if not target.name:
        return None  # a question, such as a TokenReview or a SubjectAccessReview: nothing is stored under a name
    change, revision = outcome(change, metadata, kind.kind == "Namespace" and _awaits_emptying(event))
    return Entry(
        ref=target,
        change=change,
        resource_version=revision,
        facts=kind.facts(shape),
        owner=owner(metadata),
        body=redact_json(bytes(event.responseObject), kind.kind) if bodies else b"",
        **common,
    )


def _awaits_emptying(event: AuditEvent) -> bool:
    """A Namespace keeps its finalizers in its spec; it stays until its content has gone."""
    spec = _namespace.decode(event.responseObject).spec
    return bool(spec and spec.finalizers)


def _bare(
    event: AuditEvent,
    ref: _ObjectReference,
    kind: Kind,
    change: Change,
    answer: _Answer,
    common: dict[str, Any],
) -> Entry | None:
    """No object in the answer: level Metadata or Request, a Status, or metadata alone."""
    metadata = Metadata()
    sets: tuple[tuple[str, Any], ...] = ()
    if answer.kind == "PartialObjectMetadata" and answer.metadata:
        metadata = answer.metadata
        sets = tuple(metadata.common.items())
    elif answer.kind == "Status" and (details := _status.decode(event.responseObject).details):
        metadata = Metadata(uid=details.uid)
    target = _object(ref, kind, metadata)
    if not target.name:
        return None  # deletecollection, and creates by generateName whose answer was not logged
    change, revision = outcome(change, metadata)
    return Entry(
        ref=target,
        change=change,
        resource_version=revision,
        sets=sets,
        owner=owner(metadata),
        **common,
    )


def _bound(event: AuditEvent, ref: _ObjectReference, kind: Kind, common: dict[str, Any]) -> Entry | None:
    """A binding is a write of the Pod whose answer does not show the Pod."""
    body = _binding.decode(event.requestObject) if told(event.requestObject) else _Binding()
    target = _object(ref, kind, body.metadata or Metadata())
    if not target.name or kind.kind != "Pod":
        return None
    node = body.target.name if body.target else ""
    return Entry(
        ref=target,
        change=Change.MODIFIED,
        resource_version=None,
        sets=(("node", node),) if node else (),
        **common,
    )


def _object(ref: _ObjectReference, kind: Kind, metadata: Metadata) -> ObjectRef:
    name, uid = ref.name or metadata.name or "", metadata.uid or ref.uid
    if "\0" in "".join((ref.apiGroup, ref.apiVersion, kind.kind, ref.namespace, name, uid)):
        raise ValueError("a NUL character stands in the object's name")
    return ObjectRef(ref.apiGroup, ref.apiVersion, kind.kind, ref.namespace, name, uid)


def _named(event: AuditEvent, answer: _Answer) -> str:
    """The kind of a resource that is not built in, as the answer or the object sent says it; "" where neither does."""
    if answer.kind and answer.kind not in NOT_OBJECTS:
        return answer.kind
    if event.verb in {"create", "update"} and told(event.requestObject):
        return _answer.decode(event.requestObject).kind
    return ""
