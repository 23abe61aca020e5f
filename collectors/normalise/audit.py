"""Pure: one event of an audit log becomes an entry, or a reason why it tells nothing of an object."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from collectors.normalise import NOT_OBJECTS, decoder, outcome, told
from collectors.normalise.audit_event import AuditEvent, ObjectReference, date, instant, latest
from collectors.normalise.interning import Shared
from collectors.redaction import redact_json
from timeline.core.entries import FOREVER, Change, Clock, Entry, Facts, Level, Place, revision
from timeline.kinds import Kind, Metadata, kind_of


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


class _Precondition(msgspec.Struct, gc=False):
    resourceVersion: str | None = None


class _List(msgspec.Struct, gc=False):
    kind: str = ""
    items: tuple[msgspec.Raw, ...] | None = None


class _DeleteOptions(msgspec.Struct, gc=False):
    gracePeriodSeconds: int | None = None
    propagationPolicy: str | None = None
    orphanDependents: bool | None = None


class _Request(msgspec.Struct, gc=False):
    """An update names the revision that it has read: the API server refuses it unless it is the latest."""

    metadata: _Precondition | None = None


_answer = msgspec.json.Decoder(_Answer)
_status = msgspec.json.Decoder(_Status)
_namespace = msgspec.json.Decoder(_Namespace)
_binding = msgspec.json.Decoder(_Binding)
_request = msgspec.json.Decoder(_Request)
_list = msgspec.json.Decoder(_List)
_delete_options = msgspec.json.Decoder(_DeleteOptions)
_CHANGES = {
    "create": Change.CREATED,
    "update": Change.MODIFIED,
    "patch": Change.MODIFIED,
    "delete": Change.DELETED,
    "deletecollection": Change.DELETED,
}
_BODY_OF_OBJECT = {"", "status", "ephemeralcontainers", "resize", "finalize", "approval"}
_LEVELS = {level.value: level for level in Level}
_METADATA = Metadata()


def entries_of(event: AuditEvent, place: Place, *, bodies: bool, shared: Shared) -> Sequence[Entry]:
    """The changes that an audit event tells of objects: one, none, or of a deletecollection many.

    Raises ValueError (msgspec.ValidationError is one) with a reason where the event cannot be used.
    """
    ref, change = event.objectRef, _CHANGES.get(event.verb)
    if change is None or ref is None or event.stage != "ResponseComplete" or "dryRun=" in event.requestURI:
        return ()
    code = event.responseStatus.code if event.responseStatus else None
    if code is None or not 200 <= code < 300:
        return ()
    if not event.requestReceivedTimestamp or not event.stageTimestamp:
        date(event)
    if "/" in ref.apiVersion and not ref.apiGroup:  # v1alpha1
        ref.apiGroup, _, ref.apiVersion = ref.apiVersion.rpartition("/")
    if ref.subresource not in _BODY_OF_OBJECT and ref.subresource != "binding":
        return ()  # eviction, scale, token, log, …: their effect shows in the object's own writes
    if change is Change.MODIFIED and code == 201:
        change = Change.CREATED  # server-side apply creates what it does not find
    telling = _Telling(event, ref, place, bodies, shared)
    if event.verb == "deletecollection":
        return list(telling.deletions()) if told(event.responseObject) else ()
    if ref.subresource == "binding":
        entry = telling.binding()
    else:
        entry = telling.answer(change) if told(event.responseObject) else telling.request(change)
    return (entry,) if entry else ()


class _Telling:
    """One event on its way to an entry."""

    __slots__ = ("_bodies", "_event", "_place", "_ref", "_shared")

    def __init__(self, event: AuditEvent, ref: ObjectReference, place: Place, bodies: bool, shared: Shared) -> None:
        self._event = event
        self._ref = ref
        self._place = place
        self._bodies = bodies
        self._shared = shared

    def answer(self, change: Change) -> Entry | None:
        """By the object after the change, where the answer is one."""
        event, ref = self._event, self._ref
        kind = self._shared.kind(ref.apiGroup, ref.resource)
        if kind is None:
            name = _answer.decode(event.responseObject).kind
            kind = self._custom(name if name not in NOT_OBJECTS and name else self._kind_sent())
        try:
            shape = decoder(kind).decode(event.responseObject)
        except msgspec.ValidationError:
            if _answer.decode(event.responseObject).kind not in NOT_OBJECTS:
                raise
            return self._no_object(change, kind)  # a Status has a status of another form
        if shape.kind in NOT_OBJECTS:
            return self._no_object(change, kind)
        metadata: Metadata = shape.metadata
        change, own = outcome(change, metadata, kind.kind == "Namespace" and _awaits_emptying(event))
        body = redact_json(bytes(event.responseObject), kind.kind) if self._bodies else b""
        return self._entry(kind, change, own, metadata, facts=kind.facts(shape), body=body)

    def _no_object(self, change: Change, kind: Kind) -> Entry | None:
        """A Status, or metadata alone."""
        answer = _answer.decode(self._event.responseObject)
        if answer.kind == "PartialObjectMetadata" and answer.metadata:
            sets = tuple(answer.metadata.stated.items())
            change, own = outcome(change, answer.metadata)
            return self._entry(kind, change, own, answer.metadata, sets=sets)
        details = _status.decode(self._event.responseObject).details if answer.kind == "Status" else None
        return self._entry(kind, change, None, Metadata(uid=details.uid) if details else _METADATA)

    def request(self, change: Change) -> Entry | None:
        """No answer was logged: by what was asked for, at level Request; else only that it was done."""
        event, ref = self._event, self._ref
        kind = self._shared.kind(ref.apiGroup, ref.resource) or self._custom(self._kind_sent())
        if event.verb not in ("create", "update") or not told(event.requestObject):
            return self._entry(kind, change, None, _METADATA)
        shape = decoder(kind).decode(event.requestObject)
        metadata: Metadata = shape.metadata
        return self._entry(kind, change, None, metadata, facts=kind.facts(shape))

    def deletions(self) -> Iterator[Entry]:
        """Each was removed, or stays until its finalizers have gone or its node has stopped it."""
        event, ref = self._event, self._ref
        listed = _list.decode(event.responseObject)
        options = _delete_options.decode(event.requestObject) if told(event.requestObject) else _DeleteOptions()
        bare = listed.kind in ("", "PartialObjectMetadataList")
        name = ref.resource if bare else listed.kind.removesuffix("List")
        kind = self._shared.kind(ref.apiGroup, ref.resource) or self._custom(name)
        for item in listed.items or ():
            shape = decoder(kind).decode(item)
            metadata: Metadata = shape.metadata
            if metadata.deletionTimestamp is not None and options.gracePeriodSeconds != 0:
                continue  # it had been asked to end before
            facts = None if bare else kind.facts(shape)
            if _stays(kind, metadata, facts, options):
                asked = instant(event.requestReceivedTimestamp) // 1_000_000 * 1_000_000
                sets = (*metadata.stated.items(), ("deleting", True), ("asked", asked))
                entry = self._entry(kind, Change.MODIFIED, None, metadata, sets=sets)
            else:
                body = redact_json(bytes(item), kind.kind) if self._bodies and facts else b""
                entry = self._entry(kind, Change.DELETED, None, metadata, facts=facts, body=body)
            if entry:
                yield entry

    def binding(self) -> Entry | None:
        """A binding is a write of the Pod whose answer does not show the Pod."""
        event, ref = self._event, self._ref
        kind = self._shared.kind(ref.apiGroup, ref.resource)
        if kind is None or kind.kind != "Pod":
            return None
        body = _binding.decode(event.requestObject) if told(event.requestObject) else _Binding()
        node = body.target.name if body.target else ""
        sets = (("node", node),) if node else ()
        return self._entry(kind, Change.MODIFIED, None, body.metadata or _METADATA, sets=sets)

    def _entry(
        self,
        kind: Kind,
        change: Change,
        own: int | None,
        metadata: Metadata,
        facts: Facts | None = None,
        sets: tuple[tuple[str, Any], ...] = (),
        body: bytes = b"",
    ) -> Entry | None:
        event, ref, shared = self._event, self._ref, self._shared
        if not (ref.name or metadata.name):
            return None  # a question (TokenReview), or a create by generateName whose answer was not logged
        level = _LEVELS.get(event.level, Level.METADATA)
        if level is Level.FULL and facts is None and not told(event.responseObject):
            level = Level.METADATA  # its bodies were cut away
        text = shared.text
        return Entry(
            shared.ref(ref, kind.kind, metadata),
            change,
            own,
            Clock.AUDIT,
            instant(event.requestReceivedTimestamp),
            latest(event.stageTimestamp) if event.stageTimestamp else FOREVER,
            facts,
            sets,
            shared.owner(metadata),
            self._replaces(own) if event.verb == "update" else None,
            level,
            text(ref.subresource, ref.subresource),
            text(event.user.username, event.user.username),
            text(event.userAgent, event.userAgent),
            event.auditID,
            self._place,
            body,
        )

    def _replaces(self, own: int | None) -> int | None:
        if not told(self._event.requestObject):
            return None
        metadata = _request.decode(self._event.requestObject).metadata
        before = revision(metadata.resourceVersion) if metadata else None
        return before if before != own else None  # else it changed nothing

    def _custom(self, name: str) -> Kind:
        """The kind of a resource that is not built in. Other lines may not tell its name."""
        ref = self._ref
        if name != ref.resource:
            self._shared.named[ref.apiGroup, ref.resource] = name
        return kind_of(ref.apiGroup, name)

    def _kind_sent(self) -> str:
        """The kind of a resource that is not built in, as the object sent says it; else the resource's own name."""
        event = self._event
        sent = _answer.decode(event.requestObject).kind if event.verb in _SENT and told(event.requestObject) else ""
        return sent or self._ref.resource


_SENT = ("create", "update")


def _stays(kind: Kind, metadata: Metadata, facts: Any, options: _DeleteOptions) -> bool:
    """Whether an object outlives the request to delete it."""
    if metadata.finalizers or options.orphanDependents or options.propagationPolicy in ("Foreground", "Orphan"):
        return True
    if kind.kind != "Pod" or options.gracePeriodSeconds == 0:
        return False
    return facts is None or bool(facts.node and facts.phase not in ("Succeeded", "Failed"))


def _awaits_emptying(event: AuditEvent) -> bool:
    """A Namespace keeps its finalizers in its spec; it stays until its content has gone."""
    spec = _namespace.decode(event.responseObject).spec
    return bool(spec and spec.finalizers)
