"""Read logs in OTLP, as the OpenTelemetry Collector's file exporter writes them.

They are documents of JSON, on lines or not, or messages of protobuf. Three kinds of records are read: objects of
Kubernetes from the receiver k8sobjects (watched: `{"type", "object"}`; pulled: the object), audit events, and lines of
the logs of programs. When the collector received an object is not used: that is by the collector's own clock.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import orjson

from collectors.extras import missing
from collectors.formats import Format, otlp_protobuf
from collectors.formats.audit import AuditEvents
from collectors.formats.documents import WATCH_TYPES, Piece, entries_of
from collectors.formats.json_items import items, outline
from collectors.formats.logs import LINES, line_of_text, log_of_path
from collectors.formats.stream import TOO_DEEP, Line, Recording, Skipped
from collectors.formats.wrapped import event_in_value
from collectors.gate import reason_of
from collectors.normalise.log_levels import level_of
from collectors.normalise.log_lines import LogText, log_text
from timeline.core import times
from timeline.core.bounds import FAULTS
from timeline.core.entries import LogLine, Observation, Place, Unknown

_RESOURCE_LOGS = (("resourceLogs",), ("*", "resourceLogs"))
_RECORD = ("*", "scopeLogs", "*", "logRecords", "*")
_TYPE = "event.type"  # an attribute with the type of a watch event, if the body is the object alone
_PULL_END = "PullEnd"  # k8sobjects marks the end of a pull so
_CONTAINER = ("k8s.namespace.name", "k8s.pod.name", "k8s.container.name")
_NOTHING = "it holds no object of Kubernetes, no audit event and no line of a log with a time"


class Record(NamedTuple):
    """One log record, from JSON or from protobuf."""

    line: int  # of JSON the line, of protobuf the number of the record
    time: int  # µs since 1970; when it was observed if it has no time of its own, and 0 if it has neither
    severity: str
    body: Any
    attributes: dict[str, Any]
    resource: dict[str, Any]


class _Fields(msgspec.Struct, gc=False):
    """The fields of a LogRecord in JSON that are used. The times are nanoseconds since 1970."""

    timeUnixNano: str | int = 0
    observedTimeUnixNano: str | int = 0
    severityText: str = ""
    body: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"{}"))
    attributes: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"[]"))


class _Resource(msgspec.Struct, gc=False):
    attributes: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"[]"))


_fields = msgspec.json.Decoder(_Fields)
_resource = msgspec.json.Decoder(_Resource)


def sniff(head: bytes) -> bool:
    """Return whether a head begins with logs in OTLP."""
    return otlp_protobuf.looks_like_logs(head) or bool(_found(head))


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of objects and audit events, the lines of logs, and what was skipped."""
    found = _found(recording.head())
    records = _records_in_json(recording, found) if found else _records_in_protobuf(recording)
    return entries_of(_Records(recording.name, bodies).observations(records), recording.name, bodies)


def _found(head: bytes) -> list[tuple[str, ...]]:
    """Return the patterns that lead to the ResourceLogs of a head of JSON."""
    places = outline(head) if head.lstrip()[:1] in (b"{", b"[") else {}
    return [each for each in _RESOURCE_LOGS if (*each, "*", "scopeLogs") in places]


class _Records:
    """Say what each record of a file holds."""

    def __init__(self, file: str, bodies: bool) -> None:
        self._file = file
        self._events = AuditEvents(bodies)
        self._lines = 0  # of logs of programs

    def observations(self, records: Iterator[Record | Skipped]) -> Iterator[Piece | Observation | Skipped]:
        for record in records:
            if isinstance(record, Skipped):
                yield record
                continue
            try:
                yield from self._of(record)
            except FAULTS as error:
                yield Skipped(self._file, record.line, reason_of(error))
        yield from self._events.unnamed_entries()
        if self._lines > LINES:
            yield Skipped(self._file, 0, f"has logs of which only the first {LINES} lines were read")

    def _of(self, record: Record) -> Iterator[Piece | Observation | Skipped]:
        """Yield what a record holds. Raise ValueError if that is nothing that can be used."""
        body, type = record.body, record.attributes.get(_TYPE)
        if isinstance(body, dict) and type in WATCH_TYPES and "object" not in body:
            body = {"type": type, "object": body}
        if isinstance(body, dict) and isinstance(body.get("object"), dict) and isinstance(body.get("type"), str):
            if body["type"] != _PULL_END:
                yield Piece(record.line, _json(body))
        elif isinstance(body, dict) and {"apiVersion", "kind", "metadata"} <= body.keys():
            yield Piece(record.line, _json(body), listed=True)  # between two pulls there may be several changes
        elif event := event_in_value([body, record.attributes]):
            yield from self._events.read([Line(self._file, record.line, event)])
        elif line := self._log_line(record):
            self._lines += 1
            if self._lines <= LINES:
                yield line
        else:
            raise ValueError(_NOTHING)

    def _log_line(self, record: Record) -> LogLine | None:
        """Return a line of the log of a program, as filelog reads it; None if it has no text or no time."""
        text = record.body
        if not isinstance(text, str) or not text.strip():
            return None
        said = log_text(text)
        if said is None and not record.time:
            return None
        said = said or LogText(record.time, Unknown.NOTHING, level_of(record.severity), text, True)
        if record.time:
            said = said._replace(time=record.time, unknown=Unknown.NOTHING)
        names = [record.resource.get(each, record.attributes.get(each)) for each in _CONTAINER]
        path = record.attributes.get("log.file.path")
        if all(isinstance(each, str) and each for each in names):
            log = "/".join(map(str, names))
        else:
            log = log_of_path(path) if isinstance(path, str) else self._file
        return line_of_text(said, log, Place(self._file, record.line))


def _json(body: dict[str, Any]) -> bytes:
    """Return a body as JSON in one order: the collector writes the fields of an object in any, and equal managedFields
    have to have equal bytes."""
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS)


def _records_in_json(recording: Recording, found: list[tuple[str, ...]]) -> Iterator[Record | Skipped]:
    """Yield the records of documents of JSON. The collector writes the resource of records before them."""
    patterns = [(*each, *_RECORD) for each in found] + [(*each, "*", "resource") for each in found]
    depth = recording.limits.depth
    resource: dict[str, Any] = {}
    written: tuple[str | int, ...] = ()  # the path of the ResourceLogs that the resource is of
    for item in items(recording, *patterns):
        if isinstance(item, Skipped):
            yield item
            continue
        try:
            if item.path[-1] == "resource":
                resource, written = _attributes(_resource.decode(item.data).attributes, depth), item.path[:-1]
                continue
            if item.path[: len(written)] != written:
                resource, written = {}, ()
            read = _fields.decode(item.data)
            time = times.counted_in_nanoseconds(read.timeUnixNano)
            time = time or times.counted_in_nanoseconds(read.observedTimeUnixNano)
            body = _value(orjson.loads(bytes(read.body)), depth)
            attributes = _attributes(read.attributes, depth)
            yield Record(item.line, time, read.severityText, body, attributes, resource)
        except FAULTS as error:
            yield Skipped(recording.name, item.line, f"{item}: {reason_of(error)}")


def _attributes(pairs: msgspec.Raw, depth: int) -> dict[str, Any]:
    values = _value({"kvlistValue": {"values": orjson.loads(bytes(pairs))}}, depth)
    return values if isinstance(values, dict) else {}


def _value(value: Any, depth: int) -> Any:
    """Return an AnyValue of OTLP in JSON as the value it stands for; bytes become None.

    Raise ValueError if it is none, or is nested too deeply.
    """
    if depth < 0:
        raise ValueError(TOO_DEEP)
    match value:
        case {"kvlistValue": {"values": list(pairs)}}:
            return {str(each["key"]): _value(each.get("value"), depth - 1) for each in pairs if "key" in each}
        case {"kvlistValue": _}:
            return {}
        case {"arrayValue": {"values": list(inner)}}:
            return [_value(each, depth - 1) for each in inner]
        case {"arrayValue": _}:
            return []
        case {"intValue": number}:
            return int(number)  # JSON of protobuf has it as text, since it may exceed 53 bits
        case {"stringValue": plain} | {"boolValue": plain} | {"doubleValue": plain}:
            return plain
    return None


def _records_in_protobuf(recording: Recording) -> Iterator[Record | Skipped]:
    if why := missing("opentelemetry.proto", "reading OTLP in protobuf", "otlp"):
        yield Skipped(recording.name, 0, why)
        return
    for raw in otlp_protobuf.raw_records(recording):
        if isinstance(raw, Skipped):
            yield raw
            continue
        try:
            resource, record = otlp_protobuf.record_of(raw)
            attributes = {each.key: otlp_protobuf.value_of(each.value) for each in record.attributes}
            time = times.counted_in_nanoseconds(record.time_unix_nano or record.observed_time_unix_nano)
            body = otlp_protobuf.value_of(record.body)
            yield Record(raw.number, time, record.severity_text, body, attributes, resource)
        except FAULTS as error:
            yield Skipped(recording.name, raw.number, reason_of(error))


FORMAT = Format("logs of OpenTelemetry (OTLP)", sniff, read)
