"""Pure: one event of an audit log becomes an entry, or a reason why it tells nothing of an object."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from collectors.normalise import KINDS, NOT_OBJECTS, decoder, outcome, owner, revision, told
from collectors.redact import redact_json
from timeline.entries import FOREVER, Change, Clock, Entry, Facts, Level, ObjectRef, Owner, Place
from timeline.kinds import Kind, Metadata, kind_of, seconds


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
    requestReceivedTimestamp: str = ""
    stageTimestamp: str = ""
    timestamp: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)  # v1alpha1 and v1beta1, whole seconds
    metadata: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)  # of the same


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
_text = msgspec.json.Decoder(str)
_stamp = msgspec.json.Decoder(Metadata)
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
_seconds: dict[str, int] = {}


def instant(text: str) -> int:
    """A time as the API server writes it into its log (RFC 3339, microseconds), since 1970. Raises ValueError."""
    fraction = text[20:26]
    if len(text) != 27 or text[26] != "Z" or not fraction.isdecimal():
        return seconds(text)
    whole = _seconds.get(text[:20])
    if whole is None:
        if text[19] != ".":
            return seconds(text)
        if len(_seconds) > 100_000:
            _seconds.clear()
        whole = _seconds[text[:20]] = seconds(text[:19] + "Z")
    return whole + int(fraction)


def latest(text: str) -> int:
    """The last microsecond that a time may stand for: whoever ships a log may have cut its fraction off."""
    if len(text) >= 27:
        return instant(text)
    fraction = _fraction.search(text)
    return instant(text) + int("9" * (6 - len(fraction[1] if fraction else "")) or "0")


_fraction = re.compile(r"\.(\d{1,6})")


class Shared:
    """What many events of a log tell alike, kept once: objects, their owners, clients, kinds."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.text = self._texts.setdefault  # to be called with a text, twice
        self._refs: dict[str, ObjectRef] = {}
        self._owners: dict[str, Owner | None] = {}
        self._kinds: dict[tuple[str, str], Kind] = {}
        self.named: dict[tuple[str, str], str] = {}  # the kinds of resources that are not built in, as the log tells

    def ref(self, ref: _ObjectReference, kind: str, metadata: Metadata) -> ObjectRef:
        uid, name = metadata.uid or ref.uid, ref.name or metadata.name or ""
        known = self._refs.get(key := uid or f"{kind}.{ref.apiGroup}/{ref.namespace}/{name}")
        if (
            known is None
            or known.name != name
            or known.kind != kind
            or known.namespace != ref.namespace
            or known.version != ref.apiVersion
            or known.group != ref.apiGroup
        ):
            if "\0" in f"{ref.apiGroup}{ref.apiVersion}{kind}{ref.namespace}{name}{uid}":
                raise ValueError("a NUL character stands in the object's name")
            text = self.text
            known = ObjectRef(
                text(ref.apiGroup, ref.apiGroup),
                text(ref.apiVersion, ref.apiVersion),
                kind,
                text(ref.namespace, ref.namespace),
                name,
                uid,
            )
            if kind != "Event":  # most are told of but once
                self._refs[key] = known
        return known

    def owner(self, metadata: Metadata) -> Owner | None:
        references = metadata.ownerReferences
        if not references:
            return None
        uid = references[0].uid
        if len(references) > 1 or not uid:
            return owner(metadata)
        known = self._owners.get(uid)
        if known is None:
            known = self._owners[uid] = owner(metadata)
        return known

    def kind(self, group: str, resource: str) -> Kind | None:
        """The kind of a resource that is built in."""
        found = self._kinds.get((group, resource))
        if found is None and (name := KINDS.get((group, resource))):
            found = self._kinds[group, resource] = kind_of(group, name)
        return found


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
        _date(event)
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


def _date(event: AuditEvent) -> None:
    """Before Kubernetes 1.9 events told whole seconds: of the request, and as their own creation that of the stage."""
    if not event.requestReceivedTimestamp and told(event.timestamp):
        event.requestReceivedTimestamp = _text.decode(event.timestamp)
    if not event.stageTimestamp and told(event.metadata) and (stage := _stamp.decode(event.metadata).creationTimestamp):
        event.stageTimestamp = stage.removesuffix("Z") + ".999999Z"
    if not event.requestReceivedTimestamp or not (event.stageTimestamp or told(event.timestamp)):
        raise ValueError("the event has no requestReceivedTimestamp or no stageTimestamp")


class _Telling:
    """One event on its way to an entry."""

    __slots__ = ("_bodies", "_event", "_place", "_ref", "_shared")

    def __init__(self, event: AuditEvent, ref: _ObjectReference, place: Place, bodies: bool, shared: Shared) -> None:
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
        if metadata.deletionTimestamp is None:
            own = revision(metadata.resourceVersion)
        else:
            change, own = outcome(change, metadata, kind.kind == "Namespace" and _awaits_emptying(event))
        body = redact_json(bytes(event.responseObject), kind.kind) if self._bodies else b""
        return self._entry(kind, change, own, metadata, facts=kind.facts(shape), body=body)

    def _no_object(self, change: Change, kind: Kind) -> Entry | None:
        """A Status, or metadata alone."""
        answer = _answer.decode(self._event.responseObject)
        if answer.kind == "PartialObjectMetadata" and answer.metadata:
            sets = tuple(answer.metadata.told.items())
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
                sets = (*metadata.told.items(), ("deleting", True), ("asked", asked))
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
            shared.owner(metadata) if metadata.ownerReferences else None,
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
