"""This pure module decodes a list and the watch events of one kind into entries, and tracks which objects exist."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec
import orjson
from msgspec.structs import replace

from collectors.normalise.objects import observed_object
from collectors.redaction.entries import entry_without_credentials
from collectors.watch.failures import Refused, refused, safe_text
from collectors.watch.resources import Resource
from timeline.core.entries import Change, Clock, Entry, ObjectRef, Owner, revision

_CHANGES = {"ADDED": Change.CREATED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}
_ALWAYS_SIGNED = ("Lease",)  # every write leaves a sign: the same writer, in the same second
# A field manager that wrote at most this long before the object arrived is taken for the writer of its last change.
_LAST_WRITER_MICROSECONDS = 5_000_000
_DATA = ("data", "binaryData", "immutable")


class KnownObject(Protocol):
    """What has to be known of an object that lives, to tell what became of it while nobody watched."""

    @property
    def ref(self) -> ObjectRef: ...
    @property
    def revision(self) -> int: ...  # of its last change that is known
    @property
    def owner(self) -> Owner | None: ...


class _LiveObject(msgspec.Struct, gc=False):
    ref: ObjectRef
    revision: int
    owner: Owner | None
    managers: int = 0  # a hash of its managedFields; 0 where they are not known


class Malformed(Exception):
    """What came is no event of a watch; the message says why."""


class _ListMetadata(msgspec.Struct, gc=False):
    resourceVersion: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, gc=False):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


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


class Page(NamedTuple):
    revision: int  # the list's
    continue_token: str  # asks for the next page; "" where there is none
    items: list[msgspec.Raw]


class Bookmark(NamedTuple):
    revision: int


def page_of(body: bytes) -> Page:
    """Raises Malformed."""
    try:
        page = _list_decoder.decode(body)
    except (ValueError, RecursionError):
        raise Malformed("The answer is no list of objects.") from None
    version = revision(page.metadata.resourceVersion)
    if version is None:
        raise Malformed("The list names no revision that can be compared.")
    return Page(version, page.metadata.continue_, page.items or [])


class ObjectDecoder:
    """One kind: what each of its objects and events tells, and the objects that live.

    A sighting that cannot be used is counted in `unusable`, and `why` says what is wrong with the last one.
    """

    def __init__(self, resource: Resource, known_objects: Mapping[str, KnownObject]) -> None:
        self._resource = resource
        self.live_objects = {
            uid: _LiveObject(each.ref, each.revision, each.owner) for uid, each in known_objects.items()
        }
        self.unusable = 0
        self.why = ""

    def listed(self, item: msgspec.Raw, arrived: int) -> Entry | None:
        return self._observe(bytes(item), Change.OBSERVED, arrived)

    def event(self, line: bytes, arrived: int, resume_version: int) -> Entry | Bookmark | Refused | None:
        """What a line of the watch tells; None where its object cannot be used, or was told before: all up to the
        revision `reached` was. Raises Malformed."""
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
        raise Malformed("A line of the watch is no event of a watch.")

    def vanished(self, seen: set[str], since: int, answered: int) -> Iterator[Entry]:
        """Those that lived and are not in a list that was answered then: they went somewhere since the other time."""
        for uid in self.live_objects.keys() - seen:
            gone = self.live_objects.pop(uid)
            yield Entry(
                gone.ref, Change.DELETED, None, Clock.OBJECT, since, answered, owner=gone.owner, arrived=answered
            )

    def _observe(self, raw: bytes, change: Change, arrived: int, resume_version: int = 0) -> Entry | None:
        resource = self._resource
        try:
            if resource.metadata_only:
                raw = _without_data(raw, resource)
            observed = observed_object(
                raw, change, None, bodies=True, api_version=resource.api_version, kind=resource.kind
            )
            if observed.entry.resource_version is None:
                raise ValueError("it has no resourceVersion that can be compared, as every API server gives one")
        except (ValueError, RecursionError) as error:
            self.unusable += 1
            self.why = safe_text(str(error))
            return None
        entry = entry_without_credentials(observed.entry)
        own_version, key, writer = entry.resource_version or 0, key_of(entry), entry.user_agent
        known = self.live_objects.get(key)
        if own_version <= resume_version:  # it was told before
            if known and known.revision >= own_version:
                return None
        elif change is Change.DELETED:
            self.live_objects.pop(key, None)
        elif known is None:
            self.live_objects[key] = _LiveObject(entry.ref, own_version, entry.owner, _hash(observed.managers))
        else:
            managers = _hash(observed.managers)
            writer = _signature(entry, known, managers, arrived)
            if own_version >= known.revision:
                known.revision, known.owner, known.managers = own_version, entry.owner, managers
        ref = known.ref if known and known.ref == entry.ref else entry.ref  # one is enough in memory
        return replace(entry, ref=ref, arrived=arrived, user_agent=writer)


def key_of(entry: Entry) -> str:
    """By what an object is known when it comes again."""
    return entry.ref.uid or f"{entry.ref.namespace}/{entry.ref.name}"


def key_in(item: msgspec.Raw) -> str:
    """The same of an object that cannot be used; "" where it has no name."""
    try:
        metadata = _name_decoder.decode(item).metadata
    except (ValueError, RecursionError):
        return ""
    return metadata.uid or (f"{metadata.namespace}/{metadata.name}" if metadata.name else "")


def _hash(managers: bytes) -> int:
    return hash(managers) if managers else 0


def _signature(entry: Entry, known: _LiveObject, managers: int, arrived: int) -> str:
    """Who made a change; "" where it left no sign of that, as a binding does."""
    if entry.change is not Change.MODIFIED or entry.ref.kind in _ALWAYS_SIGNED:
        return entry.user_agent
    if known.managers:
        return entry.user_agent if known.managers != managers else ""
    return entry.user_agent if arrived - entry.received < _LAST_WRITER_MICROSECONDS else ""


def _without_data(raw: bytes, resource: Resource) -> bytes:
    """Without its data, should the server have sent them, and as what it is rather than as metadata alone."""
    fields: Any = orjson.loads(raw)
    if isinstance(fields, dict):
        kept = {name: value for name, value in fields.items() if name not in _DATA}
        raw = orjson.dumps({**kept, "apiVersion": resource.api_version, "kind": resource.kind})
    return raw
