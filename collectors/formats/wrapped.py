"""What all formats share in which a log store or a log shipper wraps audit events in records.

It takes the records out of documents, takes one audit event out of each record, and reads the events as an audit log. A
record without one is a line of the log of a program if it says so: stores keep both together.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from collectors.formats import Format
from collectors.formats.audit import read_lines
from collectors.formats.json_items import Pattern, items, outline
from collectors.formats.json_stream import Item
from collectors.formats.logs import LINES, log_line
from collectors.formats.stream import Line, Recording, Skipped
from collectors.gate import reason_of
from timeline.core.bounds import FAULTS
from timeline.core.entries import Observation, Place

_DEPTH = 6  # how deep an event may be in its record, such as hits.hits[]._source.kubernetes.audit
_PLAIN = re.compile(r'\{"kind":"Event","apiVersion":"audit\.k8s\.io/')
_BODIES = ("requestObject", "responseObject")
_NO_EVENT = "it holds no audit event"
_CUT = "not JSON: Input data was truncated"


class Shape(NamedTuple):
    """A document that wraps records: where its records are, and a field by which it is recognised."""

    records: Pattern
    sign: Pattern


def wrapped(name: str, *shapes: Shape, event_in: "Callable[[bytes], bytes | None] | None" = None) -> Format:
    """Return a format in whose records one audit event each is wrapped.

    `event_in` takes the event out of a record, as in `read_records`; by default the event is searched in the JSON.
    """

    def found(head: bytes) -> list[Pattern]:
        places = outline(head)
        return [shape.records for shape in shapes if shape.sign in places]

    def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
        records = items(recording, *found(recording.head()))
        return read_records(recording, records, bodies, event_in or event_in_json)

    def events(recording: Recording) -> Iterator[Line | Skipped]:
        return event_lines(recording, items(recording, *found(recording.head())), event_in or event_in_json)

    return Format(name, lambda head: bool(found(head)), read, events)


def read_records(
    recording: Recording, records: Iterator[Item | Skipped], bodies: bool, event_in: Callable[[bytes], bytes | None]
) -> Iterator[Observation | Skipped]:
    """Yield the entries of records that hold one audit event each, the lines of logs in others, and what was skipped.

    `event_in` takes the event out of a record. It returns None if there is none, and raises ValueError if the record is
    damaged.
    """
    record: Item | Skipped = Item(0, (), b"")
    line: Line | Skipped = Line(recording.name, 0, b"")

    def noted() -> Iterator[Item | Skipped]:
        nonlocal record
        for record in records:  # noqa: UP028 (each is noted)
            yield record

    def lines() -> Iterator[Line | Skipped]:
        nonlocal line
        for line in event_lines(recording, noted(), event_in):  # noqa: UP028 (each is noted)
            yield line

    logged = 0
    for read in read_lines(lines(), bodies):  # what is skipped is of the last record: no line is read ahead
        if isinstance(read, Skipped) and isinstance(record, Item):
            reason = read.reason
            place = Place(recording.name, record.line)
            if reason == _NO_EVENT and logged < LINES and (of_program := log_line(record.data, recording.name, place)):
                logged += 1
                yield of_program
                continue
            if reason == _CUT and isinstance(line, Line):
                reason = f"cut off after {len(line.data)} bytes, as log services do with long entries"
            read = read._replace(reason=f"{record}: {reason}" if record.path else reason)
        yield read


def event_lines(
    recording: Recording, records: Iterable[Item | Skipped], event_in: Callable[[bytes], bytes | None]
) -> Iterator[Line | Skipped]:
    """Yield the audit event of each record as a line, and what was skipped; `event_in` as for `read_records`."""
    for record in records:
        if isinstance(record, Skipped):
            yield record
            continue
        try:
            event = event_in(record.data)
        except FAULTS as error:
            prefix = "not JSON: " if isinstance(error, orjson.JSONDecodeError) else ""
            yield Skipped(recording.name, record.line, prefix + reason_of(error))
            continue
        if event is None:
            yield Skipped(recording.name, record.line, _NO_EVENT)
        else:
            yield Line(recording.name, record.line, event)


def event_in_json(record: bytes) -> bytes | None:
    """Return the audit event in a JSON record, as an object or as text at any place in it; None if there is none."""
    return event_in_value(orjson.loads(record))


def event_in_text(text: str) -> bytes | None:
    """Return the audit event in a text, without what comes before it; the event may be wrapped in a record again."""
    if "auditID" not in text:
        return None
    text = text[max(text.find('{"'), 0) :].strip()
    if _PLAIN.match(text):
        return text.encode()
    try:
        return event_in_value(orjson.loads(text))
    except ValueError:
        return text.encode()  # the reader of audit events says what is wrong with it


def event_in_value(record: Any) -> bytes | None:
    """Return the outermost audit event in a decoded record; None if there is none.

    At the same depth, text is preferred to an object: a log shipper may have changed the object.
    """
    values = [record]
    for _ in range(_DEPTH):
        for value in values:
            if isinstance(value, str) and (event := event_in_text(value)):
                return event
        for value in values:
            if isinstance(value, dict) and isinstance(value.get("auditID"), str):
                return orjson.dumps(_without_nulls(value))
        values = [
            inner
            for value in values
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return None


def _without_nulls(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event without the nulls that log stores add for every field that it does not have."""
    return {
        key: _without_nulls(value) if isinstance(value, dict) and key not in _BODIES else value
        for key, value in event.items()
        if value is not None
    }
