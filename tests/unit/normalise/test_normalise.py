"""These tests turn an audit event into an entry: what was changed, by which revision, when and by whom."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.inputs.events import entries_of, event, pod, real
from tests.inputs.recordings import world_of
from timeline.core.entries import FOREVER, Change, Entry, Level, ObjectRef, Owner, moment
from timeline.history.lifelines import Name, Track
from timeline.kinds.pod import PodFacts
from timeline.kinds.volcano_job import VolcanoJobFacts

NAMES = ["pod patched", "pod deleted", "config map deleted", "service deleted", "slice deleted", "job updated"]
NAMES += ["pod created", "pod bound", "service created", "slice created"]
RESTART = dict(zip(NAMES, real("restart.jsonl"), strict=True))
DELETION = dict(zip(("asked for", "ended by the kubelet", "last finalizer gone"), real("deletion.jsonl"), strict=True))


def one(line: bytes | dict[str, Any]) -> Entry:
    (entry,) = entries_of(line)
    return entry


def changed(**changes: Any) -> Entry:
    return one(event(responseStatus={"code": 200}, **changes))


def tracks_of(*entries: Entry) -> list[Track]:
    return list(world_of(entries).tracks())


def test_who_did_it_and_when_to_the_microsecond_comes_along() -> None:
    entry, said = one(RESTART["service deleted"]), json.loads(RESTART["service deleted"])
    assert moment(entry.received) == datetime(2026, 11, 21, 7, 52, 0, 841106, tzinfo=UTC)
    assert moment(entry.received) == datetime.fromisoformat(said["requestReceivedTimestamp"])
    assert moment(entry.staged) == datetime.fromisoformat(said["stageTimestamp"])
    assert (entry.actor, entry.identity) == (said["user"]["username"], said["auditID"])
    assert entry.user_agent.startswith("vc-cm-head/")
    assert entry.place and (entry.place.file, entry.place.line) == ("log", 1)


KEPT = ("batch.kubernetes.io/job-tracking",)


@pytest.mark.parametrize(
    ("line", "change", "revision", "finalizers"),
    [
        (RESTART["pod deleted"], Change.DELETED, 580, ()),  # the answer is the object, with its last revision
        (DELETION["asked for"], Change.MODIFIED, 733, KEPT),
        (DELETION["ended by the kubelet"], Change.MODIFIED, 882, KEPT),
        (DELETION["last finalizer gone"], Change.DELETED, None, ()),  # it has no revision of its own
    ],
    ids=["at once", "a graceful delete", "held by a finalizer", "the patch that takes the last finalizer"],
)
def test_when_a_deletion_is_one(line: bytes, change: Change, revision: int | None, finalizers: tuple[str, ...]) -> None:
    entry = one(line)
    assert (entry.change, entry.resource_version) == (change, revision)
    facts = entry.facts
    assert isinstance(facts, PodFacts) and facts.deleting and facts.finalizers == finalizers


def test_the_three_tell_one_life_that_ends() -> None:
    (track,) = tracks_of(*entries_of(*DELETION.values()))
    assert [each.change for each in track.moments] == [Change.MODIFIED, Change.MODIFIED, Change.DELETED]


def test_a_patch_while_the_grace_runs_is_no_deletion() -> None:
    going = pod(deletionTimestamp="2026-11-21T07:52:30Z", deletionGracePeriodSeconds=30)
    assert changed(verb="patch", responseObject=going).change is Change.MODIFIED


def test_a_delete_that_answers_a_status_ends_the_object_of_its_uid() -> None:
    entry = one(RESTART["slice deleted"])
    uid = json.loads(RESTART["slice deleted"])["responseObject"]["details"]["uid"]
    assert (entry.change, entry.resource_version, entry.facts) == (Change.DELETED, None, None)
    assert entry.ref == ObjectRef("discovery.k8s.io", "v1", "EndpointSlice", "vol-restart", "ring-ntzhb", uid)


def test_a_name_that_the_server_generated_comes_from_the_answer() -> None:
    entry = one(RESTART["slice created"])
    assert "name" not in json.loads(RESTART["slice created"])["objectRef"]
    assert entry.ref.name.startswith("ring-")
    assert entry.ref.uid
    assert entry.owner and entry.owner.kind == "Service"


def test_a_generated_name_that_was_not_logged_gives_no_entry() -> None:
    reference = {"resource": "pods", "namespace": "n", "apiVersion": "v1"}
    assert entries_of(event(level="Metadata", objectRef=reference, responseObject=None)) == []


def test_a_binding_sets_the_node_of_the_pod() -> None:
    created, bound = one(RESTART["pod created"]), one(RESTART["pod bound"])
    assert (bound.change, bound.resource_version, bound.action) == (Change.MODIFIED, None, "binding")
    assert bound.ref == created.ref
    (track,) = tracks_of(created, bound)
    assert [each.facts.node for each in track.moments] == ["", dict(bound.sets)["node"]]
    assert track.last.facts.node.startswith("node-")
    assert track.last.facts.subdomain == "ring"


def test_an_answer_of_metadata_alone_leaves_the_other_facts() -> None:
    metadata = {**pod()["metadata"], "resourceVersion": "200", "finalizers": ["example.org/keep"]}
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    first = one(event(responseObject={**pod(), "status": {"phase": "Running"}}))
    second = changed(verb="patch", auditID="a2", responseObject=partial)
    (track,) = tracks_of(first, second)
    assert track.last.stamp.resource_version == 200
    assert track.last.facts.phase == "Running"
    assert track.last.facts.finalizers == ("example.org/keep",)


def test_the_last_finalizer_may_go_by_metadata_alone() -> None:
    """The garbage collector sends such patches."""
    going = pod(deletionTimestamp="2026-11-21T07:52:30Z")["metadata"]
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": going}
    entry = changed(verb="patch", responseObject=partial)
    assert (entry.change, entry.resource_version) == (Change.DELETED, None)


def test_a_config_map_at_level_metadata_has_no_uid() -> None:
    entry = one(RESTART["config map deleted"])
    assert entry.ref == ObjectRef("", "v1", "ConfigMap", "vol-restart", "ring-svc", "")
    assert (entry.change, entry.resource_version) == (Change.DELETED, None)


def test_jobs_of_two_groups_are_two_kinds() -> None:
    entry = one(RESTART["job updated"])
    assert isinstance(entry.facts, VolcanoJobFacts)
    assert (entry.ref.group, entry.ref.kind, entry.action) == ("batch.volcano.sh", "Job", "status")
    name = {"namespace": "vol-restart", "name": "ring"}
    reference = {"resource": "jobs", "apiGroup": "batch", "apiVersion": "v1", **name}
    job = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": "ring", "uid": "other", "resourceVersion": "5"},
    }
    other = one(event(objectRef=reference, responseObject=job))
    names = {Name(group, "Job", "vol-restart", "ring") for group in ("batch", "batch.volcano.sh")}
    assert {track.name for track in tracks_of(entry, other)} == names


def test_the_controlling_owner_is_the_owner() -> None:
    entry = one(RESTART["pod created"])
    owner = entry.owner
    assert owner and (owner.group, owner.kind, owner.name) == ("batch.volcano.sh", "Job", "ring")
    several = [
        {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "1"},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "b", "uid": "2", "controller": True},
    ]
    assert one(event(responseObject=pod(ownerReferences=several))).owner == Owner("apps", "v1", "ReplicaSet", "b", "2")
    assert one(event(responseObject=pod(ownerReferences=several[:1] * 2))).owner is None


@pytest.mark.parametrize("verb", ["patch", "update"])
def test_a_write_that_answers_created_is_a_creation(verb: str) -> None:
    """Server-side apply creates an object that does not exist."""
    assert one(event(verb=verb, responseStatus={"code": 201})).change is Change.CREATED
    assert one(event(verb=verb, responseStatus={"code": 200})).change is Change.MODIFIED


def namespace(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "n", "uid": "u9", "resourceVersion": "7", "deletionTimestamp": "2026-11-21T07:52:30Z"}
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def test_a_namespace_stays_until_it_is_empty() -> None:
    reference = {"resource": "namespaces", "apiVersion": "v1", "name": "n"}
    full = {"objectRef": reference, "responseObject": namespace(finalizers=["kubernetes"])}
    assert changed(verb="delete", **full).change is Change.MODIFIED
    assert changed(verb="update", **full).change is Change.MODIFIED
    finalize = {"objectRef": {**reference, "subresource": "finalize"}, "responseObject": namespace()}
    assert changed(verb="update", **finalize).change is Change.DELETED


def test_neither_questions_to_the_api_nor_subresources_that_are_not_the_object_give_an_entry() -> None:
    reference = {"resource": "tokenreviews", "apiGroup": "authentication.k8s.io", "apiVersion": "v1"}
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}, "spec": {"token": "t"}}
    assert entries_of(event(objectRef=reference, responseObject=review)) == []
    for subresource in ("eviction", "token", "log", "exec"):
        assert entries_of(event(objectRef={**event()["objectRef"], "subresource": subresource})) == []


WIDGET = {"resource": "widgets", "apiGroup": "example.org", "apiVersion": "v1", "namespace": "n", "name": "w"}
NAMES_OF_IT = {"name": "w", "namespace": "n", "uid": "w1", "resourceVersion": "5"}
CREATED = event(objectRef=WIDGET, responseObject={"kind": "Widget", "metadata": NAMES_OF_IT, "details": "free text"})
SENT = {**CREATED, "responseObject": None, "requestObject": {"kind": "Widget"}, "level": "Request"}
STATUS = {"kind": "Status", "details": {"name": "w", "kind": "widgets", "uid": "w1"}}
GONE = event(auditID="a2", verb="delete", objectRef=WIDGET, responseStatus={"code": 200}, responseObject=STATUS)


@pytest.mark.parametrize(
    ("lines", "kind"),
    [([CREATED, GONE], "Widget"), ([GONE, CREATED], "Widget"), ([GONE, SENT], "Widget"), ([GONE], "widgets")],
    ids=["known before", "known later", "known by what was sent", "never known"],
)
def test_a_custom_kind_that_a_deletion_does_not_tell_is_learned_from_the_log(lines: Any, kind: str) -> None:
    assert {entry.ref.kind for entry in entries_of(*lines)} == {kind}


# Events of old API servers


def test_v1beta1_tells_microseconds_too() -> None:
    old = {"apiVersion": "audit.k8s.io/v1beta1", "metadata": {"creationTimestamp": None}}
    assert one(event(**old, timestamp="2026-11-21T07:52:00Z")) == one(event())


def test_v1alpha1_tells_whole_seconds_and_its_group_in_the_version() -> None:
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
    entry = one(old)
    assert (entry.ref.group, entry.ref.version) == ("apps", "v1beta1")
    assert moment(entry.received).isoformat() == "2026-11-21T07:52:00+00:00"
    assert moment(entry.staged).isoformat() == "2026-11-21T07:52:01.999999+00:00"
    assert one({**old, "metadata": {"creationTimestamp": None}}).staged == FOREVER


def test_a_truncated_event_tells_only_that_it_happened() -> None:
    entry = one(event(responseObject=None, annotations={"audit.k8s.io/truncated": "true"}))
    assert (entry.level, entry.facts, entry.change) == (Level.METADATA, None, Change.CREATED)
