"""These tests read recordings of kwok: changes as patches, with times from an unknown start."""

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.analysis import analyse
from collectors.formats import Limits, Skipped
from collectors.formats.strategic_merge import merged
from tests import DATA
from tests.inputs.objects import items_of, reasons_of
from tests.inputs.recordings import world_of
from tests.patience import processor_seconds
from tests.unit.formats.reading import sniffed
from timeline.core.entries import Change, Entry, moment

SAMPLE = (DATA / "kwok" / "recording.yaml").read_bytes()
NOTICE = (
    "file: is a recording of kwok, which does not say when it was made; it is shown as if it had begun at"
    " 2000-01-01T00:00:00Z"
)


def entries() -> list[Entry]:
    notice, *items = items_of(SAMPLE, bodies=True)
    assert str(notice) == NOTICE
    assert not [each for each in items if isinstance(each, Skipped)], items
    return [each for each in items if isinstance(each, Entry)]


def test_it_is_of_one_format_alone() -> None:
    patches = SAMPLE[SAMPLE.index(b"apiVersion: action") :]
    for content in (SAMPLE, patches, SAMPLE[: SAMPLE.index(b"---")]):
        assert sniffed(content) == ["recording of kwok"]


def test_each_patch_is_a_change_of_its_object() -> None:
    assert [(each.ref.kind, each.change) for each in entries()] == [
        ("Node", Change.OBSERVED),
        ("Deployment", Change.OBSERVED),
        ("Pod", Change.CREATED),
        ("Pod", Change.MODIFIED),
        ("Pod", Change.MODIFIED),
        ("Deployment", Change.MODIFIED),
        ("Pod", Change.DELETED),
    ]
    assert {each.resource_version for each in entries()} == {None}
    running = json.loads(entries()[4].body)
    assert running["status"]["phase"] == "Running" and running["spec"]["nodeName"] == "node-0"
    assert [each["type"] for each in running["status"]["conditions"]] == ["Ready", "PodScheduled"]
    assert running["metadata"]["finalizers"] == []


def test_times_are_distances_from_the_start() -> None:
    *_, created, bound, running, _, deleted = entries()
    assert moment(created.received).isoformat() == "2000-01-01T00:00:04.700000+00:00"
    assert moment(created.arrived).isoformat() == "2000-01-01T00:00:05.123456+00:00"
    assert (bound.user_agent, running.user_agent) == ("", "kwok")  # a binding leaves no writer and no time
    assert created.received < bound.received < running.received < deleted.received


def test_the_changes_of_an_object_stay_in_their_order() -> None:
    (track,) = (each for each in world_of(entries()).tracks() if each.ref.kind == "Pod")
    modified = [Change.MODIFIED] * 2
    assert [each.change for each in track.moments] == [Change.CREATED, *modified, Change.DELETED]
    assert moment(track.moments[-1].time).isoformat() == "2000-01-01T00:01:05+00:00"  # when its deletion arrived
    assert track.moments[-1].committed == (entries()[-1].received, entries()[-1].arrived)


def test_a_recording_of_kwok_is_analysed_with_its_notice(tmp_path: Path) -> None:
    path = tmp_path / "recording.yaml"
    path.write_bytes(SAMPLE)
    analysis = analyse([(path, "recording.yaml")], Limits())
    assert analysis.entries == 7 and [each.reason for each in analysis.skipped] == [NOTICE.removeprefix("file: ")]


@pytest.mark.parametrize(
    "old, new, reason",
    [
        (b"method: delete", b"method: replace", "its method is none of create, patch, delete"),
        (b"method: create", b"method: patch", "the recording does not show the object before this change"),
        (b"Nanosecond: 5123456789", b"Nanosecond: 1" + b"0" * 18, "it does not say when the change arrived"),
        (b"$(time-offset-nanosecond -60300000000)", b"soon", "a field is not as Kubernetes writes it"),
    ],
)
def test_a_patch_that_cannot_be_used_is_reported(old: bytes, new: bytes, reason: str) -> None:
    reasons = reasons_of(SAMPLE.replace(old, new))
    assert reason in reasons[1]


@pytest.mark.parametrize(
    ("original", "patch", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": None, "c": 3}, {"b": 2, "c": 3}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 5}}, {"a": {"b": 5, "c": 2}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "delete"}}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"$retainKeys": ["c"], "c": 3}}, {"a": {"c": 3}}),
        ({"l": [1, 2]}, {"l": [3]}, {"l": [3]}),
        ({"l": ["a", "b"]}, {"$setElementOrder/l": ["c", "a"], "$deleteFromPrimitiveList/l": ["b"], "l": ["c"]},
         {"l": ["c", "a"]}),
        ({"l": [{"n": "a", "v": 1}, {"n": "b", "v": 2}]},
         {"$setElementOrder/l": [{"n": "b"}], "l": [{"$patch": "delete", "n": "a"}, {"n": "b", "v": 3}]},
         {"l": [{"n": "b", "v": 3}]}),
        ({"l": [{"n": "a"}]}, {"$setElementOrder/l": [], "l": [{"$patch": "delete", "n": "a"}]}, {"l": []}),
        ({"l": [{"n": "a"}, {"n": "b"}]}, {"$setElementOrder/l": [{"n": "b"}, {"n": "a"}]},
         {"l": [{"n": "b"}, {"n": "a"}]}),
    ],
)  # fmt: skip
def test_a_strategic_merge_patch_is_applied(
    original: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]
) -> None:
    before = json.dumps(original)
    assert merged(original, patch) == expected
    assert json.dumps(original) == before


def test_long_lists_are_merged_quickly() -> None:
    many = [f"{number}" for number in range(30_000)]

    def merge() -> None:
        assert merged({"l": many}, {"$deleteFromPrimitiveList/l": many[1:]}) == {"l": ["0"]}
        assert len(merged({"l": many}, {"$setElementOrder/l": [], "l": [*many, "new"]})["l"]) == 30_001
        assert len(merged(dict.fromkeys(many, 1), {"$retainKeys": many})) == 30_000

    assert processor_seconds(merge) < 0.5


def test_objects_that_are_too_large_are_reported() -> None:
    large = SAMPLE.replace(b"image: busybox", b"image: " + b"x" * 3_200_000)
    assert any("more than 3145728 bytes, which no API server takes" in each for each in reasons_of(large))
    few = items_of(SAMPLE, limits=Limits(content_bytes=1_000))
    assert "the objects are larger than CAUSELINE_" in str(few[-1])
