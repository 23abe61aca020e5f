"""Take the log records out of OTLP in protobuf, one after the other.

The OpenTelemetry Collector's file exporter writes messages with their length before each, in 4 bytes; a bare message
(LogsData, ExportLogsServiceRequest) is read, too. The outer messages are walked by hand, so that only one log record is
parsed at a time: parsed whole, a hostile message takes a hundred times its size in memory.
https://github.com/open-telemetry/opentelemetry-proto describes the messages,
https://protobuf.dev/programming-guides/encoding/ their encoding.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from collectors.formats.stream import Limits, Recording, Skipped, too_long
from collectors.formats.stream.byte_stream import ByteStream
from collectors.formats.stream.limits import Unreadable

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # how a field is written, by the lowest bits of its tag
_RESOURCE_LOGS = _BYTES | 1 << 3  # the tag of the only field of LogsData
_RESOURCE, _SCOPE_LOGS, _LOG_RECORDS = 1, 2, 2  # fields of ResourceLogs and of ScopeLogs
_LENGTH = 4  # bytes of the length that the file exporter writes before each message
_VARINT_BYTES = 10  # at most
_RECORD_BYTES = 8 * 1024**2  # of one record; no object of Kubernetes is that long
# The tags of the fields with which a LogRecord may begin: its times, severity, body, attributes. A span begins with its
# trace_id, a metric with its name.
_RECORD_TAGS = frozenset({0x09, 0x10, 0x1A, 0x2A, 0x32, 0x59})
_DAMAGED = "the protobuf message is damaged"


class Damaged(ValueError):
    """A protobuf message cannot be read."""


class Raw(NamedTuple):
    """One log record and the resource that wrote it, as protobuf."""

    number: int  # of the record in the file, from 1
    resource: bytes
    record: bytes


def looks_like_logs(head: bytes) -> bool:
    """Return whether a head begins with OTLP logs in protobuf, down to the first log record."""
    start = 0 if head[:1] == bytes([_RESOURCE_LOGS]) else _LENGTH
    inside: memoryview = memoryview(head)[start:]
    wanted = _RESOURCE_LOGS >> 3
    try:
        for inner in (_SCOPE_LOGS, _LOG_RECORDS):
            inside = _first(inside, wanted)
            wanted = inner
        record = _first(inside, wanted)
    except (Damaged, IndexError):
        return False
    return record[0] in _RECORD_TAGS if record else False


def raw_records(recording: Recording) -> Iterator[Raw | Skipped]:
    """Yield the log records of a recording, and what was skipped. A damaged message does not hide those after it, if
    each has its length before it."""
    stream = ByteStream(recording.chunks())
    number = 0
    while head := stream.head(_LENGTH + 1 + _VARINT_BYTES):
        framed = head[0] != _RESOURCE_LOGS
        end = stream.tell() + _LENGTH + int.from_bytes(head[:_LENGTH], "big") if framed else 0
        if framed:
            stream.read(_LENGTH)
        while not framed or stream.tell() < end:
            try:
                content = _resource_logs(stream, recording.limits, end)
                if content is None and not framed:
                    break
                if content is None:
                    raise Damaged(f"{_DAMAGED} or cut")
                for resource, record in _walk(content):
                    number += 1
                    yield Raw(number, resource, bytes(record))
            except (Damaged, IndexError, Unreadable) as error:
                reason = str(error) if isinstance(error, Damaged) else f"{_DAMAGED} or cut"
                yield Skipped(recording.name, 0, f"{reason}, after {number} log records")
                if not framed:
                    return
                stream.seek(max(end, stream.tell()))
                break


def record_of(raw: Raw) -> tuple[dict[str, Any], Any]:
    """Return the attributes of the resource, and the LogRecord. Raise ValueError if it is damaged, too long, or nested
    too deeply: the library reads up to 100 messages inside each other."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

    if len(raw.record) + len(raw.resource) > _RECORD_BYTES:
        raise Damaged(f"the log record is longer than {_RECORD_BYTES} bytes, longer than any object of Kubernetes")
    try:
        return _attributes(raw.resource), LogRecord.FromString(raw.record)
    except DecodeError:
        raise Damaged("the log record is damaged, or nested deeper than protobuf allows") from None


@lru_cache(16)
def _attributes(resource: bytes) -> dict[str, Any]:
    """Return the attributes of a resource, which all its records share."""
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource

    return {each.key: value_of(each.value) for each in Resource.FromString(resource).attributes}


def value_of(value: Any) -> Any:
    """Return an AnyValue as the values that JSON has; bytes become None."""
    match value.WhichOneof("value"):
        case "kvlist_value":
            return {each.key: value_of(each.value) for each in value.kvlist_value.values}
        case "array_value":
            return [value_of(each) for each in value.array_value.values]
        case "bytes_value" | None:
            return None
        case which:
            return getattr(value, which)


def _resource_logs(stream: ByteStream, limits: Limits, end: int) -> memoryview | None:
    """Return the next ResourceLogs; None at the end of the stream. Raise Damaged if there is none, or if it is too long
    or goes beyond the end of its message (0 if that is not known)."""
    head = stream.head(1 + _VARINT_BYTES)
    if not head:
        return None
    if head[0] != _RESOURCE_LOGS:
        raise Damaged(_DAMAGED)
    length, start = _varint(memoryview(head), 1)
    stream.read(start)
    if end and stream.tell() + length > end:
        raise Damaged(_DAMAGED)
    if length > limits.line_bytes:
        for _ in stream.take(length):
            pass
        raise Damaged(f"a message is {too_long(limits.line_bytes)}")
    content = stream.read(length)
    if len(content) < length:
        raise Damaged(f"{_DAMAGED} or cut")
    return memoryview(content)


def _walk(resource_logs: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Yield each record of a ResourceLogs with its resource, wherever that is in it."""
    resource = b"".join(bytes(each) for field, each in _fields(resource_logs) if field == _RESOURCE)
    for field, scope_logs in _fields(resource_logs):
        if field == _SCOPE_LOGS:
            for inner, record in _fields(scope_logs):
                if inner == _LOG_RECORDS:
                    yield resource, record


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the bytes of each field that has a length; pass over the others. Raise Damaged."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        form = tag & 7
        if form == _BYTES:
            length, position = _varint(message, position)
            if position + length > len(message):
                raise Damaged(_DAMAGED)
            yield tag >> 3, message[position : position + length]
            position += length
        elif form == _VARINT:
            _, position = _varint(message, position)
        elif form in (_FIXED64, _FIXED32):
            position += 8 if form == _FIXED64 else 4
        else:
            raise Damaged(_DAMAGED)


def _first(message: memoryview, wanted: int) -> memoryview:
    """Return the first field of this number as far as a head has it, after other fields with a length. Raise Damaged,
    or IndexError at the end of the head."""
    position = 0
    while True:
        tag, position = _varint(message, position)
        if tag & 7 != _BYTES or not tag >> 3 <= wanted:
            raise Damaged(_DAMAGED)
        length, position = _varint(message, position)
        if tag >> 3 == wanted:
            return message[position : position + length]
        position += length


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    """Return the integer that is encoded at this position, and the position of the byte after it.

    Raise Damaged if it has more bytes than Protocol Buffers allow, and IndexError if the data ends within it.
    """
    value = 0
    for place in range(_VARINT_BYTES):
        byte = message[position + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, position + place + 1
    raise Damaged(_DAMAGED)
