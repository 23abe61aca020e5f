"""These tests read audit logs as clouds, log stores and log shippers wrap them: the result is that of the plain log."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.formats import NotARecording, Skipped, formats, read
from tests import DATA
from tests.events import event, pod, real
from tests.objects import check_damaged
from tests.properties import examples
from tests.recordings import SAMPLE, lines_of
from tests.wrapping import AKS, CLOUDWATCH, ELASTIC, LIST, LOKI, SHIPPED, WRAPPERS
from timeline.core.entries import FOREVER, Change, Entry, Level, LogLine, moment

LINES = [line.decode() for name in ("restart.jsonl", "deletion.jsonl") for line in real(name)]


def items_of(folder: Path, content: str | bytes, bodies: bool = True) -> list[Entry | Skipped]:
    path = folder / "log"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [item for item in read([(path, "log")], bodies=bodies) if isinstance(item, Entry | Skipped)]


def entries_of(folder: Path, content: str | bytes, bodies: bool = True) -> list[Entry]:
    """Return all entries without file and line, of which nothing may be skipped."""
    items = items_of(folder, content, bodies)
    assert not [item for item in items if isinstance(item, Skipped)], items
    return [replace(item, place=None) for item in items if isinstance(item, Entry)]


def reasons_of(folder: Path, content: str | bytes) -> list[str]:
    return [str(item) for item in items_of(folder, content) if isinstance(item, Skipped)]


@pytest.fixture(scope="module")
def whole_log(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[Entry]]:
    """Return the beginning of the sample recording of the package, as lines and as entries."""
    lines = [each.decode() for each in lines_of(SAMPLE)[:300]]
    return lines, entries_of(tmp_path_factory.mktemp("whole"), "\n".join(lines), bodies=False)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapped_log_tells_what_the_log_tells(
    wrapper: str, whole_log: tuple[list[str], list[Entry]], tmp_path: Path
) -> None:
    _, wrap = WRAPPERS[wrapper]
    lines, entries = whole_log
    assert len(entries) > 150
    assert entries_of(tmp_path, wrap(lines), bodies=False) == entries


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapped_log_tells_the_objects_whole(wrapper: str, tmp_path: Path) -> None:
    _, wrap = WRAPPERS[wrapper]
    plain = entries_of(tmp_path, "".join(line + "\n" for line in LINES))
    assert len(plain) == len(LINES)
    assert entries_of(tmp_path, wrap(LINES)) == plain


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_each_wrapper_is_taken_for_one_format_only(wrapper: str) -> None:
    name, wrap = WRAPPERS[wrapper]
    for lines in (LINES, LINES[:1], LINES[2:3]):
        head = wrap(lines).encode()[: 64 * 1024]
        assert [each.name for each in formats() if each.sniff(head)] == [name]


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.*")), ids=lambda path: path.name)
def test_each_sample_is_taken_for_one_format_only(path: Path) -> None:
    if path.suffix in {".jsonl", ".json", ".yaml", ".log", ".csv", ".txt"}:
        head = path.read_bytes()[: 64 * 1024]
        assert len([each.name for each in formats() if each.sniff(head)]) == 1


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_that_was_cut_keeps_what_stands_before_the_cut(wrapper: str, tmp_path: Path) -> None:
    _, wrap = WRAPPERS[wrapper]
    content = wrap(LINES[2:5] * 4)
    items = items_of(tmp_path, content[: len(content) * 7 // 10])
    assert [type(item) for item in items].count(Entry) >= 6
    assert any(isinstance(item, Skipped) for item in items)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_broken_event_does_not_hide_the_others(wrapper: str, tmp_path: Path) -> None:
    _, wrap = WRAPPERS[wrapper]
    first, broken, last = LINES[2], json.dumps(event(user=5), separators=(",", ":")), LINES[3]
    one, skipped, other = items_of(tmp_path, wrap([first, broken, last]))
    assert isinstance(one, Entry) and isinstance(skipped, Skipped) and isinstance(other, Entry)
    assert "a field is not as Kubernetes writes it: Expected `object`, got `int` - at `$.user`" in skipped.reason


def test_what_is_skipped_is_told_by_line_and_place_in_the_document(tmp_path: Path) -> None:
    _, wrap = WRAPPERS["aws logs filter-log-events"]
    (reason,) = reasons_of(tmp_path, wrap([LINES[2], json.dumps(event(user=5)), LINES[3]]))
    assert reason.startswith("log line 9: .events[1]: a field is not as Kubernetes writes it")


def test_an_entry_knows_the_line_its_record_begins_on(tmp_path: Path) -> None:
    _, wrap = WRAPPERS["AzureDiagnostics"]
    places = [item.place for item in items_of(tmp_path, wrap(LINES[2:4])) if isinstance(item, Entry)]
    assert [(place.file, place.line) for place in places if place] == [("log", 2), ("log", 6)]


def test_an_entry_that_cloudwatch_has_cut_off_is_told(tmp_path: Path) -> None:
    _, wrap = WRAPPERS["CloudWatch events on lines"]
    cut = json.dumps(event(responseObject={**pod(), "much": "x" * 300_000}))[: 256 * 1024]
    first, skipped = items_of(tmp_path, wrap([LINES[2], cut]))
    assert str(skipped) == "log line 2: cut off after 262144 bytes, as log services do with long entries"
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
def test_records_of_other_logs_are_told_as_such(name: str, content: dict[str, Any], tmp_path: Path) -> None:
    head = json.dumps(content).encode()
    assert [each.name for each in formats() if each.sniff(head)] == [name]
    (reason,) = reasons_of(tmp_path, head)
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
def test_a_line_of_a_program_in_a_store_is_read_as_one_beside_the_audit_events(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps(content))
    (line,) = read([(path, "log")], bodies=False)
    assert isinstance(line, LogLine) and (line.time, line.text) == (1795247520000000, "Starting")


def test_the_events_text_stands_before_what_a_shipper_made_of_it(tmp_path: Path) -> None:
    parsed = {**json.loads(LINES[3]), "responseObject": None}
    record = {"_source": {"kubernetes": {"audit": parsed}, "event": {"original": LINES[3]}}}
    (entry,) = entries_of(tmp_path, json.dumps(record))
    assert entry.facts is not None


def test_compressed_exports_are_read_the_same(tmp_path: Path) -> None:
    _, wrap = WRAPPERS["a CloudWatch subscription"]
    assert len(entries_of(tmp_path, b"".join(gzip.compress(wrap([line]).encode()) for line in LINES))) == len(LINES)


def test_an_objects_own_text_about_audit_events_makes_no_audit_log() -> None:
    policy = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}, "data": {"example": json.dumps(event())}}
    for document in (
        policy,
        {"kind": "List", "apiVersion": "v1", "items": [policy]},
        {"type": "ADDED", "object": policy},
    ):
        head = json.dumps(document).encode()
        assert "audit" not in " ".join(each.name for each in formats() if each.sniff(head)).lower()


def test_an_empty_list_of_events_is_one(tmp_path: Path) -> None:
    empty = '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[]}'
    assert [each.name for each in formats() if each.sniff(empty.encode())] == [LIST]
    assert items_of(tmp_path, empty) == []


def test_other_json_is_refused(tmp_path: Path) -> None:
    for content in ('{"message": "hello"}\n', '{"events": []}', "[1, 2]", '{"data": {"result": []}}'):
        with pytest.raises(NotARecording):
            items_of(tmp_path, content)


# Formats that are tables with a column for each field


def azure_row(line: str, *, objects_as_text: bool) -> dict[str, Any]:
    """Return a row of AKSAudit, as `az monitor log-analytics query` returns it."""
    record = json.loads(line)
    fields = {
        "AuditId": "auditID",
        "Level": "level",
        "ObjectRef": "objectRef",
        "RequestObject": "requestObject",
        "RequestReceivedTime": "requestReceivedTimestamp",
        "RequestUri": "requestURI",
        "ResponseObject": "responseObject",
        "ResponseStatus": "responseStatus",
        "SourceIps": "sourceIPs",
        "Stage": "stage",
        "StageReceivedTime": "stageTimestamp",
        "User": "user",
        "UserAgent": "userAgent",
        "Verb": "verb",
    }
    row = {"TenantId": "t", "TimeGenerated": record["stageTimestamp"], "Type": "AKSAudit"}
    for column, field in fields.items():
        value = record.get(field)
        row[column] = json.dumps(value) if objects_as_text and isinstance(value, dict | list) else value
    return row


@pytest.mark.parametrize("objects_as_text", [True, False])
def test_rows_of_the_aks_tables_are_events(objects_as_text: bool, tmp_path: Path) -> None:
    rows = json.dumps([azure_row(line, objects_as_text=objects_as_text) for line in LINES])
    assert [each.name for each in formats() if each.sniff(rows[: 64 * 1024].encode())] == [AKS]
    assert entries_of(tmp_path, rows) == entries_of(tmp_path, "\n".join(LINES))


def test_a_body_that_azure_left_out_is_not_told(tmp_path: Path) -> None:
    row = {**azure_row(LINES[3], objects_as_text=True), "ResponseObject": "skipped-too-big-size-object"}
    (entry,) = entries_of(tmp_path, json.dumps(row))
    assert (entry.level, entry.facts) == (Level.METADATA, None)


# Events of old API servers


def test_v1beta1_tells_microseconds_too(tmp_path: Path) -> None:
    old = event(
        apiVersion="audit.k8s.io/v1beta1", metadata={"creationTimestamp": None}, timestamp="2026-11-21T07:52:00Z"
    )
    assert entries_of(tmp_path, json.dumps(old)) == entries_of(tmp_path, json.dumps(event()))


def test_v1alpha1_tells_whole_seconds_and_its_group_in_the_version(tmp_path: Path) -> None:
    reference = {"resource": "deployments", "namespace": "n", "name": "p", "apiVersion": "apps/v1beta1"}
    old = event(
        apiVersion="audit.k8s.io/v1alpha1",
        metadata={"creationTimestamp": "2026-11-21T07:52:01Z"},
        timestamp="2026-11-21T07:52:00Z",
        requestReceivedTimestamp=None,
        stageTimestamp=None,
        objectRef=reference,
        responseObject={"kind": "Deployment", "metadata": {"name": "p", "uid": "u", "resourceVersion": "7"}},
    )
    (entry,) = entries_of(tmp_path, json.dumps(old))
    assert (entry.ref.group, entry.ref.version) == ("apps", "v1beta1")
    assert moment(entry.received).isoformat() == "2026-11-21T07:52:00+00:00"
    assert moment(entry.staged).isoformat() == "2026-11-21T07:52:01.999999+00:00"
    (unbounded,) = entries_of(tmp_path, json.dumps({**old, "metadata": {"creationTimestamp": None}}))
    assert unbounded.staged == FOREVER


def test_a_truncated_event_tells_only_that_it_happened(tmp_path: Path) -> None:
    cut = event(responseObject=None, annotations={"audit.k8s.io/truncated": "true"})
    (entry,) = entries_of(tmp_path, json.dumps(cut))
    assert (entry.level, entry.facts, entry.change) == (Level.METADATA, None, Change.CREATED)


# deletecollection


def deletions(folder: Path, items: list[dict[str, Any]], options: Any = None, **changes: Any) -> list[Entry]:
    reference = {"resource": "pods", "namespace": "n", "apiVersion": "v1"}
    answer = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "200"}, "items": items}
    made = {
        "verb": "deletecollection",
        "objectRef": reference,
        "responseObject": answer,
        "responseStatus": {"code": 200},
    }
    return entries_of(folder, json.dumps(event(requestObject=options, **{**made, **changes})))


def bound(phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    return {"metadata": pod(**metadata)["metadata"], "spec": {"nodeName": "x"}, "status": {"phase": phase}}


def test_a_deletecollection_deletes_each_object_of_its_answer(tmp_path: Path) -> None:
    first, second = deletions(tmp_path, [pod(name="a", uid="ua"), pod(name="b", uid="ub")])
    assert [(each.ref.kind, each.ref.name, each.ref.uid) for each in (first, second)] == [
        ("Pod", "a", "ua"),
        ("Pod", "b", "ub"),
    ]
    assert first.change is second.change is Change.DELETED
    assert first.resource_version is None  # the answer shows the objects as they were before
    assert (first.received, first.staged, first.identity) == (second.received, second.staged, "a1")


@pytest.mark.parametrize(
    ("item", "options", "change"),
    [
        (pod(), None, Change.DELETED),  # it is on no node
        (bound(), None, Change.MODIFIED),  # its kubelet stops it first
        (bound("Succeeded"), None, Change.DELETED),
        (bound(), {"gracePeriodSeconds": 0}, Change.DELETED),
        (pod(finalizers=["x"]), None, Change.MODIFIED),
        (pod(), {"propagationPolicy": "Foreground"}, Change.MODIFIED),
        (pod(), {"propagationPolicy": "Background"}, Change.DELETED),
    ],
)
def test_what_outlives_a_deletecollection_is_asked_to_end(
    item: dict[str, Any], options: Any, change: Change, tmp_path: Path
) -> None:
    (entry,) = deletions(tmp_path, [item], options)
    assert entry.change is change
    if change is Change.MODIFIED:
        assert dict(entry.sets)["deleting"] is True
        assert moment(dict(entry.sets)["asked"]).isoformat() == "2026-11-21T07:52:00+00:00"


def test_what_was_asked_to_end_before_is_left_alone(tmp_path: Path) -> None:
    going = bound(deletionTimestamp="2026-11-21T07:52:30Z", deletionGracePeriodSeconds=30)
    assert deletions(tmp_path, [going]) == []


def test_metadata_alone_does_not_tell_whether_a_pod_has_gone(tmp_path: Path) -> None:
    answer = {"kind": "PartialObjectMetadataList", "items": [{"metadata": pod()["metadata"]}]}
    (entry,) = deletions(tmp_path, [], responseObject=answer)
    assert entry.change is Change.MODIFIED


# bounded time


@examples(5)
@given(
    wrapper=st.sampled_from(sorted(WRAPPERS)),
    cut=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    noise=st.binary(max_size=12),
)
def test_damage_anywhere_ends_no_reading(wrapper: str, cut: tuple[float, float], noise: bytes) -> None:
    check_damaged(WRAPPERS[wrapper][1](LINES[2:5]).encode(), cut, noise)


def test_no_reason_repeats_what_stands_in_a_record(tmp_path: Path) -> None:
    for _, wrap in WRAPPERS.values():
        secret = json.dumps(event(user="hunter2-secret", verb="create"), separators=(",", ":"))
        broken = wrap([LINES[2], secret, LINES[3]])
        for content in (broken, broken[:-40], broken.replace("hunter2", "\x01hunter2")):
            assert "hunter2" not in " ".join(reasons_of(tmp_path, content))


def test_a_shippers_record_is_known_behind_records_of_other_logs(tmp_path: Path) -> None:
    others = "".join(json.dumps({"log": f"line {number}\n", "stream": "stderr"}) + "\n" for number in range(100))
    _, wrap = WRAPPERS["Fluent Bit"]
    content = others + wrap(LINES[2:5])
    assert [each.name for each in formats() if each.sniff(content.encode())] == [SHIPPED]
    assert len([item for item in items_of(tmp_path, content) if isinstance(item, Entry)]) == 3
