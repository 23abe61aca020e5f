"""These tests read logs of OpenTelemetry: objects, audit events and lines of logs, in JSON and in protobuf."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from google.protobuf.json_format import ParseDict
from msgspec.structs import replace
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from collectors.formats import Skipped
from tests import DATA
from tests.inputs.events import real as audit_lines
from tests.inputs.objects import items_of, made, reasons_of
from tests.inputs.objects import real as real_objects
from tests.unit.formats import reading
from timeline.core.entries import Change, Entry, LogLine, Unknown

NAME = "logs of OpenTelemetry (OTLP)"
WATCHED = ("watch/services.jsonl", "watch/pods.jsonl", "watch/leases.jsonl")
_POOL = zstandard.ZstdCompressor()


def any_value(value: Any) -> dict[str, Any]:
    """Return a value as OTLP writes it in JSON."""
    match value:
        case None:
            return {}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(each) for each in value]} if value else {}}
    return {"kvlistValue": {"values": pairs(value)} if value else {}}


def pairs(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def logs(*bodies: Any, resource: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return one export with these bodies as k8sobjects makes it."""
    records = [{"observedTimeUnixNano": "1795247520123456789", "body": any_value(each), **fields} for each in bodies]
    scope = {"scope": {"name": "k8sobjectsreceiver", "version": "0.130.0"}, "logRecords": records}
    return {"resourceLogs": [{"resource": {"attributes": pairs(resource or {})}, "scopeLogs": [scope]}]}


def message(export: dict[str, Any]) -> bytes:
    return bytes(ParseDict(export, LogsData()).SerializeToString())


def _framed(parts: list[bytes]) -> bytes:
    return b"".join(len(each).to_bytes(4, "big") + each for each in parts)


def _json(export: dict[str, Any]) -> bytes:
    return json.dumps(export, separators=(",", ":")).encode()


PACKINGS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "json on lines": lambda exports: b"".join(_json(each) + b"\n" for each in exports),
    "pretty json": lambda exports: b"".join(json.dumps(each, indent=2).encode() + b"\n" for each in exports),
    "an array": lambda exports: json.dumps(exports).encode(),
    "one document": lambda exports: _json({"resourceLogs": [part for one in exports for part in one["resourceLogs"]]}),
    "json, compressed as a whole": lambda exports: _POOL.compress(PACKINGS["json on lines"](exports)),
    "json, each compressed": lambda exports: _framed([_POOL.compress(_json(each)) for each in exports]),
    "proto": lambda exports: _framed([message(each) for each in exports]),
    "proto, compressed as a whole": lambda exports: _POOL.compress(PACKINGS["proto"](exports)),
    "proto, each compressed": lambda exports: _framed([_POOL.compress(message(each)) for each in exports]),
    "bare proto": lambda exports: b"".join(message(each) for each in exports),
}
"""By name: how exports are written to a file."""


GOOD = logs({"type": "ADDED", "object": made("p", 7)})


def observed(content: bytes) -> list[Any]:
    items = reading.observed(content)
    return [item if isinstance(item, Skipped) else replace(item, place=None) for item in items]


@pytest.mark.parametrize("packing", PACKINGS)
def test_watched_objects_tell_what_the_watch_tells_and_an_export_is_of_one_format_alone(packing: str) -> None:
    lines = [line for name in WATCHED for line in real_objects(name).splitlines()[:16]]
    plain = observed(b"\n".join(lines))
    assert len(plain) > 30 and not any(isinstance(each, Skipped) for each in plain)
    assert observed(PACKINGS[packing]([logs(json.loads(line)) for line in lines])) == plain
    if not packing.endswith("compressed") and "compressed as" not in packing:
        assert reading.sniffed(PACKINGS[packing]([GOOD])) == reading.sniffed(PACKINGS[packing]([GOOD] * 100)) == [NAME]


def test_the_sample_is_read_whole() -> None:
    items = observed((DATA / "otlp" / "k8sobjects.json").read_bytes())
    assert [each.ref.kind for each in items] == ["Event", "Namespace", "Namespace", "Pod"]
    assert [each.change for each in items].index(Change.DELETED) == 2
    assert {each.change for each in items} == {Change.OBSERVED, Change.DELETED}


def test_pulled_objects_are_only_observed() -> None:
    first, later = made("p", 7), made("p", 9)
    end = {"type": "PullEnd", "object": {"kind": "configmaps"}}
    items = items_of(PACKINGS["proto"]([logs(first), logs(end), logs(later), logs(end)]))
    seen = [(each.change, each.resource_version) for each in items if isinstance(each, Entry)]
    assert seen == [(Change.OBSERVED, 7), (Change.OBSERVED, 9)] and len(items) == 2


@pytest.mark.parametrize("packing", ["json on lines", "proto"])
def test_audit_events_tell_what_the_audit_log_tells(packing: str) -> None:
    lines = audit_lines("restart.jsonl")
    plain = observed(b"\n".join(lines))
    texts = [logs(line.decode()) for line in lines]
    parsed = [logs("", attributes=pairs(json.loads(line))) for line in lines]
    assert len(plain) > 3
    assert observed(PACKINGS[packing](texts)) == plain == observed(PACKINGS[packing](parsed))


@pytest.mark.parametrize("packing", ["json on lines", "proto"])
def test_the_log_of_a_container_is_read_with_its_name(packing: str) -> None:
    resource = {"k8s.namespace.name": "shop", "k8s.pod.name": "vip-1", "k8s.container.name": "vip"}
    line = 'I1122 06:13:17.715116 1 controller.go:12] "Synced" service="shop/web"'
    one = logs(line, resource=resource, timeUnixNano="1795328363100000000")
    path = "/var/log/pods/shop_vip-1_0a1b/vip/0.log"
    other = logs("started", attributes=pairs({"log.file.path": path}), timeUnixNano="1795328363200000000")
    other["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["severityText"] = "WARN"
    klog, plain = observed(PACKINGS[packing]([one, other]))
    assert isinstance(klog, LogLine) and isinstance(plain, LogLine)
    assert (klog.log, klog.time, klog.level) == ("shop/vip-1/vip", 1795328363100000, "info")
    assert klog.unknown is Unknown.NOTHING and "service/shop/web" in klog.objects
    assert (plain.log, plain.level, plain.text) == ("shop/vip-1/vip", "warning", "started")


def test_what_a_record_lacks_is_reported() -> None:
    timeless = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "started"}}]}]}]}
    strange = logs({"type": "LATER", "object": made("p", 7)})
    nothing = "file line 2: it holds no object of Kubernetes, no audit event and no line of a log with a time"
    for packing in ("json on lines", "proto"):
        reasons = reasons_of(PACKINGS[packing]([GOOD, timeless, strange]))
        assert reasons[0] == nothing
        assert "it is no event of a watch" in reasons[1]


def test_spans_and_metrics_are_no_logs() -> None:
    span = b"\x0a\x10" + b"\0" * 16
    for inner in (span, b"\x0a\x04name"):
        traces = _field(b"\x0a", _field(b"\x12", _field(b"\x12", inner)))
        assert reading.sniffed(traces) == reading.sniffed(_framed([traces])) == []


def test_a_damaged_message_does_not_take_the_others_along_and_a_cut_one_is_reported() -> None:
    good, other = message(GOOD), message(logs({"type": "MODIFIED", "object": made("p", 9)}))
    one, skipped, another = items_of(_framed([good, b"\x0a\xff\xff\x01abc", other]))
    assert isinstance(one, Entry) and isinstance(another, Entry)
    assert str(skipped) == "file: the protobuf message is damaged, after 1 log records"
    for content in (_framed([good, good])[:-9], good + good[:-9]):
        assert any("damaged or cut, after 1 log records" in each for each in reasons_of(content))
    packed = PACKINGS["proto, each compressed"]([GOOD] * 3)
    assert any("cut" in each for each in reasons_of(packed[:-9]))


def _field(key: bytes, content: bytes) -> bytes:
    return key + _varint(len(content)) + content


def test_a_record_that_is_nested_without_end_or_too_long_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    value = b""
    for _ in range(60):  # KeyValueList in AnyValue in KeyValue
        value = _field(b"\x32", _field(b"\x0a", b"\x0a\x01a" + _field(b"\x12", value)))
    nested = _field(b"\x0a", _field(b"\x12", _field(b"\x12", _field(b"\x2a", value))))
    (reason,) = reasons_of(_framed([message(GOOD), nested]))
    assert reason == "file line 2: the log record is damaged, or nested deeper than protobuf allows"
    monkeypatch.setattr("collectors.formats.otlp_protobuf._RECORD_BYTES", 100)
    assert "longer than 100 bytes" in reasons_of(_framed([message(GOOD)]) * 2)[0]


def test_a_message_of_countless_empty_records_is_read_with_little_memory() -> None:
    empty = _field(b"\x0a", _field(b"\x12", b"\x12\x00" * 20_000))
    items = items_of(_framed([message(GOOD), empty]))
    assert isinstance(items[0], Entry)
    assert sum(each.lines for each in items if isinstance(each, Skipped)) == 20_000 and len(items) < 200


def _varint(number: int) -> bytes:
    encoded = b""
    while number >= 0x80:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])
