"""Read JSON documents that follow each other, as `kubectl` prints them.

They come from `kubectl get -o json`, `get -w -o json`, `kubectl events` and `cluster-info dump`: lists, single objects
and pretty-printed watch events in any mixture, and the container logs between the documents of a dump. An item of a
list is passed on as soon as it ends, so that a list may have any size.
"""

import re
from collections.abc import Iterator

import msgspec

from collectors.formats import Format, watch
from collectors.formats.documents import WATCH_TYPES, Listing, Piece, entries_of, header_of
from collectors.formats.json_items import outline
from collectors.formats.json_stream import JsonStream, MalformedJson
from collectors.formats.logs import LONGEST_BYTES, log_line
from collectors.formats.rejections import is_other_config
from collectors.formats.stream import Recording, Skipped, too_long
from timeline.core.entries import LogLine, Observation, Place

_LOG_BEGINS = b"==== START logs for container "
_NEXT = re.compile(rb"\n(?=[{\[]|%s)" % _LOG_BEGINS)
_LOG_HEADER = re.compile(rb"==== START logs for container ([a-z0-9-]+) of pod ([a-z0-9-]+)/([a-z0-9.-]+) ====\s*")
_LOG_ENDS = b"==== END logs for container "


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the documents, the lines of the logs, and what was skipped."""
    return entries_of(_Documents(recording).pieces(), recording.name, bodies)


class _ArrayLost(Exception):
    """The rest of an array is lost, which was reported; another document comes next."""


class _Documents:
    """Cut a recording into documents and the items of lists."""

    def __init__(self, recording: Recording) -> None:
        self._file = recording.name
        self._limit = recording.limits.line_bytes
        self._stream = JsonStream(recording.chunks(), self._limit)

    def pieces(self) -> Iterator[Piece | LogLine | Skipped]:
        while first_character := self._stream.peek():
            try:
                if first_character == b"{":
                    yield from self._document()
                elif first_character == b"[":
                    yield from self._items()
                elif first_character != b"=":
                    raise MalformedJson("it is neither JSON nor the log of a container")
                else:
                    yield from self._log()
            except MalformedJson as error:
                yield self._skipped(error)
                self._stream.seek(_NEXT)
            except _ArrayLost:
                continue

    def _log(self) -> Iterator[LogLine]:
        """Yield the lines of the log of a container that have a time. Raise MalformedJson if the log has no end."""
        header = _LOG_HEADER.match(self._stream.take_line(LONGEST_BYTES))
        log = b"/".join(header.group(2, 3, 1)).decode() if header else self._file
        while self._stream.peek():
            place = Place(self._file, self._stream.line)
            data = self._stream.take_line(LONGEST_BYTES)
            if data.startswith(_LOG_ENDS):
                return
            if line := log_line(data, log, place):
                yield line
        raise MalformedJson("the log of a container has no end: the dump was cut")

    def _document(self) -> Iterator[Piece | Skipped]:
        """Yield an object, or the items of a list. Raise MalformedJson if nothing in it can be used."""
        line = self._stream.line
        fields: list[bytes] = []
        size = 0
        listing: Listing | None = None
        try:
            for key in self._stream.members():
                if key == "items" and self._stream.peek() == b"[":
                    listing = Listing(self._file, header_of(_object(fields)), self._limit)
                    for piece in self._items():
                        yield from (piece,) if isinstance(piece, Skipped) else listing.item(piece)
                    continue
                fields.append(b"%s:%s" % (msgspec.json.encode(key), self._stream.value()))
                size += len(fields[-1])
                if size > self._limit:
                    raise MalformedJson(too_long(self._limit))
        except MalformedJson as error:
            if listing is None:
                raise
            yield self._skipped(error)
            self._stream.seek(_NEXT)
        except _ArrayLost:
            pass
        if listing is None:
            yield Piece(line, _object(fields))
        else:
            yield from listing.end(header_of(_object(fields)))

    def _items(self) -> Iterator[Piece | Skipped]:
        """Yield the items of the array that comes next, also those after a damaged one.

        Raise _ArrayLost if no further item of the array can be found.
        """
        self._stream.expect(b"[")
        while self._stream.peek() != b"]":
            try:
                self._stream.begin(())
                item = self._stream.item()
                yield Piece(item.line, item.data)
                if self._stream.expect(b",]") == b"]":
                    return
            except MalformedJson as error:
                # The next item is expected to begin with the same bytes, before another document or a log begins.
                next_item_pattern = re.compile(
                    rb"(?=,\s*%s)|(?=%s)" % (re.escape(self._stream.current_item.data), _NEXT.pattern)
                )
                yield self._skipped(error)
                if not self._stream.seek(next_item_pattern) or self._stream.peek() != b",":
                    raise _ArrayLost from None
                self._stream.expect(b",")
        self._stream.expect(b"]")

    def _skipped(self, error: MalformedJson) -> Skipped:
        line = self._stream.current_item.line if self._stream.item_is_open else self._stream.line
        self._stream.item_is_open = False
        return Skipped(self._file, line, str(error))


def _object(fields: list[bytes]) -> bytes:
    return b"{" + b",".join(fields) + b"}"


_API_VERSION = re.compile(rb'"(?!audit\.k8s\.io/)([a-z0-9.-]+/)?v[0-9][a-z0-9]*"')
_VALUE = re.compile(rb'"[^"]*"')
_NO_OBJECTS = {b'"Table"', b'"Status"'}  # they are read only to report that they hold no objects
_TYPES = {msgspec.json.encode(each) for each in WATCH_TYPES}


def sniff(head: bytes) -> bool:
    """Return whether the first documents, or those in the first array, are objects, lists or pretty watch events."""
    if watch.sniff(head):
        return False
    if head.startswith(_LOG_BEGINS):
        return True  # a dump into a directory has files with logs alone; they hold no entries
    places = outline(head)
    before = ("*",) if ("*",) in places else ()
    values_of = {place[-1]: values for place, values in places.items() if place and place[:-1] == before}
    types, kinds = (set(_VALUE.findall(values_of.get(field, b""))) for field in ("type", "kind"))
    if "object" in values_of and types & _TYPES:
        return True
    # If no kind is found, the head may end before it.
    object_like = not kinds or kinds & _NO_OBJECTS or "metadata" in values_of or "items" in values_of
    safe = (b'"Config"' not in kinds or is_other_config(head)) and (*before, "auditID") not in places
    return bool(object_like and safe and _API_VERSION.match(values_of.get("apiVersion", b"")))


FORMAT = Format("Kubernetes objects in JSON", sniff, read)
