"""These tests check which files are recognised as audit logs, and what happens to invalid lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.formats import Skipped, read
from tests.events import entries_of, event, items_of, pod, real, reasons_of
from tests.objects import refusal
from timeline.core.entries import Change

KUBECONFIG = b"""apiVersion: v1
kind: Config
clusters: []
users:
- name: admin
  user: {token: very-secret-token}
"""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "it is a PNG picture"),
        (b"\xff\xd8\xff\xe0", "it is a JPEG picture"),
        (b"%PDF-1.7\n", "it is a PDF document"),
        (b"\n <!DOCTYPE html><html>", "it is a web page or XML"),
        (b'<?xml version="1.0"?>', "it is a web page or XML"),
        (KUBECONFIG, "it is a kubeconfig, which holds credentials; it was not kept"),
        (b'{"apiVersion": "v1", "kind": "Config", "users": []}', "it is a kubeconfig"),
        (b"# comment\napiVersion: v1\nkind: Pod\n", "it is YAML"),
        (b"apiVersion: v1\nkind: ConfigMap\n", "it is YAML"),
        (b"the quick brown fox\n", "these lines have no time"),
        (b'{"name":"package","version":"1.0.0"}', "it is JSON, but neither audit events nor Kubernetes objects"),
        ('{"auditID":1}'.encode("utf-16"), "it is UTF-16 text"),
        (b"\x01\x02\x00\x03", "it is not text"),
        (b"\n\n\n", "it begins with nothing but blank lines"),
    ],
)
def test_what_is_no_recording_is_named(content: bytes, words: str) -> None:
    message = refusal(content, "chosen.bin")
    assert message.startswith("chosen.bin is not a recording that Causeline knows: ")
    assert words in message
    assert "Causeline reads Kubernetes audit logs" in message


def test_a_refusal_repeats_nothing_of_the_content() -> None:
    assert "very-secret" not in refusal(KUBECONFIG, "chosen.bin")
    assert "very-secret" not in refusal(b"very-secret-token\n", "chosen.bin")


def read_file(tmp_path: Path, content: bytes) -> list[Any]:
    path = tmp_path / "7"
    path.write_bytes(content)
    return list(read([(path, "audit.log")], bodies=False))


def as_line(made: dict[str, Any]) -> bytes:
    return json.dumps(made).encode() + b"\n"


def test_a_broken_first_line_does_not_hide_the_log(tmp_path: Path) -> None:
    first, second = read_file(tmp_path, as_line(event())[50:] + as_line(event()))
    assert isinstance(first, Skipped) and first.line == 1
    assert second.place.line == 2


def test_a_byte_order_mark_does_not_break_the_first_line(tmp_path: Path) -> None:
    (entry,) = read_file(tmp_path, b"\xef\xbb\xbf" + as_line(event()))
    assert entry.place.line == 1


def test_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    assert len(read_file(tmp_path, as_line(event()).replace(b"\n", b"\r\n") * 3)) == 3


def test_a_broken_line_is_skipped_with_its_place_and_the_rest_is_kept() -> None:
    broken = as_line(event())[:-20]
    first, skipped, last = items_of(event(), broken, event(auditID="a2"))
    assert skipped == Skipped("log", 2, "not JSON: Input data was truncated")
    assert not isinstance(first, Skipped) and not isinstance(last, Skipped)
    assert str(skipped) == "log line 2: not JSON: Input data was truncated"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"user": 5}, "a field is not as Kubernetes writes it: Expected `object`, got `int` - at `$.user`"),
        ({"verb": ["create"]}, "a field is not as Kubernetes writes it"),
        ({"responseStatus": {"code": "201"}}, "a field is not as Kubernetes writes it"),
        ({"responseObject": pod(annotations="x")}, "a field is not as Kubernetes writes it"),
        ({"responseObject": pod(finalizers=[1])}, "a field is not as Kubernetes writes it"),
        ({"responseObject": ["not an object"]}, "a field is not as Kubernetes writes it"),
        ({"requestReceivedTimestamp": "yesterday"}, "a field is not as Kubernetes writes it"),
        ({"requestReceivedTimestamp": "2026-11-21T07:52:00.100001"}, "a field is not as Kubernetes writes it"),
        ({"requestReceivedTimestamp": None}, "the event has no requestReceivedTimestamp or no stageTimestamp"),
        ({"stageTimestamp": None}, "the event has no requestReceivedTimestamp or no stageTimestamp"),
        ({"auditID": None}, "it is not an audit event: it has no auditID"),
    ],
)
def test_an_event_that_is_not_as_it_should_be_is_skipped_with_a_reason(change: dict[str, Any], reason: str) -> None:
    (skipped,) = reasons_of(event(**change))
    assert skipped.startswith(f"log line 1: {reason}")


def test_a_container_that_started_at_no_zone_is_skipped_not_fatal() -> None:
    started = pod()
    started["status"]["containerStatuses"] = [{"state": {"running": {"startedAt": "2026-11-21T07:52:00"}}}]
    assert "it is no time such as 2026-11-21T07:52:00Z" in reasons_of(event(responseObject=started))[0]


def test_json_that_is_no_object_is_skipped() -> None:
    assert len(reasons_of(b"5", b"null", b'"text"', b"[]", b"{}")) == 5


def test_an_event_without_its_own_version_is_still_read() -> None:
    assert entries_of(event(apiVersion=None, kind=None))


def test_bytes_that_are_not_utf8_are_skipped_with_a_reason() -> None:
    line = as_line(event()).replace(b"somebody", b"some\xff\xfebody")
    assert reasons_of(line) == [
        "log line 1: it is not UTF-8: 'utf-8' codec can't decode byte 0xff in position 4: invalid start byte"
    ]
    hidden = as_line(event(responseObject={**pod(), "extra": "hidden"})).replace(b"hidden", b"hid\xffden")
    assert len(reasons_of(hidden, bodies=True)) == 1


@pytest.mark.parametrize("depth", [300, 1_000, 100_000])
@pytest.mark.parametrize("bodies", [True, False])
def test_nesting_without_end_kills_nothing(depth: int, bodies: bool) -> None:
    line = as_line(event(responseObject={**pod(), "hidden": "deep"})).replace(
        b'"deep"', b'{"a":' * depth + b"1" + b"}" * depth
    )
    items = items_of(line, event(), bodies=bodies)
    assert not isinstance(items[-1], Skipped)
    if bodies:
        assert len(items) == 2 and isinstance(items[0], Skipped)


def test_what_changed_nothing_is_left_out_silently() -> None:
    left_out: tuple[dict[str, Any], ...] = (
        {"stage": "RequestReceived"},
        {"stage": "ResponseStarted", "verb": "watch"},
        {"stage": "Panic"},
        {"verb": "get"},
        {"verb": "deletecollection"},
        {"responseStatus": {"code": 404}},
        {"responseStatus": {"code": 409}},
        {"responseStatus": {"code": 500}},
        {"responseStatus": None},
        {"responseStatus": {}},
        {"objectRef": None},
        {"requestURI": "/api/v1/namespaces/n/pods?dryRun=All"},
        {"requestURI": "/api/v1/namespaces/n/pods?fieldManager=x&dryRun=All"},
    )
    for ignored in left_out:
        assert items_of(event(**ignored)) == [], ignored


def test_level_metadata_tells_the_change_without_a_revision() -> None:
    (entry,) = entries_of(event(level="Metadata", responseObject=None))
    assert (entry.change, entry.resource_version, entry.facts) == (Change.CREATED, None, None)
    assert entry.ref.name == "p"


def test_a_revision_beyond_64_bits_is_exact() -> None:
    (entry,) = entries_of(event(responseObject=pod(resourceVersion="340282366920938463463374607431768211455")))
    assert entry.resource_version == 2**128 - 1


@pytest.mark.parametrize("text", ["", "0", "007", "-5", "12a", "1e5", " 12", "١٢", "9" * 5_000, None])
def test_a_revision_that_cannot_be_compared_is_none(text: str | None) -> None:
    (entry,) = entries_of(event(responseObject=pod(resourceVersion=text)))
    assert entry.resource_version is None


def test_a_revision_of_128_bits_is_compared() -> None:
    (entry,) = entries_of(event(responseObject=pod(resourceVersion=str(2**128 - 1))))
    assert entry.resource_version == 2**128 - 1


def test_a_name_with_a_nul_character_is_skipped() -> None:
    (reason,) = reasons_of(event(responseObject=pod(uid="u\0")))
    assert reason == "log line 1: a NUL character stands in the object's name"


def test_a_body_of_a_json_patch_does_not_disturb() -> None:
    patch = [{"op": "replace", "path": "/metadata/labels/a", "value": "b"}]
    (entry,) = entries_of(event(verb="patch", requestObject=patch, responseStatus={"code": 200}))
    assert entry.change is Change.MODIFIED
    (bare,) = entries_of(event(verb="patch", requestObject=patch, responseObject=None, responseStatus={"code": 200}))
    assert bare.facts is None


def test_a_line_that_stands_twice_gives_the_same_entry_twice() -> None:
    """The world recognises both as one change by their revision and auditID."""
    first, second = entries_of(event(), event())
    assert (first.identity, first.resource_version) == (second.identity, second.resource_version)


def test_real_lines_are_read_without_loss() -> None:
    assert reasons_of(*real("restart.jsonl"), *real("deletion.jsonl"), bodies=True) == []
