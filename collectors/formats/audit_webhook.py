"""Read what an API server sends to an audit webhook: a list of audit events, as it arrives.

https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/#webhook-backend describes what is sent. Only one event is
held in memory at a time, and what it shows is normalised, admitted and packed at once.
"""

import zlib
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from msgspec.structs import replace

from collectors.formats.audit import read_events
from collectors.formats.documents import header_of
from collectors.formats.json_stream import JsonStream, MalformedJson
from collectors.formats.stream import Limits, Line, Skipped
from collectors.formats.stream.byte_stream import ByteStream
from collectors.formats.stream.compression import inflate
from collectors.formats.stream.limits import Unreadable, too_long
from collectors.gate import admit
from timeline.history.codec import line_of
from timeline.history.packing import ENTRIES, Packer

EVENTS = 20_000  # in one list at most; an API server sends 400 unless it is configured otherwise
OBSERVED = 100_000  # changes that one list may show, since one event may delete many objects
FIELDS = 100  # of a list; an API server writes four
NAME_LENGTH = 512  # characters of a kind's name that is learned

Kinds = dict[tuple[str, str], str]  # (API group, resource) -> kind


class NotAList(Exception):
    """What was sent is not a list of audit events. The message says why."""


class TooLong(Exception):
    """What was sent has more bytes than are allowed."""


class Read(NamedTuple):
    """What was read of a list of audit events."""

    lines: bytes  # what the events show, packed as it waits for the worker
    identities: list[str]  # of the events; a client may choose its auditID
    unread: int  # events that could not be read
    problem: str  # why the first of them could not; "" if all could
    kinds: Kinds  # what the events say of the kinds of resources that are not built in, beyond what was known


def read(pieces: Iterator[bytes], packed: bool, most: int, kinds: Kinds, limits: Limits) -> Read:
    """Read a list of at most `most` bytes, which comes as gzip if it is `packed`. Raise NotAList and TooLong.

    `kinds` are those of resources that are not built in, as far as they are known.
    """
    known = dict(kinds)
    reading = _List(_counted(_unpacked(pieces) if packed else pieces, most), limits)
    skipped = 0
    problem = ""
    lines: list[bytes] = []
    try:
        for each in read_events(reading.events(), known):
            if isinstance(each, Skipped):
                skipped += 1
                problem = problem or f"event {each.line}: {each.reason}"
                continue
            # The same event has another place in another batch.
            (admitted,) = admit([replace(each, place=None)], limits)
            if isinstance(admitted, Skipped):
                skipped += 1
                problem = problem or f"event: {admitted.reason}"
                continue
            lines.append(line_of(admitted))
            if len(lines) > OBSERVED:
                raise NotAList(f"It shows more than {OBSERVED} changes. Lower --audit-webhook-batch-max-size.")
    except MalformedJson as error:
        raise NotAList(f"It is not a list of audit events: {error}.") from None
    short = {key: kind for key, kind in known.items() if len("".join((*key, kind))) < NAME_LENGTH}
    learned = {key: short[key] for key in short.keys() - kinds.keys()}
    return Read(Packer(ENTRIES).pack(b"\n".join(lines)), reading.identities, skipped, problem, learned)


class _List:
    """Take the events out of a list. Its fields may come in any order."""

    def __init__(self, pieces: Iterator[bytes], limits: Limits) -> None:
        self._stream = JsonStream(pieces, limits.line_bytes)
        self._limits = limits
        self.identities: list[str] = []

    def events(self) -> Iterator[Line | Skipped]:
        """Yield the events, one a line. Raise NotAList and MalformedJson, which may be after the last of them."""
        fields = {"apiVersion": b"null", "kind": b"null"}
        for number, key in enumerate(self._stream.members()):
            if number == FIELDS:
                raise NotAList(f"It is not a list of audit events: it has more than {FIELDS} fields.")
            if key == "items" and self._stream.peek() == b"[":
                yield from self._items()
            elif key == "items" and self._stream.value() != b"null":
                raise NotAList("It is not a list of audit events: its items are no array.")
            elif key in fields:
                fields[key] = self._stream.value()
            elif key != "items":
                self._stream.value()
        if self._stream.peek():
            raise NotAList("It is not a list of audit events: something follows the list.")
        header = header_of(b'{"apiVersion":%b,"kind":%b}' % (fields["apiVersion"], fields["kind"]))
        if header.kind != "EventList" or not (header.apiVersion or "").startswith("audit.k8s.io/"):
            raise NotAList("It is not an EventList of audit.k8s.io.")

    def _items(self) -> Iterator[Line | Skipped]:
        for number in self._stream.elements():
            if len(self.identities) == EVENTS:
                raise NotAList(f"It has more than {EVENTS} events. Lower --audit-webhook-batch-max-size.")
            event = self._stream.value()
            self.identities.append(sha256(event).hexdigest())
            if len(event) > self._limits.line_bytes:
                yield Skipped("", number + 1, too_long(self._limits.line_bytes))
            else:
                yield Line("", number + 1, event)


def _counted(pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    for piece in pieces:
        most -= len(piece)
        if most < 0:
            raise TooLong
        yield piece


def _unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what comes out of one gzip member. Raise NotAList unless that is all there is."""
    content = ByteStream(pieces)
    try:
        yield from filter(None, inflate(content))
    except Unreadable:
        raise NotAList("The body is gzip that was cut off.") from None
    except zlib.error:
        raise NotAList("The body is not gzip, although its Content-Encoding says so.") from None
    if content.head(1):
        raise NotAList("Something follows the gzip of the body.")
