"""These tests read watches of objects: what existed before, what was created, changed and deleted, and invalid
lines."""

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from collectors.formats import Skipped
from collectors.formats.watch import FORMAT
from tests.inputs.objects import OBJECTS, changed, changes_of, entries_of, items_of, made, real, reasons_of, watch
from tests.inputs.recordings import SAMPLE, world_of
from tests.inputs.recordings import entries_of as recorded
from timeline.core.entries import FOREVER, Change, Clock, Entry, Level
from timeline.history.world.world import World

KINDS = ("endpointslices", "events", "leases", "podgroups", "pods", "services", "vcjobs")


SERVICES = entries_of(real("watch/services.jsonl"))


@cache
def watched() -> list[Entry]:
    return recorded(OBJECTS / "watch")


@cache
def logged() -> list[Entry]:
    return recorded(SAMPLE)


def lives(world: World, change: Change) -> dict[str, int | None]:
    """Return the revision of the creation or deletion of each UID."""
    ends = ((track.ref.uid, track.created if change is Change.CREATED else track.ended) for track in world.tracks())
    return {uid: end.stamp.resource_version for uid, end in ends if end}


@pytest.mark.parametrize("change", [Change.CREATED, Change.DELETED])
def test_a_watch_tells_the_same_lives_as_the_audit_log_of_the_same_cluster(change: Change) -> None:
    by_watch, by_log = lives(world_of(watched()), change), lives(world_of(logged()), change)
    both = {uid for uid in by_watch.keys() & by_log.keys() if by_log[uid] is not None}
    assert len(both) > 10
    assert {uid: by_watch[uid] for uid in both} == {uid: by_log[uid] for uid in both}


def test_a_change_that_both_tell_is_one_moment() -> None:
    log, both = world_of(logged()), world_of(logged(), watched())
    tracks = {track.ref.uid: track for track in both.tracks()}
    for track in log.tracks():
        if track.ref.kind == "Service" and track.created:
            created = tracks[track.ref.uid].created
            assert created and created.clock is Clock.AUDIT
            assert created.stamp == track.created.stamp


def test_a_service_is_created_and_deleted_under_the_eyes_of_the_watch() -> None:
    assert changes_of(SERVICES) == [
        "kubernetes observed 205",
        "ring observed 389",  # it may be part of the list, because it continues the order of names
        *("calm0 created 398", "calm1 created 402", "calm2 created 411"),
        *("calm0 deleted 538", "calm2 deleted 547", "calm1 deleted 558"),
        *("ring deleted 582", "ring created 592", "ring deleted 621", "ring created 631", "ring deleted 662"),
    ]
    # In other layouts it shows the same.
    events = [json.loads(line) for line in real("watch/services.jsonl").splitlines()]
    for layout in ({"indent": 2}, {"sort_keys": True}):  # object comes before type, as in a raw watch
        content = "\n".join(json.dumps(event, **layout) for event in events).encode()
        assert changes_of(entries_of(content)) == changes_of(SERVICES)


def test_an_entry_tells_where_it_stands_and_when_it_may_have_been() -> None:
    entry = SERVICES[9]
    assert (entry.place and entry.place.file, entry.place and entry.place.line) == ("file", 10)
    assert (entry.clock, entry.level, entry.staged, entry.identity) == (Clock.OBJECT, Level.FULL, FOREVER, "")
    assert entry.received == 1_795_247_520_000_000
    assert entry.user_agent == "vc-cm-head"
    assert entry.owner and (entry.owner.kind, entry.owner.name) == ("Job", "ring")
    assert (entry.ref.group, entry.ref.version, entry.ref.kind) == ("", "v1", "Service")


def created(*events: tuple[str, dict[str, object]]) -> list[str]:
    """Return the names whose creation the watch shows."""
    entries = entries_of(watch(*events))
    return sorted(entry.ref.name for entry in entries if entry.change is Change.CREATED)


def shown(text: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the events that the text means: + adds an object, ~ changes it, = shows it again after a change, and
    * or ! is a bookmark, the latter the one that ends the initial events."""
    for sign, name, number in re.findall(r"(\S)(\w*):(\d+)", text):
        revision = int(number)
        if sign in "*!":
            ends = {"annotations": {"k8s.io/initial-events-end": "true"}} if sign == "!" else {}
            metadata = {"resourceVersion": number, "creationTimestamp": None, **ends}
            yield "BOOKMARK", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        else:
            seen = made(name, revision) if sign == "+" else changed(name, revision, revision // 10)
            yield "MODIFIED" if sign == "~" else "ADDED", seen


@pytest.mark.parametrize(
    ("seen", "names"),
    [
        ("+a:10 ~a:20 +b:30 +c:40", ["b", "c"]),  # what follows a change is created
        # A list that is not in the order of names shows by its revisions.
        ("+c:10 +a:20 +b:5 +d:30", []),
        ("+c:10 +a:20 +b:5 +a2:30", ["a2"]),
        ("+b:10 =a:20", []),  # an older server sends the list in no order, and without a mark at its end
        # In `while true; do kubectl get -w …; done >> file`, changes between two watches are not observed.
        ("+b:10 ~b:20 +a:50 =b:20 +c:40", []),
        ("+b:10 ~b:20 +a:50 =b:20 +c:40 ~b:60 +d:70", ["d"]),
        # A bookmark ends the replay, and what is added below one stood before.
        ("+a:10 *:15 +b:20", ["b"]),
        ("+b:10 +a:12 !:15 +c:20", ["c"]),
        ("+a:10 *:50 +b:20", []),
    ],
)
def test_what_is_added_after_the_list_of_the_beginning_is_created(seen: str, names: list[str]) -> None:
    assert created(*shown(seen)) == names


def test_names_are_in_the_order_of_etcd() -> None:
    """In etcd a-b/x comes before a/x, as "-" comes before "/"."""
    first, second = made("x", 10, namespace="a-b", uid="1"), made("x", 20, namespace="a", uid="2")
    assert created(("ADDED", first), ("ADDED", second)) == []
    assert created(("ADDED", second), ("ADDED", first | made("x", 30, namespace="a-b"))) == ["x"]


@pytest.mark.parametrize("sign", [{"generation": 2}, {"deletionTimestamp": "2026-11-21T07:52:09Z"}])
def test_what_was_changed_after_its_creation_was_not_just_created(sign: dict[str, Any]) -> None:
    assert created(("ADDED", made("b", 10)), ("ADDED", made("a", 20, **sign))) == []


def test_an_error_ends_the_watch_and_is_listed_with_what_it_means() -> None:
    gone = {"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "message": "too old: 5 (90)"}
    items = items_of(watch(*shown("+b:10 ~b:20"), ("ERROR", gone), *shown("+c:90")))
    assert changes_of(items) == ["b observed 10", "b modified 20", "c observed 90"]
    (skipped,) = (item for item in items if isinstance(item, Skipped))
    assert skipped.line == 3
    assert "the watch ended here" in skipped.reason
    assert skipped.reason.endswith("Expired, code 410")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_no_creation_is_reported_falsely_however_the_lines_were_shuffled_cut_or_doubled(kind: str, seed: int) -> None:
    revisions = {entry.ref.uid: entry.resource_version for entry in logged() if entry.change is Change.CREATED}
    chance = random.Random(seed)
    lines = real(f"watch/{kind}.jsonl").splitlines(keepends=True)
    cut = chance.randrange(len(lines))
    shuffled = chance.sample(lines, len(lines))
    for damaged in (shuffled, lines[cut:], lines[:cut] + lines, lines + lines, shuffled[cut:] + lines):
        for entry in entries_of(b"".join(damaged)):
            if entry.change is Change.CREATED and entry.ref.uid in revisions:
                assert entry.resource_version == revisions[entry.ref.uid]


def test_a_binding_names_nobody_as_its_writer() -> None:
    """A binding changes no managedFields, so those of the Pod are from its creation."""
    pods = entries_of(real("watch/pods.jsonl"))
    bound = next(entry for entry in pods if entry.resource_version == 331)
    assert bound.change is Change.MODIFIED
    assert bound.user_agent == ""
    assert {entry.user_agent for entry in pods} == {"", "kube-controller-manager", "kubelet", "vc-cm-head"}


def test_neither_two_who_wrote_in_one_second_nor_who_wrote_before_a_deletion_is_named() -> None:
    both = [{"manager": name, "time": "2026-11-21T07:52:07Z"} for name in ("one", "other")]
    for how, seen in (("ADDED", made("a", 10, managedFields=both)), ("DELETED", made("a", 10))):
        assert [entry.user_agent for entry in entries_of(watch((how, seen)))] == [""]


def test_a_broken_line_does_not_hide_the_others() -> None:
    lines = real("watch/services.jsonl").splitlines(keepends=True)
    lines[0] = lines[0][:200] + b"\n"
    lines[4] = b'{"type":"ADDED","object":{"metadata":}}\n'
    items = items_of(b"".join(lines))
    assert [item.line for item in items if isinstance(item, Skipped)] == [1, 5]
    assert len(items) == 13


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"type": "RENAMED", "object": made("a", 1)}, "it is no event of a watch: its type is none of ADDED"),
        ({"type": "ADDED", "object": {"kind": "Pod"}}, "it is no Kubernetes object: it has no apiVersion or no kind"),
        ({"type": "ADDED", "object": made("", 1)}, "the object has no name"),
        ({"type": "ADDED", "object": made("a\0b", 1)}, "a NUL character stands in the object's name"),
        ({"type": "ADDED", "object": made("a", 1, creationTimestamp=None, managedFields=None)}, "no creationTimestamp"),
        ({"type": "ADDED", "object": made("a", 1, creationTimestamp="soon")}, "it is no time such as"),
        ({"type": "ADDED", "object": made("a", 1, finalizers="x")}, "a field is not as Kubernetes writes it"),
        ({"type": "ADDED", "object": {"apiVersion": "meta.k8s.io/v1", "kind": "Table"}}, "it is a Table"),
        ({"type": "ADDED", "object": {**made("a", 1), "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}},
         "it is metadata alone"),
        ({"type": "ADDED", "object": None}, "it is no Kubernetes object"),
        ({"type": "ADDED", "object": [1]}, "a field is not as Kubernetes writes it"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_skipped_with_a_reason(event: dict[str, object], reason: str) -> None:
    (skipped,) = reasons_of(watch(("ADDED", made("z", 1))) + json.dumps(event).encode())
    assert skipped.startswith("file line 2: ")
    assert reason in skipped


@pytest.mark.parametrize("revision", [None, "", "0", "007", "12a", "x", 2**128 - 1])
def test_an_object_without_a_revision_that_can_be_compared_is_kept(revision: str | int | None) -> None:
    (entry,) = entries_of(watch(("MODIFIED", made("a", revision))))
    assert (entry.change, entry.resource_version) == (Change.MODIFIED, revision if isinstance(revision, int) else None)


def test_an_object_without_uid_is_followed_by_its_name() -> None:
    a = made("a", 10, uid=None)
    assert changes_of(entries_of(watch(("ADDED", a), ("DELETED", {**a})))) == ["a observed 10", "a deleted 10"]


def test_a_kind_that_nobody_knows_is_kept() -> None:
    widget = {**made("a", 1), "apiVersion": "example.com/v1beta2", "kind": "Widget"}
    (entry,) = entries_of(watch(("ADDED", widget)))
    assert (entry.ref.group, entry.ref.version, entry.ref.kind) == ("example.com", "v1beta2", "Widget")


def test_a_log_line_with_a_type_is_no_watch() -> None:
    assert not FORMAT.sniff(b'{"type":"ERROR","message":"x"}\n')
    assert FORMAT.sniff(b'broken\n{"type":"ADDED","object":{"kind"')
