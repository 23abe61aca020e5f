"""What kubectl get -o json, get -w -o json, events and cluster-info dump print: JSON documents, one behind the other.

Lists, single objects, watch events that were printed prettily, in any mixture; between the documents of a dump the logs
of containers are passed over. An item of a list is handed on as soon as it ends, so that a list may be of any size.
"""

import re
from collections.abc import Generator, Iterator

import msgspec

from collectors.formats import Format, watch
from collectors.formats.documents import WATCH_TYPES, Listing, Piece, entries_of, header_of
from collectors.formats.json_items import Damaged, Text, outline
from collectors.formats.stream import Recording, Skipped
from timeline.entries import Entry

_NEXT = re.compile(rb"\n(?=[{\[]|==== START logs)")
_LOG_ENDS = re.compile(rb"==== END logs for container [^\n]*")


def read(recording: Recording, bodies: bool) -> Iterator[Entry | Skipped]:
    return entries_of(_Documents(recording).pieces(), recording.name, bodies)


class _Documents:
    def __init__(self, recording: Recording) -> None:
        self._file = recording.name
        self._limit = recording.limits.line_bytes
        self._text = Text(recording.chunks(), self._limit)

    def pieces(self) -> Iterator[Piece | Skipped]:
        while first := self._text.peek():
            try:
                if first == b"[":
                    for _ in self._text.elements():
                        yield from self._document()
                elif first == b"=":
                    if not self._text.seek(_LOG_ENDS):
                        raise Damaged("the log of a container has no end: the dump was cut")
                else:
                    yield from self._document()
            except Damaged as error:
                yield self._skipped(error)
                self._text.seek(_NEXT)

    def _document(self) -> Iterator[Piece | Skipped]:
        """An object, whole; or the items of a list. Raises Damaged where it holds nothing that can be used."""
        line = self._text.line
        fields: list[bytes] = []
        listing: Listing | None = None
        try:
            for key in self._text.members():
                if key == "items" and self._text.peek() == b"[":
                    listing = Listing(self._file, header_of(_object(fields)), self._limit)
                    if not (yield from self._items(listing)):
                        break
                    continue
                fields.append(b"%s:%s" % (msgspec.json.encode(key), self._text.value()))
                if sum(map(len, fields)) > self._limit:
                    raise Damaged(f"longer than {self._limit} bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit")
        except Damaged as error:
            if listing is None:
                raise
            yield self._skipped(error)
            self._text.seek(_NEXT)
        if listing is None:
            yield Piece(line, _object(fields))
        else:
            yield from listing.end(header_of(_object(fields)))

    def _items(self, listing: Listing) -> Generator[Piece | Skipped, None, bool]:
        """The items of a list, also those behind a damaged one; False where the list itself is lost from there on."""
        self._text.expect(b"[")
        while self._text.peek() != b"]":
            try:
                self._text.begin(())
                item = self._text.item()
                yield from listing.item(Piece(item.line, item.data))
                if self._text.expect(b",]") == b"]":
                    return True
            except Damaged as error:
                yield self._skipped(error)
                # The next one begins as this one did, before another document or a log does.
                again = re.compile(rb"(?=,\s*%s)|%s" % (re.escape(self._text.begun.data), _NEXT.pattern))
                if not self._text.seek(again) or self._text.peek() != b",":
                    return False
                self._text.expect(b",")
        self._text.expect(b"]")
        return True

    def _skipped(self, error: Damaged) -> Skipped:
        return Skipped(self._file, self._text.begun.line if self._text.inside else self._text.line, str(error))


def _object(fields: list[bytes]) -> bytes:
    return b"{" + b",".join(fields) + b"}"


_API_VERSION = re.compile(rb'"([a-z0-9.-]+/)?v[0-9][a-z0-9]*"')
_NO_OBJECTS = {b'"Table"', b'"Status"'}  # read to say so
_TYPES = {msgspec.json.encode(each) for each in WATCH_TYPES}


def sniff(head: bytes) -> bool:
    """Whether an object, a list or a pretty watch event is the first document, or stands in the first array."""
    if watch.sniff(head):
        return False
    places = outline(head)
    before = ("*",) if ("*",) in places else ()
    told = {place[-1]: value for place, value in places.items() if place[:-1] == before and place != before}
    if "object" in told and told.get("type") in _TYPES:
        return True
    kind = told.get("kind")  # None where the head ends before it
    object_like = kind is None or kind in _NO_OBJECTS or "metadata" in told or "items" in told
    version = told.get("apiVersion", b"")
    audit = version.startswith(b'"audit.k8s.io/') or (*before, "auditID") in places
    return object_like and kind != b'"Config"' and not audit and bool(_API_VERSION.fullmatch(version))


FORMAT = Format("Kubernetes objects in JSON", sniff, read)
