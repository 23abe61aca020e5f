"""Turn one event of an audit log into entries. It does no I/O."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from collectors.normalise import NOT_OBJECTS, decoder, is_present, outcome
from collectors.normalise.audit_event import AuditEvent, ObjectReference, fill_timestamps, instant, latest
from collectors.normalise.blind import blind
from collectors.normalise.deletion import (
    DeleteOptions,
    delete_options,
    deleted_list,
    has_namespace_finalizers,
    outlives_delete,
)
from collectors.normalise.evidence import annotations_of
from collectors.normalise.interning import Interner
from collectors.normalise.requests import named_revision
from timeline.core.entries import FOREVER, Change, Clock, Entry, Facts, Intent, Level, Place, revision
from timeline.core.intent import has_intent
from timeline.core.values import check_object, check_values
from timeline.kinds import Kind, Metadata, kind_of, of_resource


class _Answer(msgspec.Struct, gc=False):
    """The fields that every response has, before its kind is known."""

    kind: str = ""
    metadata: Metadata | None = None


class _Details(msgspec.Struct, gc=False):
    uid: str = ""


class _Status(msgspec.Struct, gc=False):
    details: _Details | None = None


class _Target(msgspec.Struct, gc=False):
    name: str = ""


class _ScaleSpec(msgspec.Struct, gc=False):
    replicas: int = 0


class _Scale(msgspec.Struct, gc=False):
    kind: str = ""
    metadata: Metadata | None = None
    spec: _ScaleSpec | None = None


class _Binding(msgspec.Struct, gc=False):
    metadata: Metadata | None = None
    target: _Target | None = None


_answer = msgspec.json.Decoder(_Answer)
_status = msgspec.json.Decoder(_Status)
_binding = msgspec.json.Decoder(_Binding)
_scale = msgspec.json.Decoder(_Scale)
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
LISTED = 100_000  # objects that one event may list as deleted
LISTED_VALUES = 3_000_000  # values in such a list, whose objects are decoded one by one


def entries_of(event: AuditEvent, place: Place, *, bodies: bool, interner: Interner) -> Iterable[Entry]:
    """Return the changes of objects that an audit event records: a tuple of one or none, or for a deletecollection an
    iterator over many.

    Raise ValueError (msgspec.ValidationError is one) with a reason if the event, or an object in its list, cannot be
    used.
    """
    ref, change = event.objectRef, _CHANGES.get(event.verb)
    if change is None or ref is None or event.stage != "ResponseComplete" or "dryRun=" in event.requestURI:
        return ()
    code = event.responseStatus.code if event.responseStatus else None
    if code is None or not 200 <= code < 300:
        return ()
    if not event.requestReceivedTimestamp or not event.stageTimestamp:
        fill_timestamps(event)
    if "/" in ref.apiVersion and not ref.apiGroup:  # v1alpha1
        ref.apiGroup, _, ref.apiVersion = ref.apiVersion.rpartition("/")
    if ref.subresource not in _BODY_OF_OBJECT and ref.subresource not in ("binding", "scale"):
        return ()  # eviction, token, log, …: their effect is recorded by writes of the object itself
    if change is Change.MODIFIED and code == 201:
        change = Change.CREATED  # server-side apply creates an object that does not exist
    _check_size(event)
    reader = _EventReader(event, ref, place, bodies, interner)
    if event.verb == "deletecollection":
        return reader.deletions() if is_present(event.responseObject) else ()
    if ref.subresource == "binding":
        entry = reader.binding()
    elif ref.subresource == "scale":
        entry = reader.scale()
    else:
        entry = reader.answer(change) if is_present(event.responseObject) else reader.request(change)
    return (entry,) if entry else ()


def _check_size(event: AuditEvent) -> None:
    """Raise ValueError if an object in the event has too many values to be decoded."""
    if event.verb == "deletecollection":
        check_values(bytes(event.responseObject), LISTED_VALUES)
    else:
        check_object(event.responseObject)
    check_object(event.requestObject)


class _EventReader:
    """Turn one audit event into an entry, or the entries of a deletecollection."""

    __slots__ = ("_bodies", "_event", "_interner", "_place", "_ref")

    def __init__(self, event: AuditEvent, ref: ObjectReference, place: Place, bodies: bool, interner: Interner) -> None:
        self._event = event
        self._ref = ref
        self._place = place
        self._bodies = bodies
        self._interner = interner

    def answer(self, change: Change) -> Entry | None:
        """Return the entry by the object in the response, or by less if the response is not the object."""
        event, ref = self._event, self._ref
        kind = of_resource(ref.apiGroup, ref.resource)
        if kind is None:
            name = _answer.decode(event.responseObject).kind
            kind = self._custom_kind(name if name not in NOT_OBJECTS and name else self._kind_in_request())
        try:
            shape = decoder(kind).decode(event.responseObject)
        except msgspec.ValidationError:
            if _answer.decode(event.responseObject).kind not in NOT_OBJECTS:
                raise
            return self._no_object(change, kind)  # it is a Status, whose `status` is a string
        if shape.kind in NOT_OBJECTS:
            return self._no_object(change, kind)
        metadata: Metadata = shape.metadata
        change, own_version = outcome(
            change, metadata, kind.kind == "Namespace" and has_namespace_finalizers(bytes(event.responseObject))
        )
        body = bytes(event.responseObject) if self._bodies or self._has_intent(kind) else b""
        return self._entry(kind, change, own_version, metadata, facts=kind.facts(shape), body=body)

    def _has_intent(self, kind: Kind) -> bool:
        """Return whether rules compare what is wanted of the object after this write of it. Only few lines of a log are
        such writes."""
        event, ref = self._event, self._ref
        written = not ref.subresource and event.verb in ("create", "update", "patch")
        return written and has_intent(ref.apiGroup, kind.kind)

    def _no_object(self, change: Change, kind: Kind) -> Entry | None:
        """Return the entry of a response that is a Status, or metadata alone."""
        answer = _answer.decode(self._event.responseObject)
        if answer.kind == "PartialObjectMetadata" and answer.metadata:
            sets = tuple(answer.metadata.stated.items())
            change, own_version = outcome(change, answer.metadata)
            return self._entry(kind, change, own_version, answer.metadata, sets=sets)
        details = _status.decode(self._event.responseObject).details if answer.kind == "Status" else None
        return self._entry(kind, change, None, Metadata(uid=details.uid) if details else _METADATA)

    def request(self, change: Change) -> Entry | None:
        """Return the entry of an event without a response.

        It has the content of the object that was sent, if that was logged (level Request), else only that the change
        happened.
        """
        event, ref = self._event, self._ref
        kind = of_resource(ref.apiGroup, ref.resource) or self._custom_kind(self._kind_in_request())
        if event.verb not in ("create", "update") or not is_present(event.requestObject):
            return self._entry(kind, change, None, _METADATA)
        shape = decoder(kind).decode(event.requestObject)
        metadata: Metadata = shape.metadata
        return self._entry(kind, change, None, metadata, facts=kind.facts(shape))

    def deletions(self) -> Iterator[Entry]:
        """Yield an entry for each object in the response to a deletecollection.

        An object is deleted at once, or is only marked until its finalizers are removed or its node has stopped it.
        """
        event, ref = self._event, self._ref
        listed = deleted_list.decode(event.responseObject)
        options = delete_options.decode(event.requestObject) if is_present(event.requestObject) else DeleteOptions()
        bare = listed.kind in ("", "PartialObjectMetadataList")
        name = ref.resource if bare else listed.kind.removesuffix("List")
        kind = of_resource(ref.apiGroup, ref.resource) or self._custom_kind(name)
        if len(listed.items or ()) > LISTED:
            raise ValueError(f"it lists more than {LISTED} deleted objects")
        for item in listed.items or ():
            check_object(item)
            shape = decoder(kind).decode(item)
            metadata: Metadata = shape.metadata
            if metadata.deletionTimestamp is not None and options.gracePeriodSeconds != 0:
                continue  # an earlier request has deleted it
            facts = None if bare else kind.facts(shape)
            if outlives_delete(kind, metadata, facts, options):
                requested = instant(event.requestReceivedTimestamp) // 1_000_000 * 1_000_000
                sets = (*metadata.stated.items(), ("deleting", True), ("asked", requested))
                entry = self._entry(kind, Change.MODIFIED, None, metadata, sets=sets)
            else:
                body = bytes(item) if self._bodies and facts else b""
                entry = self._entry(kind, Change.DELETED, None, metadata, facts=facts, body=body)
            if entry:
                yield entry

    def binding(self) -> Entry | None:
        """Return the entry of a binding, which is a write of the Pod whose response does not hold the Pod."""
        event, ref = self._event, self._ref
        kind = of_resource(ref.apiGroup, ref.resource)
        if kind is None or kind.kind != "Pod":
            return None
        body = _binding.decode(event.requestObject) if is_present(event.requestObject) else _Binding()
        node = body.target.name if body.target else ""
        sets = (("node", node),) if node else ()
        return self._entry(kind, Change.MODIFIED, None, body.metadata or _METADATA, sets=sets)

    def scale(self) -> Entry | None:
        """Return the entry of a request that scales an object. It changes the object, but its response holds
        only the number of replicas."""
        event, ref = self._event, self._ref
        kind = of_resource(ref.apiGroup, ref.resource)
        if kind is None or event.verb not in ("update", "patch") or not is_present(event.responseObject):
            return None
        answer = _scale.decode(event.responseObject)
        if answer.kind != "Scale" or answer.metadata is None or answer.spec is None:
            return None
        metadata, replicas = answer.metadata, answer.spec.replicas
        sets = (("replicas", replicas),) if "replicas" in kind.facts_type.__struct_fields__ else ()
        return self._entry(
            kind,
            Change.MODIFIED,
            revision(metadata.resourceVersion),
            metadata,
            sets=sets,
            intent=(("replicas", str(replicas)),),
        )

    def _entry(
        self,
        kind: Kind,
        change: Change,
        own_version: int | None,
        metadata: Metadata,
        facts: Facts | None = None,
        sets: tuple[tuple[str, Any], ...] = (),
        body: bytes = b"",
        intent: Intent | None = None,
    ) -> Entry | None:
        event, ref, interner = self._event, self._ref, self._interner
        if not (ref.name or metadata.name):
            return None  # a review (TokenReview), or a create by generateName without a logged response
        level = _LEVELS.get(event.level, Level.METADATA)
        if level is Level.FULL and facts is None and not is_present(event.responseObject):
            level = Level.METADATA  # its bodies were removed from the log
        text = interner.text
        named = named_revision(event) if event.verb == "update" else None
        # With the same resourceVersion the update changed nothing.
        replaces = named if named != own_version and is_present(event.requestObject) else None
        received = instant(event.requestReceivedTimestamp)
        return Entry(
            interner.ref(ref, kind.kind, metadata),
            change,
            own_version,
            Clock.AUDIT,
            received,
            max(received, latest(event.stageTimestamp)) if event.stageTimestamp else FOREVER,
            facts,
            sets,
            interner.owner(metadata),
            replaces,
            level,
            text(ref.subresource),
            text(event.user.username),
            text(event.userAgent),
            event.auditID,
            self._place,
            body,
            0,
            interner.client(event),
            named if own_version is None else None,
            intent,
            0,
            blind(event) if change is Change.MODIFIED else (),
            annotations_of(event, refused=False),
        )

    def _custom_kind(self, name: str) -> Kind:
        """Return the kind of a resource that is not built in, and note its name for lines that do not have it."""
        ref = self._ref
        if name != ref.resource:
            self._interner.kind_names[ref.apiGroup, ref.resource] = name
        return kind_of(ref.apiGroup, name)

    def _kind_in_request(self) -> str:
        """Return the kind of a resource that is not built in, from the object sent; else the resource's own name."""
        event = self._event
        sent = (
            _answer.decode(event.requestObject).kind
            if event.verb in _VERBS_WITH_OBJECT and is_present(event.requestObject)
            else ""
        )
        return sent or self._ref.resource


_VERBS_WITH_OBJECT = ("create", "update")
