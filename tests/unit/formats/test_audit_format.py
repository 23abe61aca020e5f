"""These tests read audit logs: what changed nothing is left out, and what cannot be used is said."""

import json
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import Skipped
from collectors.formats.waiting import Waiting
from tests.inputs.events import entries_of, event, items_of, pod, real, reasons_of
from tests.properties import examples
from tests.unit.formats.reading import observed
from timeline.core.entries import Change

ODD = "a field is not as Kubernetes writes it"


def as_line(made: dict[str, Any]) -> bytes:
    return json.dumps(made).encode() + b"\n"


def test_a_broken_line_is_skipped_with_its_place_and_the_rest_is_kept() -> None:
    broken = as_line(event())[:-20]
    first, skipped, last = items_of(event(), broken, event(auditID="a2"))
    assert skipped == Skipped("log", 2, "not JSON: Input data was truncated")
    assert not isinstance(first, Skipped) and not isinstance(last, Skipped)
    assert str(skipped) == "log line 2: not JSON: Input data was truncated"
    cut, second = observed(as_line(event())[50:] + as_line(event()))
    assert isinstance(cut, Skipped) and (cut.line, second.place.line) == (1, 2)


def test_neither_a_byte_order_mark_nor_the_line_ends_of_windows_matter() -> None:
    one, two = observed(b"\xef\xbb\xbf" + as_line(event()).replace(b"\n", b"\r\n") * 2)
    assert (one.place.line, two.place.line) == (1, 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"user": 5}, f"{ODD}: Expected `object`, got `int` - at `$.user`"),
        ({"verb": ["create"]}, ODD),
        ({"responseStatus": {"code": "201"}}, ODD),
        ({"responseObject": pod(annotations="x")}, ODD),
        ({"responseObject": pod(finalizers=[1])}, ODD),
        ({"responseObject": ["not an object"]}, ODD),
        ({"requestReceivedTimestamp": "yesterday"}, ODD),
        ({"requestReceivedTimestamp": "2026-11-21T07:52:00.100001"}, ODD),
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


def test_json_that_is_no_event_is_skipped() -> None:
    assert len(reasons_of(b"5", b"null", b'"text"', b"[]", b"{}")) == 5
    assert entries_of(event(apiVersion=None, kind=None))  # an event without its own version is still read


def test_bytes_that_are_not_utf8_are_skipped_with_a_reason() -> None:
    line = as_line(event()).replace(b"somebody", b"some\xff\xfebody")
    assert reasons_of(line) == [
        "log line 1: it is not UTF-8: 'utf-8' codec can't decode byte 0xff in position 4: invalid start byte"
    ]
    hidden = as_line(event(responseObject={**pod(), "extra": "hidden"})).replace(b"hidden", b"hid\xffden")
    assert len(reasons_of(hidden, bodies=True)) == 1


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


def test_a_name_with_a_nul_character_is_skipped() -> None:
    (reason,) = reasons_of(event(responseObject=pod(uid="u\0")))
    assert reason == "log line 1: a NUL character stands in the object's name"


def test_a_body_of_a_json_patch_does_not_disturb() -> None:
    patch = [{"op": "replace", "path": "/metadata/labels/a", "value": "b"}]
    (entry,) = entries_of(event(verb="patch", requestObject=patch, responseStatus={"code": 200}))
    assert entry.change is Change.MODIFIED
    (bare,) = entries_of(event(verb="patch", requestObject=patch, responseObject=None, responseStatus={"code": 200}))
    assert bare.facts is None


def test_real_lines_are_read_without_loss() -> None:
    assert reasons_of(*real("restart.jsonl"), *real("deletion.jsonl"), bodies=True) == []


@examples(25)
@given(late=st.lists(st.integers(0, 30), max_size=60))
def test_what_waits_for_the_end_of_a_log_comes_in_the_order_of_its_lines(late: list[int]) -> None:
    items = [(number + by, number) for number, by in enumerate(late)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("collectors.formats.waiting._TOGETHER", 7)
        waiting: Waiting[tuple[int, int]] = Waiting(itemgetter(0))
        for item in items:
            waiting.add(item)
        assert [*waiting] == sorted(items, key=itemgetter(0))
