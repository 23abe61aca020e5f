"""Decode a list and the watch events of one kind into entries, and track which objects exist. It does no I/O."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec
import orjson
from msgspec.structs import replace

from collectors.formats.json_stream import JsonStream, MalformedJson
from collectors.gate import reason_of
from collectors.normalise.objects import Signature, observed_object, signed_by
from collectors.watch.server.failures import RequestRefused, refused, safe_text
from collectors.watch.streams.resources import Resource
from timeline.core.bounds import FAULTS
from timeline.core.entries import Change, Clock, Entry, ObjectRef, Owner, revision
from timeline.core.values import check_object

_CHANGES = {"ADDED": Change.CREATED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}
# Kinds whose managedFields every write sets, often to the same: one writer, within a second.
_ALWAYS_SIGNED = ("Lease",)
# µs; a field manager that wrote at most so long before the object arrived is taken for the writer of its last change.
_LAST_WRITER_MICROSECONDS = 5_000_000
OBJECTS = 50_000  # on one page of a list; a server that keeps to what is asked for sends 500
FIELDS = 100  # of a list; an API server writes four
_DATA = ("data", "binaryData", "immutable")  # fields of a ConfigMap


class KnownObject(Protocol):
    """What is known of an existing object, to tell what happened to it while nothing was watched."""

    @property
    def ref(self) -> ObjectRef: ...
    @property
    def revision(self) -> int: ...  # resourceVersion of its last known change
    @property
    def owner(self) -> Owner | None: ...


class _LiveObject(msgspec.Struct, gc=False):
    ref: ObjectRef
    revision: int
    owner: Owner | None
    signature: Signature | None = None  # None if its managedFields are not known


class Malformed(Exception):
    """A response is not a list or a watch event. The message says why."""


class _ListMetadata(msgspec.Struct, gc=False):
    resourceVersion: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, gc=False):
    """A list without its items, which are decoded one by one."""

    metadata: _ListMetadata


class _Event(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


class _BookmarkMetadata(msgspec.Struct, gc=False):
    resourceVersion: str = ""


class _Bookmark(msgspec.Struct, gc=False):
    metadata: _BookmarkMetadata


class _Name(msgspec.Struct, gc=False):
    uid: str = ""
    namespace: str = ""
    name: str = ""


class _Named(msgspec.Struct, gc=False):
    metadata: _Name


_name_decoder = msgspec.json.Decoder(_Named)
_list_decoder = msgspec.json.Decoder(_List)
_event_decoder = msgspec.json.Decoder(_Event)
_bookmark_decoder = msgspec.json.Decoder(_Bookmark)


class ListPage(NamedTuple):
    revision: int  # the list's resourceVersion
    continue_token: str  # requests the next page; "" if there is none
    items: Iterator[bytes]  # it raises Malformed if there are far more than a page has


class Bookmark(NamedTuple):
    """A bookmark of a watch, with its resourceVersion."""

    revision: int


def page_of(body: bytes) -> ListPage:
    """Decode one page of a list. Raise Malformed."""
    try:
        page = _list_decoder.decode(body)
    except (ValueError, RecursionError):
        raise Malformed("The answer is not a list of objects.") from None
    version = revision(page.metadata.resourceVersion)
    if version is None:
        raise Malformed("The list has no resourceVersion that can be compared.")
    return ListPage(version, page.metadata.continue_, _items(body))


def _items(body: bytes) -> Iterator[bytes]:
    """Yield the items of a list one by one. Raise Malformed."""
    stream = JsonStream(iter([body]), len(body))
    try:
        for number, key in enumerate(stream.members()):
            if number == FIELDS:
                raise Malformed(f"The list has more than {FIELDS} fields.")
            if key != "items" or stream.peek() != b"[":
                if stream.value() != b"null" and key == "items":
                    raise Malformed("The answer is not a list of objects.")
                continue
            for item in stream.elements():
                if item == OBJECTS:
                    raise Malformed(f"The list has more than {OBJECTS} objects on one page.")
                yield stream.value()
    except MalformedJson:
        raise Malformed("The answer is not a list of objects.") from None


class ObjectDecoder:
    """Decode the objects and events of one kind, and keep track of which objects exist.

    An object that cannot be used is counted in `unusable`, and `why` says what is wrong with the last one.
    """

    def __init__(self, resource: Resource, known_objects: Mapping[str, KnownObject]) -> None:
        self._resource = resource
        self.live_objects = {
            uid: _LiveObject(each.ref, each.revision, each.owner) for uid, each in known_objects.items()
        }
        self._last_owner: Owner | None = None  # that many objects in a row have
        self.unusable = 0
        self.why = ""

    def listed(self, item: bytes, arrived: int) -> Entry | None:
        """Return the entry of an item of a list as it is; None if it cannot be used. `arrived` is in µs since 1970."""
        return self._observe(item, Change.OBSERVED, arrived)

    def event(self, line: bytes, arrived: int, resume_version: int) -> Entry | Bookmark | RequestRefused | None:
        """Decode one line of a watch. Return None if its object cannot be used, or if it was delivered before.

        Everything up to `resume_version` was delivered before. An entry is as it was observed: the caller lets the gate
        admit it. Raise Malformed.
        """
        try:
            event = _event_decoder.decode(line)
            if change := _CHANGES.get(event.type):
                return self._observe(bytes(event.object), change, arrived, resume_version)
            if event.type == "BOOKMARK":
                version = revision(_bookmark_decoder.decode(event.object).metadata.resourceVersion)
                return Bookmark(version) if version is not None else None
        except (ValueError, RecursionError):
            raise Malformed("A line of the watch is not JSON as an API server writes it.") from None
        if event.type == "ERROR":
            return refused(bytes(event.object))
        raise Malformed("A line of the watch is not a watch event.")

    def vanished(self, seen: set[str], since: int, answered: int) -> Iterator[Entry]:
        """Yield a deletion for each known object that is not in a list: it happened between `since` and `answered`."""
        for uid in self.live_objects.keys() - seen:
            gone = self.live_objects.pop(uid)
            yield Entry(
                gone.ref, Change.DELETED, None, Clock.OBJECT, since, answered, owner=gone.owner, arrived=answered
            )

    def refuse(self, reason: str) -> None:
        """Count an object that cannot be used."""
        self.unusable += 1
        self.why = safe_text(reason)

    def _observe(self, raw: bytes, change: Change, arrived: int, resume_version: int = 0) -> Entry | None:
        resource = self._resource
        try:
            if resource.metadata_only:
                raw = _without_data(raw, resource)
            observed = observed_object(
                raw, change, None, bodies=True, api_version=resource.api_version, kind=resource.kind
            )
            if observed.entry.resource_version is None:
                raise ValueError("it has no resourceVersion that can be compared")
        except FAULTS as error:
            self.refuse(reason_of(error))
            return None
        entry, owner = observed.entry, observed.entry.owner
        if owner == self._last_owner:
            owner = self._last_owner
        self._last_owner = owner
        own_version, key, writer = entry.resource_version or 0, key_of(entry), entry.user_agent
        known = self.live_objects.get(key)
        if own_version <= resume_version:  # it was delivered before
            if known and known.revision >= own_version:
                return None
        elif change is Change.DELETED:
            self.live_objects.pop(key, None)
        elif known is None:
            known = _LiveObject(_ref_of(entry, resource), own_version, owner, observed.signature)
            self.live_objects[key] = known
        else:
            writer = _writer(entry, known, observed.signature, arrived)
            if own_version >= known.revision:
                known.revision, known.owner, known.signature = own_version, owner, observed.signature
        ref = known.ref if known and known.ref == entry.ref else entry.ref  # share one copy in memory
        return replace(entry, ref=ref, owner=owner, arrived=arrived, user_agent=writer)


def key_of(entry: Entry) -> str:
    """Return the key by which an object is recognised: its UID, else its namespace and name."""
    return entry.ref.uid or f"{entry.ref.namespace}/{entry.ref.name}"


def key_in(item: bytes) -> str:
    """Return the same of an object that cannot be used; "" if it has no name."""
    try:
        metadata = _name_decoder.decode(item).metadata
    except (ValueError, RecursionError):
        return ""
    return metadata.uid or (f"{metadata.namespace}/{metadata.name}" if metadata.name else "")


def _ref_of(entry: Entry, resource: Resource) -> ObjectRef:
    """Return the reference of a new object. It shares what is the same for all objects of the resource."""
    ref = entry.ref
    if (ref.group, ref.version, ref.kind) != (resource.group, resource.version, resource.kind):
        return ref
    return ObjectRef(resource.group, resource.version, resource.kind, ref.namespace, ref.name, ref.uid)


def _writer(entry: Entry, known: _LiveObject, signature: Signature | None, arrived: int) -> str:
    """Return who made a change; "" if the change did not record it, as with a binding."""
    if entry.change is not Change.MODIFIED or entry.ref.kind in _ALWAYS_SIGNED:
        return entry.user_agent
    if known.signature:
        return signed_by(signature, known.signature)
    return entry.user_agent if arrived - entry.received < _LAST_WRITER_MICROSECONDS else ""


def _without_data(raw: bytes, resource: Resource) -> bytes:
    """Return the object without its data, which a server may have sent anyway, and with its own kind.

    A server that sends only metadata calls the kind PartialObjectMetadata.
    """
    check_object(raw)
    fields: Any = orjson.loads(raw)
    if isinstance(fields, dict):
        kept = {name: value for name, value in fields.items() if name not in _DATA}
        raw = orjson.dumps({**kept, "apiVersion": resource.api_version, "kind": resource.kind})
    return raw
