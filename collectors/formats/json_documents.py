"""What kubectl get -o json, get -w -o json, events and cluster-info dump print: JSON documents, one behind the other.

Lists, single objects, watch events that were printed prettily, in any mixture; between the documents of a dump the logs
of containers are passed over. An item of a list is handed on as soon as it ends, so that a list may be of any size.
"""

import re
from collections.abc import Iterator

import msgspec

from collectors.formats import Format, watch
from collectors.formats.documents import WATCH_TYPES, Listing, Piece, entries_of, header_of
from collectors.formats.json_items import outline
from collectors.formats.json_stream import Damaged, Text
from collectors.formats.stream import Recording, Skipped, too_long
from timeline.core.entries import Entry

_LOG_BEGINS = b"==== START logs for container "
_NEXT = re.compile(rb"\n(?=[{\[]|%s)" % _LOG_BEGINS)
_LOG_ENDS = re.compile(rb"==== END logs for container [^\n]*")


def read(recording: Recording, bodies: bool) -> Iterator[Entry | Skipped]:
    return entries_of(_Documents(recording).pieces(), recording.name, bodies)


class _Left(Exception):
    """The rest of an array is lost, which was told; what stands next is another document."""


class _Documents:
    def __init__(self, recording: Recording) -> None:
        self._file = recording.name
        self._limit = recording.limits.line_bytes
        self._text = Text(recording.chunks(), self._limit)

    def pieces(self) -> Iterator[Piece | Skipped]:
        while first := self._text.peek():
            try:
                if first == b"{":
                    yield from self._document()
                elif first == b"[":
                    yield from self._items()
                elif first != b"=":
                    raise Damaged("it is neither JSON nor the log of a container")
                elif not self._text.seek(_LOG_ENDS):
                    raise Damaged("the log of a container has no end: the dump was cut")
            except Damaged as error:
                yield self._skipped(error)
                self._text.seek(_NEXT)
            except _Left:
                continue

    def _document(self) -> Iterator[Piece | Skipped]:
        """An object, whole; or the items of a list. Raises Damaged where it holds nothing that can be used."""
        line = self._text.line
        fields: list[bytes] = []
        size = 0
        listing: Listing | None = None
        try:
            for key in self._text.members():
                if key == "items" and self._text.peek() == b"[":
                    listing = Listing(self._file, header_of(_object(fields)), self._limit)
                    for piece in self._items():
                        yield from (piece,) if isinstance(piece, Skipped) else listing.item(piece)
                    continue
                fields.append(b"%s:%s" % (msgspec.json.encode(key), self._text.value()))
                size += len(fields[-1])
                if size > self._limit:
                    raise Damaged(too_long(self._limit))
        except Damaged as error:
            if listing is None:
                raise
            yield self._skipped(error)
            self._text.seek(_NEXT)
        except _Left:
            pass
        if listing is None:
            yield Piece(line, _object(fields))
        else:
            yield from listing.end(header_of(_object(fields)))

    def _items(self) -> Iterator[Piece | Skipped]:
        """The items of the array that comes next, also those behind a damaged one. Raises _Left."""
        self._text.expect(b"[")
        while self._text.peek() != b"]":
            try:
                self._text.begin(())
                item = self._text.item()
                yield Piece(item.line, item.data)
                if self._text.expect(b",]") == b"]":
                    return
            except Damaged as error:
                # The next one begins as this one did, before another document or a log does.
                again = re.compile(rb"(?=,\s*%s)|(?=%s)" % (re.escape(self._text.begun.data), _NEXT.pattern))
                yield self._skipped(error)
                if not self._text.seek(again) or self._text.peek() != b",":
                    raise _Left from None
                self._text.expect(b",")
        self._text.expect(b"]")

    def _skipped(self, error: Damaged) -> Skipped:
        line = self._text.begun.line if self._text.inside else self._text.line
        self._text.inside = False
        return Skipped(self._file, line, str(error))


def _object(fields: list[bytes]) -> bytes:
    return b"{" + b",".join(fields) + b"}"


_API_VERSION = re.compile(rb'"(?!audit\.k8s\.io/)([a-z0-9.-]+/)?v[0-9][a-z0-9]*"')
_VALUE = re.compile(rb'"[^"]*"')
_NO_OBJECTS = {b'"Table"', b'"Status"'}  # read to say so
_TYPES = {msgspec.json.encode(each) for each in WATCH_TYPES}


def sniff(head: bytes) -> bool:
    """Whether the first documents, or those in the first array, are objects, lists or pretty watch events."""
    if watch.sniff(head):
        return False
    if head.startswith(_LOG_BEGINS):
        return True  # a dump into a directory keeps the logs apart; there is nothing to read in them
    places = outline(head)
    before = ("*",) if ("*",) in places else ()
    told = {place[-1]: values for place, values in places.items() if place and place[:-1] == before}
    types, kinds = (set(_VALUE.findall(told.get(field, b""))) for field in ("type", "kind"))
    if "object" in told and types & _TYPES:
        return True
    # Where no kind is told, the head may end before it.
    object_like = not kinds or kinds & _NO_OBJECTS or "metadata" in told or "items" in told
    safe = b'"Config"' not in kinds and (*before, "auditID") not in places
    return bool(object_like and safe and _API_VERSION.match(told.get("apiVersion", b"")))


FORMAT = Format("Kubernetes objects in JSON", sniff, read)
