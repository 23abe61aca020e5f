"""These tests read lists, single objects, untyped watches, dumps and Events, in JSON and in YAML."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from collectors.formats import Limits, Skipped, read
from collectors.formats.stream.recording import HEAD_BYTES
from tests.inputs import events
from tests.inputs.objects import (
    OBJECTS,
    changed,
    changes_of,
    documents,
    entries_of,
    items_of,
    listed,
    made,
    real,
    reasons_of,
)
from tests.unit.formats.reading import peak_of, sniffed
from timeline.core.entries import Change, microseconds, moment

JSON, YAML, WATCH = "Kubernetes objects in JSON", "Kubernetes objects in YAML", "watch of Kubernetes objects"


def as_yaml(content: bytes) -> bytes:
    """Return the same documents as kubectl prints them in YAML."""
    decoder, text, at, made = json.JSONDecoder(), content.decode(), 0, []
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        made.append(yaml.safe_dump(value, default_flow_style=False, width=10_000))
        at += len(text) - at - len(text[at:].lstrip())
    return "---\n".join(made).encode()


def samples() -> Iterator[tuple[str, bytes, str]]:
    for name in ("services-w.json", "pods.json", "pods-raw.json", "events.json", "dump.txt"):
        yield name, real(name), JSON
    for name in ("services-w.yaml", "pods.yaml"):
        yield name, real(name), YAML
    for path in sorted((OBJECTS / "watch").iterdir()):
        yield path.name, real(f"watch/{path.stem}"), WATCH
    yield "an empty list", listed(), JSON
    yield "an array", json.dumps([made("a", 1)], indent=2).encode(), JSON
    yield "a compact object", json.dumps(made("a", 1)).encode(), JSON
    yield "a log of a dump", real("dump.txt")[real("dump.txt").index(b"==== START") :], JSON
    yield "an object with much before its name", listed(made("a", 1) | {"data": {"a": "x" * 2**17}})[:HEAD_BYTES], JSON
    yield "an audit log", b"\n".join(events.real("restart.jsonl")), "Kubernetes audit log"
    audit = json.dumps({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": [events.event()]}).encode()
    yield "a list of audit events", audit, "Kubernetes audit log, as a list of events"
    pretty = json.dumps(events.event(), indent=2).encode()
    yield "a pretty audit event", pretty, "Kubernetes audit log, as a list of events"


@pytest.mark.parametrize(("content", "name"), [pytest.param(head, name, id=id) for id, head, name in samples()])
def test_a_recording_is_of_one_format_alone(content: bytes, name: str) -> None:
    assert sniffed(content[:HEAD_BYTES]) == [name]


def test_a_kubeconfig_among_objects_is_skipped_without_showing_it() -> None:
    config = b"---\napiVersion: v1\nusers: [{token: very-secret}]\nkind: Config\n"
    filler = b"#" + b"x" * HEAD_BYTES + b"\n"
    (reason,) = reasons_of(as_yaml(documents(made("a", 1))) + filler + config)
    assert reason == "file line 15: it is a kubeconfig, which holds credentials; it was not kept"


PODS = entries_of(real("pods.json"))


@pytest.mark.parametrize("name", ["pods.json", "pods-raw.json", "pods.yaml"])
def test_a_list_of_pods_tells_the_last_state_of_each(name: str) -> None:
    entries = entries_of(real(name))
    for field in ("ref", "resource_version", "facts", "owner"):
        assert [getattr(each, field) for each in entries] == [getattr(each, field) for each in PODS]
    assert len(entries) == 8
    assert {entry.change for entry in entries} == {Change.OBSERVED}
    assert {(entry.ref.version, entry.ref.kind) for entry in entries} == {("v1", "Pod")}
    online = next(entry for entry in entries if entry.ref.name.startswith("vs-online"))
    assert online.owner and online.owner.kind == "ReplicaSet"
    assert online.facts and online.facts.node.startswith("node-")  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "begins"), [("pods.json", b"        {"), ("pods.yaml", b"- apiVersion: v1")])
def test_an_item_stands_where_it_begins(name: str, begins: bytes) -> None:
    text = real(name).splitlines()
    assert [text[entry.place.line - 1] for entry in entries_of(real(name)) if entry.place] == [begins] * 8


@pytest.mark.parametrize("compact", [True, False])
def test_items_of_a_typed_list_have_its_kind_wherever_it_stands(compact: bool) -> None:
    bare = [{"metadata": made(name, 1)["metadata"]} for name in "ab"]
    for keys in (["kind", "apiVersion", "items"], ["apiVersion", "items", "kind"], ["items", "kind", "apiVersion"]):
        whole = {"kind": "ConfigMapList", "apiVersion": "v1", "items": bare}
        text = json.dumps({key: whole[key] for key in keys}, indent=None if compact else 2).encode()
        if keys[0] == "items":
            text = documents(made("z", 1)) + text  # a list that begins with items has to follow an object
        entries = entries_of(text, bodies=True)
        assert {entry.ref.kind for entry in entries} == {"ConfigMap"}
        assert all(b'"kind":"ConfigMap"' in entry.body for entry in entries)
        assert {entry.ref.kind for entry in entries_of(as_yaml(text))} == {"ConfigMap"}


def test_waiting_for_the_kind_of_a_list_has_a_limit() -> None:
    bare = [{"metadata": made("a", 1)["metadata"], "data": {"x": "x" * 300}} for _ in range(9)]
    items = items_of(listed(*bare, kind="ConfigMapList"), limits=Limits(line_bytes=2_000))
    kept = [item for item in items if not isinstance(item, Skipped)]
    assert 0 < len(kept) < 5
    assert "CAUSELINE_LINE_LIMIT_BYTES raises the limit" in next(x.reason for x in items if isinstance(x, Skipped))


def test_an_empty_list_holds_nothing() -> None:
    for nothing in (listed(), listed(items=None), b"apiVersion: v1\nitems: []\nkind: List\n"):
        assert items_of(nothing) == []


@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        ({"apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": []}, "it is a Table, cells instead of objects"),
        ({"apiVersion": "v1", "kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"},
         "it is not an object but an error of the API server: Forbidden, code 403"),
        ({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "items": [{"metadata": {"name": "x"}}]},
         "it is metadata alone, without its kind"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, "it has no creationTimestamp"),
        ({"apiVersion": "v1", "kind": "List", "items": [{"metadata": {}}]}, "it has no apiVersion or no kind"),
    ],
)  # fmt: skip
def test_what_holds_no_objects_is_reported_in_words(whole: dict[str, Any], reason: str) -> None:
    for content in (json.dumps(whole).encode(), as_yaml(documents(whole))):
        (message,) = reasons_of(content)
        assert reason in message


@pytest.mark.parametrize("name", ["services-w.json", "services-w.yaml"])
def test_a_watch_in_documents_tells_what_it_tells_in_lines(name: str) -> None:
    """This holds without types, too: a deletion shows the object as it was, and any other change is visible in it."""
    assert changes_of(entries_of(real(name))) == changes_of(entries_of(real("watch/services.jsonl")))


def test_without_managed_fields_an_untyped_watch_tells_what_was_seen_and_no_more() -> None:
    bare = [made("a", revision, managedFields=None) for revision in (10, 20, 30)]
    for content in (documents(*bare), as_yaml(documents(*bare))):
        assert changes_of(entries_of(content)) == ["a observed 10", "a observed 20", "a observed 30"]


def test_an_untyped_watch_tells_creations_and_changes() -> None:
    seen = made("a", 10), made("c", 12), changed("a", 20), made("b", 30), made("d", 40, generation=2)
    changes = ["a observed 10", "c observed 12", "a modified 20", "b created 30", "d observed 40"]
    assert changes_of(entries_of(documents(*seen))) == changes
    # The same state shown again is no deletion.
    assert changes_of(entries_of(documents(made("a", 10), made("a", 10)))) == ["a observed 10"] * 2


def test_a_dump_is_read_past_its_logs() -> None:
    dump = real("dump.txt")
    entries = entries_of(dump)
    assert b'\n{"level":"info"}\n' in dump  # in the log of a container
    assert {entry.ref.kind for entry in entries} == {"Node", "Event", "Service", "Deployment", "ReplicaSet", "Pod"}
    assert {entry.change for entry in entries} == {Change.OBSERVED}
    assert len(entries_of(dump + dump)) == 2 * len(entries)
    (reason,) = reasons_of(dump[: dump.rindex(b"==== END")])
    assert "the log of a container has no end: the dump was cut" in reason


def times_of(event: dict[str, Any]) -> str:
    (entry,) = entries_of(listed({**made("a", 1), **event, "kind": "Event"}))
    return moment(entry.received).strftime("%H:%M:%S.%f")


def test_the_time_of_an_event_is_the_last_that_it_tells() -> None:
    times: dict[str, Any] = {"eventTime": None}
    for reported, time in (
        ({}, "07:52:00.000000"),
        ({"firstTimestamp": "2026-11-21T07:52:01Z"}, "07:52:01.000000"),
        ({"eventTime": "2026-11-21T07:52:02.123456Z"}, "07:52:02.123456"),
        ({"lastTimestamp": "2026-11-21T07:52:03Z"}, "07:52:03.000000"),
        ({"series": {"count": 3, "lastObservedTime": "2026-11-21T07:52:04.000001Z"}}, "07:52:04.000001"),
    ):
        times |= reported
        assert times_of(times) == time
    new = {"apiVersion": "events.k8s.io/v1", "deprecatedLastTimestamp": "2026-11-21T07:52:05Z", "eventTime": None}
    assert times_of(new) == "07:52:05.000000"


def test_the_time_of_a_state_is_the_latest_before_it() -> None:
    asked = changed("a", 1, deletionTimestamp="2026-11-21T07:53:00Z", deletionGracePeriodSeconds=30)
    (entry,) = entries_of(listed(asked))
    assert entry.received == microseconds(moment(entry.received).replace(minute=52, second=30))


def pretty(count: int) -> bytes:
    return listed(*(made(f"c-{number}", number + 1, uid=str(number)) for number in range(count)))


def lost(content: bytes) -> tuple[int, list[int]]:
    """Return the number of objects that are kept, and the lines of those that are skipped."""
    items = items_of(content)
    return len([x for x in items if not isinstance(x, Skipped)]), [x.line for x in items if isinstance(x, Skipped)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"name": "c-3",', b'"name": "c-3'),
        (b'"name": "c-3",', b'"name": c-3,'),
        (b'"name": "c-3",', b'"name": "c-3",}'),
        (b'"name": "c-3",', b'"name": {"c-3",'),
        (b'"name": "c-3",', b'"name": "c-\xff",'),
        (b'"name": "c-3",', b'"name": ["c-3"],'),
        (b'"name": "c-3",', b""),
    ],
)
@pytest.mark.parametrize("indent", [4, None])
def test_a_damaged_item_does_not_take_the_others_along(old: bytes, new: bytes, indent: int | None) -> None:
    content = pretty(9)
    begins = content[: content.index(old)].rindex(b"\n        {") + 1
    line = content[:begins].count(b"\n") + 1
    if indent is None:
        content, line, compact = json.dumps(json.loads(content)).encode(), 1, old.replace(b"\n", b"")
        assert compact in content
    assert lost(content.replace(old, new)) == (8, [line])


def test_a_damaged_item_of_yaml_does_not_take_the_others_along() -> None:
    content = as_yaml(pretty(9))
    begins = content[: content[: content.index(b"name: c-3")].rindex(b"\n- ")].count(b"\n") + 2
    for new in (b"name: [", b"name: *other", b"name: !!", b'name: "', b"name: &a", b"nam", b"name: \x01"):
        kept, (line,) = lost(content.replace(b"name: c-3", new))
        assert kept == 8, new
        assert begins <= line <= begins + content[: content.index(b"\n- ")].count(b"\n") + 14


def test_what_stands_before_a_cut_is_kept() -> None:
    content = pretty(9)
    for cut in range(0, len(content) - 3, 97):
        if cut > 60:
            kept, lines = lost(content[:cut])
            assert kept == content[:cut].count(b"\n        }")
            assert lines


def test_a_list_behind_a_damaged_list_has_its_own_kind() -> None:
    bare = [{"metadata": made(name, 1)["metadata"]} for name in "abc"]
    first = json.dumps({"kind": "ServiceList", "apiVersion": "v1", "items": bare}, indent=4).encode()
    second = first.replace(b"ServiceList", b"ConfigMapList")
    items = items_of(first[: first.index(b'"uid-of-c"')] + b"\n" + second)
    kinds = [item.ref.kind for item in items if not isinstance(item, Skipped)]
    assert kinds == ["Service"] * 2 + ["ConfigMap"] * 3


@pytest.mark.parametrize("depth", [300, 100_000])
def test_nesting_without_end_kills_nothing(depth: int) -> None:
    deep = listed(made("a", 1), {**made("b", 1), "deep": 0}, made("c", 1))
    nested = deep.replace(b'"deep": 0', b'"deep": ' + b'{"a":' * depth + b"1" + b"}" * depth)
    assert len(items_of(nested)) == 3
    flow = as_yaml(deep).replace(b"deep: 0", b"deep: " + b"[" * depth + b"]" * depth)
    items = items_of(flow)
    assert len(items) == 3
    assert len([item for item in items if isinstance(item, Skipped)]) == 1


def test_a_bomb_of_aliases_is_not_lit() -> None:
    bomb = b"  a0: &a0 [x]\n" + b"".join(
        b"  a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 30)
    )
    content = as_yaml(documents(made("a", 1), made("b", 2)))
    (reason,) = reasons_of(content.replace(b"metadata:\n", b"metadata:\n" + bomb, 1))
    assert reason == "file line 1: it has an alias, behind which any amount of text may stand; kubectl writes none"


def test_an_object_in_yaml_without_end_is_refused() -> None:
    content = as_yaml(documents(made("a", 1))) + b"---\n" + b"a: " + b"[" + b"1," * 1_000_001 + b"]\n"
    (reason,) = reasons_of(content)
    assert "it holds more than 1000000 values" in reason


def test_times_and_numbers_of_yaml_are_read_as_kubernetes_means_them() -> None:
    text = as_yaml(documents(made("a", 1, generation=7))).replace(b"'2026-11-21T07:52:00Z'", b"2026-11-21T07:52:00Z")
    text += b"data:\n  on: yes\n  octal: 0755\n  text: |\n    one\n\n    three\n"
    (entry,) = entries_of(text, bodies=True)
    assert entry.facts and entry.facts.generation == 7
    assert json.loads(entry.body)["data"] == {"on": "yes", "octal": "0755", "text": "one\n\nthree\n"}


def test_a_long_list_is_read_with_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "list"
    with path.open("wb") as file:
        file.write(b'{\n    "apiVersion": "v1",\n    "items": [')
        for number in range(5_000):
            item = made(f"c-{number}", number + 1) | {"data": {"x": "x" * 1_000}}
            file.write(b"," * bool(number) + json.dumps(item, indent=4).encode())
        file.write(b'],\n    "kind": "List"\n}\n')
    counted: list[int] = []
    peak = peak_of(lambda: counted.append(sum(1 for _ in read([(path, "list")], bodies=False))))
    assert counted == [5_000] and peak < 5 << 20


def test_an_object_longer_than_the_limit_is_skipped_and_the_rest_is_read() -> None:
    content = listed(made("a", 1), {**made("b", 2), "data": {"x": "x" * 3_000_000}}, made("c", 3))
    for text in (content, as_yaml(content)):
        items = items_of(text, limits=Limits(line_bytes=5_000))
        assert changes_of(items) == ["a observed 1", "c observed 3"]
        reasons = [item.reason for item in items if isinstance(item, Skipped)]
        assert "longer than 5000 bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit" in reasons
