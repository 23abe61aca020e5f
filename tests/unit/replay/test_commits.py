"""These tests turn a recording into commits: each has a revision, a time, and the whole object after it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from collectors.formats import NotARecording, own
from collectors.replay.commits import Tape, tape
from tests import ROOT
from tests.inputs.events import event, pod
from tests.inputs.objects import changed, entries_of, listed, made, watch
from timeline.core.order import SECOND

Taped = Callable[..., Tape]
REFERENCE = {"resource": "pods", "namespace": "n", "name": "p", "apiVersion": "v1", "uid": "u1"}


@pytest.fixture
def taped(tmp_path: Path) -> Taped:
    """Return a tape of files with these contents, or of an audit log with these events."""

    def build(*contents: bytes | dict[str, Any]) -> Tape:
        log = [json.dumps(each) for each in contents if isinstance(each, dict)]
        files = [each for each in contents if isinstance(each, bytes)] + (["\n".join(log).encode()] if log else [])
        paths = [tmp_path / f"file-{number}" for number in range(len(files))]
        for path, content in zip(paths, files, strict=True):
            path.write_bytes(content)
        return tape([(path, path.name) for path in paths])

    return build


EVENT = {"apiVersion": "events.k8s.io/v1", "kind": "Event"}


def commits_of(recording: Tape) -> list[tuple[str, str, int]]:
    return [(commit.name, commit.change, commit.revision) for commit in recording.commits]


def at(second: float, audit_id: str, **changes: Any) -> dict[str, Any]:
    """Return an audit event that was received so many seconds after 07:52 and answered 10 ms later."""
    times = {
        "requestReceivedTimestamp": f"2026-11-21T07:52:{second:09.6f}Z",
        "stageTimestamp": f"2026-11-21T07:52:{second + 0.01:09.6f}Z",
    }
    status = {"code": 201 if changes.get("verb", "create") == "create" else 200}
    return event(auditID=audit_id, objectRef=REFERENCE, responseStatus=status, **times, **changes)


def test_what_stood_before_is_there_at_the_beginning(taped: Taped) -> None:
    recording = taped(watch(("ADDED", made("a", 5)), ("ADDED", made("b", 3)), ("MODIFIED", changed("a", 9))))
    seen = [(each.name, each.change, each.revision) for each in recording.existing]
    assert seen == [("a", "ADDED", 5), ("b", "ADDED", 3)]
    assert commits_of(recording) == [("a", "MODIFIED", 9)]
    assert json.loads(recording.commits[0].body) == changed("a", 9)


def test_what_was_changed_first_stood_as_it_was_then(taped: Taped) -> None:
    recording = taped(at(3, "a1", verb="update", responseObject=pod(resourceVersion="120")))
    assert [(each.name, each.revision) for each in recording.existing] == [("p", 120)]
    assert commits_of(recording) == [("p", "MODIFIED", 120)]


def test_a_list_alone_stands_still(taped: Taped) -> None:
    recording = taped(listed(made("a", 5), made("b", 7)))
    assert not recording.commits
    assert [each.revision for each in recording.existing] == [5, 7]


def test_a_list_of_the_end_adds_nothing_to_what_a_watch_showed(taped: Taped) -> None:
    seen = watch(("ADDED", made("a", 5)), ("MODIFIED", changed("a", 9)))
    assert commits_of(taped(seen, listed(changed("a", 9)))) == commits_of(taped(seen))


def test_a_deletion_without_a_revision_lies_between_its_neighbours(taped: Taped) -> None:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"uid": "u1"}}
    recording = taped(
        at(1, "a1"),
        at(2, "a2", verb="delete", responseObject=status),
        at(3, "a3", responseObject=pod(uid="u2", resourceVersion="140")),
    )
    assert commits_of(recording) == [("p", "ADDED", 100), ("p", "DELETED", 101), ("p", "ADDED", 140)]
    gone = json.loads(recording.commits[1].body)
    assert (gone["metadata"]["uid"], gone["metadata"]["resourceVersion"]) == ("u1", "101")
    assert recording.commits[1].time == recording.commits[0].time + SECOND


def test_two_unknown_revisions_are_not_one(taped: Taped) -> None:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
    other = {**REFERENCE, "name": "q", "uid": "u2"}
    recording = taped(
        at(1, "a1"),
        {**at(2, "a2", responseObject=pod(name="q", uid="u2", resourceVersion="101")), "objectRef": other},
        at(3, "a3", verb="delete", responseObject={**status, "details": {"uid": "u1"}}),
        {**at(4, "a4", verb="delete", responseObject={**status, "details": {"uid": "u2"}}), "objectRef": other},
    )
    assert commits_of(recording)[2:] == [("p", "DELETED", 102), ("q", "DELETED", 103)]


def test_a_binding_puts_the_pod_on_its_node(taped: Taped) -> None:
    binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "p"}, "target": {"name": "node-7"}}
    bound = {
        **at(2, "a2", responseObject={"kind": "Status", "apiVersion": "v1"}, requestObject=binding),
        "objectRef": {**REFERENCE, "subresource": "binding"},
    }
    recording = taped(at(1, "a1"), bound, at(3, "a3", verb="update", responseObject=pod(resourceVersion="103")))
    assert commits_of(recording) == [("p", "ADDED", 100), ("p", "MODIFIED", 101), ("p", "MODIFIED", 103)]
    there = json.loads(recording.commits[1].body)
    assert there["spec"]["nodeName"] == "node-7"
    assert [(each["type"], each["status"]) for each in there["status"]["conditions"]] == [("PodScheduled", "True")]


def test_changes_of_one_whole_second_are_spread_over_it(taped: Taped) -> None:
    changes = [*(changed("a", revision, 10) for revision in (6, 7, 8, 9)), changed("a", 10, 20)]
    recording = taped(watch(("ADDED", made("a", 5)), *(("MODIFIED", each) for each in changes)))
    begins = recording.commits[0].time
    assert [commit.time - begins for commit in recording.commits] == [0, 250_000, 500_000, 750_000, 10 * SECOND]


def test_what_arrived_live_is_played_when_it_arrived(taped: Taped) -> None:
    created = 1_795_247_520 * SECOND
    entries = [
        replace(each, received=created, arrived=created + revision * 1000)
        for revision in (5, 9)
        for each in entries_of(watch(("MODIFIED", made(str(revision), revision))), bodies=True)
    ]
    recording = taped(b"".join(own.write(entries)))
    assert [commit.time - created for commit in recording.commits] == [5000, 9000]


def test_a_kind_is_named_as_its_definition_says(taped: Taped) -> None:
    names = {"plural": "geese", "kind": "Goose", "shortNames": ["gs"]}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": made("geese.example.com", 3, namespace=None)["metadata"],
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names},
    }
    goose = {**made("g", 5), "apiVersion": "example.com/v1", "kind": "Goose"}
    recording = taped(listed(definition), listed(goose))
    (kind,) = (each for each in recording.resources if each.kind == "Goose")
    assert (kind.plural, kind.namespaced, kind.short) == ("geese", True, ("gs",))


def test_an_event_of_the_newer_group_is_one_of_v1_too(taped: Taped) -> None:
    about = {"regarding": {"kind": "Pod", "name": "p"}, "eventTime": "2026-11-21T07:52:00.100000Z"}
    seen = {**made("e", 5), "reason": "Scheduled", "note": "Assigned to node-7", **about, **EVENT}
    later = {**seen, **changed("e", 6), **EVENT}
    recording = taped(watch(("ADDED", made("a", 4)), ("ADDED", seen), ("MODIFIED", later)))
    found = [(each.resource.group, each.change, each.revision) for each in recording.commits if each.name == "e"]
    assert found == [("events.k8s.io", "MODIFIED", 6), ("", "MODIFIED", 6)]
    body = json.loads(next(each for each in recording.existing if each.resource.name == "events").body)
    assert (body["apiVersion"], body["message"], body["involvedObject"]["name"]) == ("v1", "Assigned to node-7", "p")


def test_revisions_of_one_space_only_rise(taped: Taped) -> None:
    folder = ROOT / "tests/data/engine"
    recording = tape([(folder / "families.jsonl.zst", "log"), (folder / "families-watch", "watch")])
    for space in set(recording.spaces.values()):
        commits = [commit for commit in recording.commits if recording.spaces[commit.resource] == space]
        revisions = [commit.revision for commit in commits]
        assert revisions == sorted(revisions)
    assert [commit.time for commit in recording.commits] == sorted(commit.time for commit in recording.commits)
    for commit in recording.commits:
        metadata = json.loads(commit.body)["metadata"]
        assert metadata["resourceVersion"] == str(commit.revision)
        assert (metadata.get("namespace", ""), metadata["name"], metadata["uid"]) == (*commit.key, commit.uid)


def test_recordings_of_two_clusters_are_not_one(taped: Taped) -> None:
    one, other = (
        listed({**made("kube-system", 5, uid=uid, namespace=None), "kind": "Namespace"}) for uid in ("u1", "u2")
    )
    with pytest.raises(NotARecording, match="two clusters"):
        taped(one, other)
