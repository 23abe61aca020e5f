"""Turn JSON documents of the Kubernetes API into entries: objects, lists of objects, and watch events."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from collectors.formats.stream import Skipped, too_long
from collectors.gate import reason_of
from collectors.normalise import is_present
from collectors.normalise.initial_events import InitialEvents
from collectors.normalise.objects import failure, observed_object
from timeline.core.bounds import FAULTS
from timeline.core.entries import Change, Entry, Observation, Place, revision
from timeline.core.values import decoder


class Piece(NamedTuple):
    """One document, or one item of a list, as JSON; `line` is where it begins."""

    line: int
    data: bytes
    listed: bool = False
    api_version: str = ""  # from the list: the items of a PodList do not say that they are Pods
    kind: str = ""


class Header(msgspec.Struct, gc=False):
    """The fields of a list beside its items."""

    apiVersion: str | None = None
    kind: str | None = None

    @property
    def item_type(self) -> tuple[str, str]:
        """Return the apiVersion and kind of items that do not name their own; two "" if the list names no kind."""
        kind = (self.kind or "").removesuffix("List")
        return (self.apiVersion or "", kind) if kind else ("", "")


class Listing:
    """Pass on the items of one list; items without a kind wait if their list's kind comes after them."""

    def __init__(self, file: str, header: Header, limit: int) -> None:
        self._file = file
        self._header = header
        self._limit = limit
        self._waiting: list[Piece] = []
        self._size = 0  # bytes

    def item(self, piece: Piece) -> Iterator[Piece | Skipped]:
        """Yield the item, or keep it until `end` knows its kind; yield a Skipped if too many bytes would wait."""
        if self._header.kind or header_of(piece.data).kind:
            yield self._named(piece)
            return
        self._size += len(piece.data)
        if self._size > self._limit:
            why = f"its kind stands behind the whole list, and the list is {too_long(self._limit)}"
            yield Skipped(self._file, piece.line, why)
        else:
            self._waiting.append(piece)

    def end(self, header: Header) -> Iterator[Piece]:
        """Yield the items that have waited, now that all fields of the list are known."""
        self._header = header
        yield from map(self._named, self._waiting)

    def _named(self, piece: Piece) -> Piece:
        version, kind = self._header.item_type
        return piece._replace(listed=True, api_version=version, kind=kind)


class _Document(msgspec.Struct, gc=False):
    """The fields that distinguish an object, a list and a watch event."""

    type: Any = None
    object: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    items: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _BookmarkMetadata(msgspec.Struct, gc=False):
    resourceVersion: str | None = None
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct, gc=False):
    apiVersion: str = ""
    kind: str = ""
    metadata: _BookmarkMetadata = msgspec.field(default_factory=_BookmarkMetadata)


_header = msgspec.json.Decoder(Header)
_document = decoder(_Document)
_bookmark = msgspec.json.Decoder(_Bookmark)
_items = msgspec.json.Decoder(list[msgspec.Raw] | None)
_CHANGES = {"ADDED": Change.CREATED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}
WATCH_TYPES = (*_CHANGES, "BOOKMARK", "ERROR")


def entries_of(
    pieces: Iterator[Piece | Observation | Skipped], file: str, bodies: bool
) -> Iterator[Observation | Skipped]:
    """Yield the entries of the documents of one recording, in order; pass on what is no document."""
    reading = _Reading(file, bodies)
    for piece in pieces:
        if not isinstance(piece, Piece):
            yield piece
            continue
        try:
            yield from reading.entries(piece)
        except FAULTS as error:
            yield Skipped(file, piece.line, reason_of(error))
    yield from reading.initial_events.remaining()


class _Reading:
    """Turn the documents of one recording into entries."""

    def __init__(self, file: str, bodies: bool) -> None:
        self._file = file
        self._bodies = bodies
        self.initial_events = InitialEvents()

    def entries(self, piece: Piece) -> Iterator[Entry | Skipped]:
        if piece.listed:
            yield self._listed(piece)
            return
        document = _document.decode(piece.data)
        if is_present(document.object) and isinstance(document.type, str):
            yield from self._event(document.type, bytes(document.object), piece.line)
        elif bytes(document.items):
            version, kind = _header.decode(piece.data).item_type
            for item in _items.decode(document.items) or ():
                yield self._listed(Piece(piece.line, bytes(item), True, version, kind))
        else:
            observed = observed_object(piece.data, Change.OBSERVED, Place(self._file, piece.line), bodies=self._bodies)
            own_version = b'"%d"' % (observed.entry.resource_version or 0)
            yield from self.initial_events.plain_object(observed, hash(piece.data.replace(own_version, b"")))

    def _listed(self, piece: Piece) -> Entry | Skipped:
        place = Place(self._file, piece.line)
        version, kind = piece.api_version, piece.kind
        try:
            return observed_object(
                piece.data, Change.OBSERVED, place, bodies=self._bodies, api_version=version, kind=kind
            ).entry
        except FAULTS as error:
            return Skipped(self._file, piece.line, reason_of(error))

    def _event(self, type: str, data: bytes, line: int) -> Iterator[Entry | Skipped]:
        """Yield the entries of one watch event (WatchEvent of meta/v1). Raise ValueError for an unknown type."""
        if type == "ERROR":
            yield from self.initial_events.interrupted()
            reason = "the watch ended here, and what happened before the next one is not in it"
            yield Skipped(self._file, line, f"{reason}: {failure(data)}")
        elif type == "BOOKMARK":
            mark = _bookmark.decode(data)
            group = mark.apiVersion.rpartition("/")[0]
            ends_replay = (mark.metadata.annotations or {}).get("k8s.io/initial-events-end") == "true"
            yield from self.initial_events.bookmark(
                group, mark.kind, revision(mark.metadata.resourceVersion), ends_replay
            )
        elif change := _CHANGES.get(type):
            yield from self.initial_events.watch_event(
                observed_object(data, change, Place(self._file, line), bodies=self._bodies)
            )
        else:
            raise ValueError(f"it is no event of a watch: its type is none of {', '.join(WATCH_TYPES)}")


def header_of(data: bytes) -> Header:
    """Return the header of a list, as far as this part of it has the fields; an empty one if it cannot be decoded."""
    try:
        return _header.decode(data)
    except (ValueError, RecursionError):
        return Header()
