"""These tests export recordings and read them again: nothing is lost, and a newer version of the format is refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.formats import NotARecording, Skipped, own, read
from tests import DATA
from tests.inputs.events import entries_of, real
from tests.properties import examples
from tests.unit.formats.reading import observed, sniffed
from timeline.core.entries import (
    FOREVER,
    Change,
    Client,
    Clock,
    Entry,
    Facts,
    Level,
    Mark,
    MarkType,
    ObjectRef,
    Observation,
    Owner,
    Place,
    Request,
)
from timeline.core.times import LATEST
from timeline.history.codec import line_of, observation_of
from timeline.kinds import kind_of, registry

HEADER = b'{"schema":"causeline.recording/v4"}\n'
LINES = [*real("restart.jsonl"), *real("deletion.jsonl")]


def items_of(content: bytes | Sequence[Observation], bodies: bool = True) -> list[Observation | Skipped]:
    """Return what is read of a file named `export`, or of one with these observations."""
    return observed(content if isinstance(content, bytes) else b"".join(own.write(content)), bodies, name="export")


def reasons_of(*lines: dict[str, Any] | bytes) -> list[str]:
    made = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return [str(item) for item in items_of(HEADER + b"\n".join(made)) if isinstance(item, Skipped)]


def written(**changes: Any) -> dict[str, Any]:
    """Return one line of the format."""
    ref = {"group": "", "version": "v1", "kind": "Pod", "namespace": "n", "name": "p", "uid": "u"}
    return {"ref": ref, "change": "created", "clock": "audit", "received": 1, "staged": 2, **changes}


@pytest.mark.parametrize("path", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.name)
@pytest.mark.parametrize("bodies", [True, False])
def test_a_recording_comes_back_as_it_was(path: Path, bodies: bool) -> None:
    entries = [item for item in read([(path, path.name)], bodies=bodies) if isinstance(item, Entry)]
    if not bodies:  # what is wanted of an object is read from its redacted body alone
        entries = [replace(each, intent=None) for each in entries]
    assert entries and items_of(entries) == entries


def test_the_first_line_says_what_it_is_and_each_other_is_an_entry() -> None:
    header, *lines = own.write(entries_of(*LINES))
    assert header == HEADER
    assert len(lines) == len(LINES) and all(line.endswith(b"}\n") and line.count(b"\n") == 1 for line in lines)
    assert sniffed(header) == ["Causeline recording"]


def test_a_line_can_be_read_by_people_and_scripts() -> None:
    _, line = own.write([replace(entries_of(LINES[7])[0], place=Place("audit.log", 7))])
    event = json.loads(LINES[7])
    names = {"namespace": "vol-restart", "name": "ring-weak-0", "uid": "8cfe5020-bf0b-4002-b11e-fc9a5b09b3ee"}
    assert json.loads(line) == {
        "ref": {"group": "", "version": "v1", "kind": "Pod", **names},
        "change": "modified",
        "clock": "audit",
        "received": 1795247520872364,
        "staged": 1795247520880242,
        "level": "RequestResponse",
        "action": "binding",
        "actor": "system:kube-scheduler",
        "userAgent": event["userAgent"],
        "identity": event["auditID"],
        "place": {"file": "audit.log", "line": 7},
        "sets": {"node": "node-004"},
        "client": {"address": "127.0.0.1"},
    }


THING = ObjectRef("g", "v1", "Thing", "n", "name", "uid")
COMMON: dict[str, Any] = {
    "received": 5,
    "staged": 7,
    "action": "status",
    "actor": "somebody",
    "user_agent": "agent",
    "identity": "id",
    "place": Place("file", 9),
    "client": Client("192.0.2.7", "pod", "pod-uid", "node"),
    "named": 2**90,
    "misdated": 8,
    "annotations": (("a", "b"),),
}
FULL = Entry(
    ref=THING,
    change=Change.OBSERVED,
    resource_version=2**128,
    clock=Clock.OBJECT,
    facts=Facts(created=3, finalizers=("f",)),
    sets=(("generation", 4), ("finalizers", ("a", "b"))),
    owner=Owner("g", "v1", "Owner", "o", "u"),
    replaces=2**70,
    level=Level.REQUEST,
    body=b'{"kind":"Thing"}',
    arrived=8,
    blind=("finalizers",),
    **COMMON,
)
ASKED: dict[str, Any] = {
    "since": "12",
    "match": "Exact",
    "initial": True,
    "applied": True,
    "selector": "app=a",
    "message": "m",
}
REQUEST = Request(THING, "update", 409, reason="Conflict", answered=2**91, **ASKED, **COMMON)
SINCE: dict[str, Any] = {"since": 3, "since_revision": 2**70, "reason": "away", "other": "Pod", "namespace": "n"}
MARK = Mark("g", "v1", "Thing", MarkType.GAP, 9, 2**128, **SINCE)


@pytest.mark.parametrize("whole", [FULL, MARK, REQUEST], ids=["an entry", "a mark", "a request"])
def test_no_field_is_left_behind(whole: Entry | Mark | Request) -> None:
    """Each has a distinct value for every field, so a new field must be written, too. The intent is read from the
    object, and is written only where the object is not kept."""
    for field in msgspec.structs.fields(whole):
        assert (getattr(whole, field.name) != field.default) is (field.name != "intent"), field.name
    together: list[Observation] = [whole, replace(REQUEST, verb="watch", staged=FOREVER), MARK]
    assert items_of(together) == together


def test_an_intent_is_kept_in_snapshots_and_not_taken_from_files() -> None:
    without_body = replace(FULL, body=b"", intent=(("image web", "shop:1"),))
    assert observation_of(line_of(without_body), {}) == without_body
    assert items_of([without_body]) == [replace(without_body, intent=None)]


def test_a_request_is_read_by_people_and_scripts_too() -> None:
    _, line = own.write([REQUEST])
    request = json.loads(line)["request"]
    names = {"namespace": "n", "name": "name", "uid": "uid"}
    assert request["ref"] == {"group": "g", "version": "v1", "kind": "Thing", **names}
    assert request["client"] == {"address": "192.0.2.7", "pod": "pod", "podUid": "pod-uid", "node": "node"}
    assert (request["named"], request["answered"], request["userAgent"]) == (str(2**90), str(2**91), "agent")
    same = "verb code received staged reason action since match initial selector actor identity applied misdated"
    assert {name: request[name] for name in same.split()} == {name: getattr(REQUEST, name) for name in same.split()}


def test_recordings_of_the_first_version_are_read() -> None:
    """They have no requests and no clients."""
    old = replace(FULL, client=None, named=None)
    assert items_of(b'{"schema":"causeline.recording/v1"}\n' + b"".join(own.write([old]))) == [old]


def test_a_request_with_a_nul_character_is_skipped() -> None:
    _, line = own.write([replace(REQUEST, ref=replace(REQUEST.ref, name="p\0"))])
    assert reasons_of(line) == ["export line 2: a NUL character stands in the object's name"]


def test_facts_of_every_kind_come_back() -> None:
    entries = [
        replace(FULL, ref=ObjectRef(group, "v1", name, "n", "x", "u"), facts=kind.facts_type(created=1), sets=())
        for (group, name), kind in registry().items()
    ]
    assert items_of(entries) == entries


def test_empty_facts_are_not_taken_for_none() -> None:
    entries = [replace(FULL, facts=Facts()), replace(FULL, facts=None)]
    assert items_of(entries) == entries


MOMENT = st.integers(0, LATEST)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@examples(10)
@given(
    ref=st.builds(ObjectRef, TEXT, TEXT, st.sampled_from(["Thing", "ConfigMap"]), TEXT, TEXT.filter(bool), TEXT),
    times=st.tuples(MOMENT, MOMENT | st.just(FOREVER)).map(sorted),
    revision=st.none() | st.integers(1, 2**128),
    texts=st.fixed_dictionaries(dict.fromkeys(("action", "actor", "user_agent", "identity"), TEXT)),
    body=st.dictionaries(st.sampled_from(["spec", "status", "x"]), st.integers(-(2**53), 2**53), min_size=1),
    place=st.none() | st.builds(Place, TEXT, st.integers(1, 2**40)),
)
def test_any_entry_comes_back(
    ref: ObjectRef, times: list[int], revision: int | None, texts: Any, body: dict[str, int], place: Place | None
) -> None:
    raw = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    how = {"resource_version": revision, "replaces": revision, "received": times[0], "staged": times[1], **texts}
    facts = kind_of(ref.group, ref.kind).facts_type(5)
    entry = replace(FULL, ref=ref, facts=facts, sets=(), body=raw, place=place, **how)
    assert items_of([entry]) == [entry if place else replace(entry, place=Place("export", 2))]


def test_exports_may_be_joined() -> None:
    export = b"".join(own.write([FULL]))
    assert items_of(export + export) == [FULL, FULL]


def test_a_newer_version_is_refused() -> None:
    newer = HEADER.replace(b"/v4", b"/v5")
    for content in (newer, newer + json.dumps(written()).encode(), HEADER + newer):
        with pytest.raises(NotARecording) as refused:
            items_of(content)
        assert str(refused.value) == (
            "export was written by a newer Causeline: it is version 5 of its own format, and this Causeline reads"
            " version 4. Update Causeline to read it."
        )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"ref":', "not JSON: Input data was truncated"),
        (b"[]", "a field is not as Causeline writes it: Expected `object`, got `array`"),
        (written(received=-1), "a field is not as Causeline writes it: Expected `int` >= 0 - at `$.received`"),
        (written(received=2**63), "a field is not as Causeline writes it: Expected `int` <"),
        (written(change="lost"), "a field is not as Causeline writes it: Invalid enum value"),
        (written(facts={"created": "x"}), "a field is not as Causeline writes it: Expected `int`, got `str`"),
        (written(sets={"unknown": 1}), "PodFacts has no field of one of the names in sets"),
        (written(ref={**written()["ref"], "name": "p\0"}), "a NUL character stands in the object's name"),
        (written(ref={"kind": "Pod"}), "a field is not as Causeline writes it: Object missing required field"),
    ],
)
def test_a_line_that_is_not_as_it_should_be_is_skipped_with_a_reason(line: dict[str, Any] | bytes, reason: str) -> None:
    (first, _, *_) = reasons_of(line, b"5")
    assert first.startswith(f"export line 2: {reason}"), first


def test_what_a_later_version_adds_to_a_line_is_passed_over() -> None:
    (entry,) = items_of(HEADER + json.dumps(written(weather="fine", facts={"weather": 1})).encode())
    assert isinstance(entry, Entry) and entry.facts is not None
