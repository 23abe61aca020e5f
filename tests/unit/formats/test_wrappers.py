"""These tests read audit logs as clouds, log stores and log shippers wrap them: the result is that of the plain log."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from collectors.formats import Skipped
from tests import DATA
from tests.inputs.events import event, pod, real
from tests.inputs.objects import items_of, reasons_of
from tests.inputs.wrapping import AKS, CLOUDWATCH, ELASTIC, LIST, LOKI, SHIPPED, WRAPPERS
from tests.unit.formats.reading import observed, sniffed, unplaced
from timeline.core.entries import Entry, Level, LogLine

LINES = [line.decode() for name in ("restart.jsonl", "deletion.jsonl") for line in real(name)]


def wrapped(wrapper: str, lines: list[str]) -> bytes:
    return WRAPPERS[wrapper][1](lines).encode()


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapped_log_tells_what_the_log_tells_and_is_of_one_format_alone(wrapper: str) -> None:
    plain = unplaced("\n".join(LINES))
    assert len(plain) == len(LINES)
    assert unplaced(wrapped(wrapper, LINES)) == plain
    for lines in (LINES, LINES[:1], LINES[2:3]):
        assert sniffed(wrapped(wrapper, lines)) == [WRAPPERS[wrapper][0]]


SUFFIXES = {".jsonl", ".json", ".yaml", ".log", ".csv", ".txt"}
SAMPLES = [path for path in sorted(DATA.rglob("*.*")) if path.suffix in SUFFIXES]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_each_sample_is_taken_for_one_format_only(path: Path) -> None:
    assert len(sniffed(path.read_bytes())) == 1


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_what_is_broken_or_cut_does_not_hide_the_rest_and_is_not_repeated(wrapper: str) -> None:
    whole = wrapped(wrapper, LINES[2:5] * 4)
    items = items_of(whole[: len(whole) * 7 // 10])
    assert [type(item) for item in items].count(Entry) >= 6
    assert any(isinstance(item, Skipped) for item in items)
    broken = wrapped(wrapper, [LINES[2], json.dumps(event(user="hunter2-secret"), separators=(",", ":")), LINES[3]])
    one, skipped, other = items_of(broken)
    assert isinstance(one, Entry) and isinstance(skipped, Skipped) and isinstance(other, Entry)
    assert "a field is not as Kubernetes writes it: Expected `object`, got `str` - at `$.user`" in skipped.reason
    for content in (broken, broken[:-40], broken.replace(b"hunter2", b"\x01hunter2")):
        assert "hunter2" not in " ".join(reasons_of(content))


def test_what_is_skipped_is_reported_by_line_and_place_in_the_document() -> None:
    (reason,) = reasons_of(wrapped("aws logs filter-log-events", [LINES[2], json.dumps(event(user=5)), LINES[3]]))
    assert reason.startswith("file line 9: .events[1]: a field is not as Kubernetes writes it")


def test_an_entry_knows_the_line_its_record_begins_on() -> None:
    places = [item.place for item in items_of(wrapped("AzureDiagnostics", LINES[2:4])) if isinstance(item, Entry)]
    assert [(place.file, place.line) for place in places if place] == [("file", 2), ("file", 6)]


def test_an_entry_that_cloudwatch_has_cut_off_is_reported() -> None:
    cut = json.dumps(event(responseObject={**pod(), "much": "x" * 300_000}))[: 256 * 1024]
    first, skipped = items_of(wrapped("CloudWatch events on lines", [LINES[2], cut]))
    assert str(skipped) == "file line 2: cut off after 262144 bytes, as log services do with long entries"
    assert isinstance(first, Entry)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (CLOUDWATCH, {"events": [{"message": "Starting", "timestamp": 1}]}),
        (AKS, {"records": [{"category": "kube-scheduler", "properties": {"log": "Started\n"}}]}),
        (LOKI, {"data": {"resultType": "streams", "result": [{"stream": {}, "values": [["1", "GET /"]]}]}}),
        (ELASTIC, {"hits": {"hits": [{"_source": {"message": "GET /"}}]}}),
    ],
)
def test_records_of_other_logs_are_reported_as_such(name: str, content: dict[str, Any]) -> None:
    head = json.dumps(content).encode()
    assert sniffed(head) == [name]
    (reason,) = reasons_of(head)
    assert reason.endswith(": it holds no audit event") and "Start" not in reason and "GET" not in reason


@pytest.mark.parametrize(
    "content",
    [
        {"events": [{"message": "I1121 07:52:00.5 server.go:1] Starting", "timestamp": 1795247520000}]},
        {"records": [{"time": "2026-11-21T07:52:00Z", "properties": {"log": "I1121 07:52:00.5 x.go:1] Starting\n"}}]},
        {"_source": {"@timestamp": "2026-11-21T07:52:00Z", "message": "Starting"}},
        {"line": "level=info msg=Starting", "timestamp": "2026-11-21T07:52:00Z", "labels": {}},
    ],
)
def test_a_line_of_a_program_in_a_store_is_read_as_one_beside_the_audit_events(content: Any) -> None:
    (line,) = observed(json.dumps(content))
    assert isinstance(line, LogLine) and (line.time, line.text) == (1795247520000000, "Starting")


def test_the_events_text_stands_before_what_a_shipper_made_of_it() -> None:
    parsed = {**json.loads(LINES[3]), "responseObject": None}
    (entry,) = unplaced(json.dumps({"_source": {"kubernetes": {"audit": parsed}, "event": {"original": LINES[3]}}}))
    assert entry.facts is not None


def test_compressed_exports_are_read_the_same() -> None:
    packed = (gzip.compress(wrapped("a CloudWatch subscription", [line])) for line in LINES)
    assert len(unplaced(b"".join(packed))) == len(LINES)


def test_an_objects_own_text_about_audit_events_makes_no_audit_log() -> None:
    policy = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}, "data": {"example": json.dumps(event())}}
    listed = {"kind": "List", "apiVersion": "v1", "items": [policy]}
    for document in (policy, listed, {"type": "ADDED", "object": policy}):
        assert "audit" not in " ".join(sniffed(json.dumps(document))).lower()


def test_an_empty_list_of_events_is_one() -> None:
    empty = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[]}'
    assert sniffed(empty) == [LIST]
    assert items_of(empty) == []


def test_a_shippers_record_is_known_behind_records_of_other_logs() -> None:
    others = "".join(json.dumps({"log": f"line {number}\n", "stream": "stderr"}) + "\n" for number in range(100))
    content = others.encode() + wrapped("Fluent Bit", LINES[2:5])
    assert sniffed(content) == [SHIPPED]
    assert len([item for item in items_of(content) if isinstance(item, Entry)]) == 3


# Formats that are tables with a column for each field

COLUMNS = {
    "AuditId": "auditID",
    "RequestReceivedTime": "requestReceivedTimestamp",
    "RequestUri": "requestURI",
    "SourceIps": "sourceIPs",
    "StageReceivedTime": "stageTimestamp",
    **{name[0].upper() + name[1:]: name for name in ("level", "objectRef", "requestObject", "responseObject")},
    **{name[0].upper() + name[1:]: name for name in ("responseStatus", "stage", "user", "userAgent", "verb")},
}


def azure_row(line: str, *, objects_as_text: bool) -> dict[str, Any]:
    """Return a row of AKSAudit, as `az monitor log-analytics query` returns it."""
    record = json.loads(line)
    row = {"TenantId": "t", "TimeGenerated": record["stageTimestamp"], "Type": "AKSAudit"}
    for column, field in COLUMNS.items():
        value = record.get(field)
        row[column] = json.dumps(value) if objects_as_text and isinstance(value, dict | list) else value
    return row


@pytest.mark.parametrize("objects_as_text", [True, False])
def test_rows_of_the_aks_tables_are_events(objects_as_text: bool) -> None:
    rows = json.dumps([azure_row(line, objects_as_text=objects_as_text) for line in LINES])
    assert sniffed(rows) == [AKS]
    assert unplaced(rows) == unplaced("\n".join(LINES))


def test_a_body_that_azure_left_out_is_not_reported() -> None:
    row = {**azure_row(LINES[3], objects_as_text=True), "ResponseObject": "skipped-too-big-size-object"}
    (entry,) = unplaced(json.dumps(row))
    assert (entry.level, entry.facts) == (Level.METADATA, None)
