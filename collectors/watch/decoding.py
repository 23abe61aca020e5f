"""Pure: what a list and the events of a watch of one kind say, as entries, and who lives by them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec
import orjson
from msgspec.structs import replace

from collectors.normalise.objects import observed_object
from collectors.redaction.entries import entry_without_credentials
from collectors.watch.failures import Refused, refused, words
from collectors.watch.resources import Resource
from timeline.core.entries import Change, Clock, Entry, ObjectRef, Owner, revision

_CHANGES = {"ADDED": Change.CREATED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}
_SIGNED = ("Lease",)  # every write leaves a sign: the same writer, in the same second
_FRESH = 5_000_000  # µs: a writer that an object names was its last one, if it wrote so shortly before it arrived
_DATA = ("data", "binaryData", "immutable")


class KnownObject(Protocol):
    """What has to be known of an object that lives, to tell what became of it while nobody watched."""

    @property
    def ref(self) -> ObjectRef: ...
    @property
    def revision(self) -> int: ...  # of its last change that is known
    @property
    def owner(self) -> Owner | None: ...


class _Living(msgspec.Struct, gc=False):
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


class _Marked(msgspec.Struct, gc=False):
    resourceVersion: str = ""


class _Bookmark(msgspec.Struct, gc=False):
    metadata: _Marked


class _Name(msgspec.Struct, gc=False):
    uid: str = ""
    namespace: str = ""
    name: str = ""


class _Named(msgspec.Struct, gc=False):
    metadata: _Name


_named = msgspec.json.Decoder(_Named)
_list = msgspec.json.Decoder(_List)
_event = msgspec.json.Decoder(_Event)
_bookmark = msgspec.json.Decoder(_Bookmark)


class Page(NamedTuple):
    revision: int  # the list's
    following: str  # asks for the next page; "" where there is none
    items: list[msgspec.Raw]


class Bookmark(NamedTuple):
    revision: int


def page_of(body: bytes) -> Page:
    """Raises Malformed."""
    try:
        told = _list.decode(body)
    except (ValueError, RecursionError):
        raise Malformed("The answer is no list of objects.") from None
    at = revision(told.metadata.resourceVersion)
    if at is None:
        raise Malformed("The list names no revision that can be compared.")
    return Page(at, told.metadata.continue_, told.items or [])


class Reading:
    """One kind: what each of its objects and events tells, and the objects that live.

    A sighting that cannot be used is counted in `unusable`, and `why` says what is wrong with the last one.
    """

    def __init__(self, resource: Resource, standing: Mapping[str, KnownObject]) -> None:
        self._resource = resource
        self.living = {uid: _Living(each.ref, each.revision, each.owner) for uid, each in standing.items()}
        self.unusable = 0
        self.why = ""

    def listed(self, item: msgspec.Raw, arrived: int) -> Entry | None:
        return self._seen(bytes(item), Change.OBSERVED, arrived)

    def event(self, line: bytes, arrived: int, reached: int) -> Entry | Bookmark | Refused | None:
        """What a line of the watch tells; None where its object cannot be used, or was told before: all up to the
        revision `reached` was. Raises Malformed."""
        try:
            event = _event.decode(line)
            if change := _CHANGES.get(event.type):
                return self._seen(bytes(event.object), change, arrived, reached)
            if event.type == "BOOKMARK":
                at = revision(_bookmark.decode(event.object).metadata.resourceVersion)
                return Bookmark(at) if at is not None else None
        except (ValueError, RecursionError):
            raise Malformed("A line of the watch is not JSON as an API server writes it.") from None
        if event.type == "ERROR":
            return refused(bytes(event.object))
        raise Malformed("A line of the watch is no event of a watch.")

    def vanished(self, seen: set[str], since: int, answered: int) -> Iterator[Entry]:
        """Those that lived and are not in a list that was answered then: they went somewhere since the other time."""
        for uid in self.living.keys() - seen:
            was = self.living.pop(uid)
            yield Entry(was.ref, Change.DELETED, None, Clock.OBJECT, since, answered, owner=was.owner, arrived=answered)

    def _seen(self, raw: bytes, change: Change, arrived: int, reached: int = 0) -> Entry | None:
        resource = self._resource
        try:
            if resource.metadata_only:
                raw = _bare(raw, resource)
            sighting = observed_object(
                raw, change, None, bodies=True, api_version=resource.api_version, kind=resource.kind
            )
            if sighting.entry.resource_version is None:
                raise ValueError("it has no resourceVersion that can be compared, as every API server gives one")
        except (ValueError, RecursionError) as error:
            self.unusable += 1
            self.why = words(str(error))
            return None
        entry = entry_without_credentials(sighting.entry)
        own, key, signed = entry.resource_version or 0, key_of(entry), entry.user_agent
        before = self.living.get(key)
        if own <= reached:  # it was told before
            if before and before.revision >= own:
                return None
        elif change is Change.DELETED:
            self.living.pop(key, None)
        elif before is None:
            self.living[key] = _Living(entry.ref, own, entry.owner, _hash(sighting.managers))
        else:
            managers = _hash(sighting.managers)
            signed = _signature(entry, before, managers, arrived)
            if own >= before.revision:
                before.revision, before.owner, before.managers = own, entry.owner, managers
        ref = before.ref if before and before.ref == entry.ref else entry.ref  # one is enough in memory
        return replace(entry, ref=ref, arrived=arrived, user_agent=signed)


def key_of(entry: Entry) -> str:
    """By what an object is known when it comes again."""
    return entry.ref.uid or f"{entry.ref.namespace}/{entry.ref.name}"


def key_in(item: msgspec.Raw) -> str:
    """The same of an object that cannot be used; "" where it has no name."""
    try:
        told = _named.decode(item).metadata
    except (ValueError, RecursionError):
        return ""
    return told.uid or (f"{told.namespace}/{told.name}" if told.name else "")


def _hash(managers: bytes) -> int:
    return hash(managers) if managers else 0


def _signature(entry: Entry, before: _Living, managers: int, arrived: int) -> str:
    """Who made a change; "" where it left no sign of that, as a binding does."""
    if entry.change is not Change.MODIFIED or entry.ref.kind in _SIGNED:
        return entry.user_agent
    if before.managers:
        return entry.user_agent if before.managers != managers else ""
    return entry.user_agent if arrived - entry.received < _FRESH else ""


def _bare(raw: bytes, resource: Resource) -> bytes:
    """Without its data, should the server have sent them, and as what it is rather than as metadata alone."""
    told: Any = orjson.loads(raw)
    if isinstance(told, dict):
        kept = {name: value for name, value in told.items() if name not in _DATA}
        raw = orjson.dumps({**kept, "apiVersion": resource.api_version, "kind": resource.kind})
    return raw
