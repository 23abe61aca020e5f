"""These tests turn an audit event into an entry: what was changed, by which revision, when and by whom."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.events import entries_of, event, pod, real
from tests.recordings import world_of
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


def pod_facts(entry: Entry) -> PodFacts:
    assert isinstance(entry.facts, PodFacts)
    return entry.facts


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


def test_a_delete_that_answers_the_object_at_once_ends_it_with_its_own_revision() -> None:
    service, gone = one(RESTART["service deleted"]), one(RESTART["pod deleted"])
    assert (service.change, service.resource_version, service.ref.kind) == (Change.DELETED, 582, "Service")
    assert (gone.change, gone.resource_version) == (Change.DELETED, 580)
    assert pod_facts(gone).deleting


def test_a_graceful_delete_only_asks_for_the_deletion() -> None:
    entry = one(DELETION["asked for"])
    assert (entry.change, entry.resource_version) == (Change.MODIFIED, 733)
    assert pod_facts(entry).deleting


def test_a_delete_held_by_a_finalizer_changes_the_object_only() -> None:
    entry = one(DELETION["ended by the kubelet"])
    assert (entry.change, entry.resource_version) == (Change.MODIFIED, 882)
    assert pod_facts(entry).finalizers == ("batch.kubernetes.io/job-tracking",)


def test_the_write_that_takes_the_last_finalizer_is_the_deletion_and_has_no_revision_of_its_own() -> None:
    entry = one(DELETION["last finalizer gone"])
    said = json.loads(DELETION["last finalizer gone"])
    assert (said["verb"], said["responseObject"]["metadata"]["resourceVersion"]) == ("patch", "882")
    assert (entry.change, entry.resource_version) == (Change.DELETED, None)


def test_the_three_tell_one_life_that_ends() -> None:
    (track,) = tracks_of(*entries_of(*DELETION.values()))
    assert [each.change for each in track.moments] == [Change.MODIFIED, Change.MODIFIED, Change.DELETED]


def test_a_patch_while_the_grace_runs_is_no_deletion() -> None:
    going = pod(deletionTimestamp="2026-11-21T07:52:30Z", deletionGracePeriodSeconds=30)
    assert changed(verb="patch", responseObject=going).change is Change.MODIFIED


def test_a_delete_that_answers_a_status_ends_the_object_of_its_uid() -> None:
    entry = one(RESTART["slice deleted"])
    said = json.loads(RESTART["slice deleted"])["responseObject"]
    assert said["kind"] == "Status"
    assert (entry.change, entry.resource_version, entry.facts) == (Change.DELETED, None, None)
    assert entry.ref == ObjectRef(
        "discovery.k8s.io", "v1", "EndpointSlice", "vol-restart", "ring-ntzhb", said["details"]["uid"]
    )


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
    assert bound.change is Change.MODIFIED
    assert bound.resource_version is None
    assert bound.ref == created.ref
    assert bound.action == "binding"
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


def test_questions_to_the_api_are_no_objects() -> None:
    reference = {"resource": "tokenreviews", "apiGroup": "authentication.k8s.io", "apiVersion": "v1"}
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}, "spec": {"token": "t"}}
    assert entries_of(event(objectRef=reference, responseObject=review)) == []


@pytest.mark.parametrize("subresource", ["eviction", "token", "log", "exec"])
def test_subresources_that_are_not_the_object_give_no_entry(subresource: str) -> None:
    reference = {**event()["objectRef"], "subresource": subresource}
    assert entries_of(event(objectRef=reference)) == []


WIDGET = {"resource": "widgets", "apiGroup": "example.org", "apiVersion": "v1", "namespace": "n", "name": "w"}
CREATED = event(
    objectRef=WIDGET,
    responseObject={"kind": "Widget", "metadata": {"name": "w", "namespace": "n", "uid": "w1", "resourceVersion": "5"}},
)
GONE = event(
    auditID="a2",
    verb="delete",
    objectRef=WIDGET,
    responseStatus={"code": 200},
    responseObject={"kind": "Status", "details": {"name": "w", "kind": "widgets", "uid": "w1"}},
)


@pytest.mark.parametrize("lines", [(CREATED, GONE), (GONE, CREATED)])
def test_a_custom_kind_that_a_deletion_does_not_tell_is_learned_from_the_log(lines: tuple[dict[str, Any], ...]) -> None:
    assert {entry.ref.kind for entry in entries_of(*lines)} == {"Widget"}


def test_a_custom_kind_is_learned_from_what_was_sent_too() -> None:
    sent = {**CREATED, "responseObject": None, "requestObject": {"kind": "Widget"}, "level": "Request"}
    assert {entry.ref.kind for entry in entries_of(GONE, sent)} == {"Widget"}


def test_a_custom_kind_that_the_log_never_tells_keeps_its_resources_word() -> None:
    assert one(GONE).ref.kind == "widgets"


def test_a_custom_object_with_details_of_its_own_is_read() -> None:
    odd = {**CREATED, "responseObject": {**CREATED["responseObject"], "details": "free text"}}
    assert one(odd).change is Change.CREATED


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
