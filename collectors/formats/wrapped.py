"""This module is shared by all formats in which a log store or a log shipper wraps audit events in records.

Records are taken out of documents, one audit event out of each record, and the events are read as an audit log.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson

from collectors.formats import Format
from collectors.formats.audit import read_lines
from collectors.formats.json_items import Pattern, items, outline
from collectors.formats.json_stream import Item
from collectors.formats.rejections import reason_of
from collectors.formats.stream import Line, Recording, Skipped
from timeline.core.entries import Entry

_DEPTH = 6  # how far inside its record an event may stand: hits.hits[]._source.kubernetes.audit
_PLAIN = re.compile(r'\{"kind":"Event","apiVersion":"audit\.k8s\.io/')
_BODIES = ("requestObject", "responseObject")
_CUT = "not JSON: Input data was truncated"


class Shape(NamedTuple):
    """One form of documents: where their records are, and a place by which they are known."""

    records: Pattern
    sign: Pattern


def wrapped(name: str, *shapes: Shape, event_in: "Callable[[bytes], bytes | None] | None" = None) -> Format:
    """A format whose records hold an audit event each."""

    def found(head: bytes) -> list[Pattern]:
        places = outline(head)
        return [shape.records for shape in shapes if shape.sign in places]

    def read(recording: Recording, bodies: bool) -> Iterator[Entry | Skipped]:
        records = items(recording, *found(recording.head()))
        return read_records(recording, records, bodies, event_in or event_in_json)

    return Format(name, lambda head: bool(found(head)), read)


def read_records(
    recording: Recording, records: Iterator[Item | Skipped], bodies: bool, event_in: Callable[[bytes], bytes | None]
) -> Iterator[Entry | Skipped]:
    """The changes that the records tell, each of which holds one audit event.

    `event_in` takes the event out of a record: None where there is none, ValueError where the record is damaged.
    """
    record: Item | Skipped = Item(0, (), b"")
    size = 0  # bytes of the event

    def lines() -> Iterator[Line | Skipped]:
        nonlocal record, size
        for record in records:
            if isinstance(record, Skipped):
                yield record
                continue
            try:
                event = event_in(record.data)
            except (ValueError, RecursionError) as error:
                told = "not JSON: " if isinstance(error, orjson.JSONDecodeError) else ""
                yield Skipped(recording.name, record.line, told + reason_of(error))
                continue
            if event is None:
                yield Skipped(recording.name, record.line, "it holds no audit event")
            else:
                size = len(event)
                yield Line(recording.name, record.line, event)

    for read in read_lines(lines(), bodies):  # one line is read at a time, so what is skipped is of the last record
        if isinstance(read, Skipped) and isinstance(record, Item):
            reason = read.reason
            if reason == _CUT:
                reason = f"cut off after {size} bytes, as log services do with long entries"
            read = read._replace(reason=f"{record}: {reason}" if record.path else reason)
        yield read


def event_in_json(record: bytes) -> bytes | None:
    """The audit event that a JSON record carries, as an object or as text, wherever it stands in it."""
    return _event_in(orjson.loads(record))


def event_in_text(text: str) -> bytes | None:
    """The audit event that a text is, whatever stands before it; it may itself be wrapped in a record."""
    if "auditID" not in text:
        return None
    text = text[max(text.find('{"'), 0) :].strip()
    if _PLAIN.match(text):
        return text.encode()
    try:
        return _event_in(orjson.loads(text))
    except ValueError:
        return text.encode()  # the audit reader says what is wrong with it


def _event_in(record: Any) -> bytes | None:
    """What is further out stands before what is further in, and text before what a shipper made of it."""
    values = [record]
    for _ in range(_DEPTH):
        for value in values:
            if isinstance(value, str) and (event := event_in_text(value)):
                return event
        for value in values:
            if isinstance(value, dict) and isinstance(value.get("auditID"), str):
                return orjson.dumps(_told(value))
        values = [
            inner
            for value in values
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return None


def _told(event: dict[str, Any]) -> dict[str, Any]:
    """Without what log stores add to an event: a null for everything that it does not tell."""
    return {
        key: _told(value) if isinstance(value, dict) and key not in _BODIES else value
        for key, value in event.items()
        if value is not None
    }
