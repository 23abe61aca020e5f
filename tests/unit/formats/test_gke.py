"""These tests read entries of Google's Cloud Logging as the audit events from which they were made."""

import json
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from collectors.formats import Skipped, read
from collectors.normalise.gke import event_in
from tests import DATA
from tests.inputs.events import entries_of as plain
from tests.inputs.events import pod, real
from tests.unit.formats.reading import observed, sniffed
from timeline.core.entries import Change, Client, Entry, Level, Request

SAMPLE = DATA / "wrappers" / "gke.json"


def log_entry(**payload: Any) -> dict[str, Any]:
    """Return the entry of a Pod's creation. `payload` replaces fields of protoPayload; None removes one."""
    made = {
        "methodName": "io.k8s.core.v1.pods.create",
        "resourceName": "core/v1/namespaces/n/pods/p",
        "serviceName": "k8s.io",
        "authenticationInfo": {"principalEmail": "somebody@example.com"},
        "requestMetadata": {"callerIp": "::1", "callerSuppliedUserAgent": "kubectl/v1.36"},
        "response": {"@type": "core.k8s.io/v1.Pod", **pod()},
        "status": {},
        **payload,
    }
    return {
        "insertId": "a1",
        "timestamp": "2026-11-21T07:52:00.100001Z",
        "receiveTimestamp": "2026-11-21T07:52:05.123456789Z",
        "protoPayload": {key: value for key, value in made.items() if value is not None},
    }


def reference_of(method: str, resource: str) -> tuple[str, ...]:
    event = json.loads(event_in(json.dumps(log_entry(methodName=method, resourceName=resource)).encode()) or b"{}")
    words = ("apiGroup", "apiVersion", "namespace", "resource", "name", "subresource")
    return tuple(event["objectRef"][word] for word in words)


def items_of(content: str) -> list[Entry | Skipped]:
    return [item for item in observed(content) if isinstance(item, Entry | Skipped)]


def entry_of(**payload: Any) -> Entry:
    (entry,) = items_of(json.dumps(log_entry(**payload)))
    assert isinstance(entry, Entry)
    return entry


def test_what_the_entries_keep_is_what_the_audit_log_tells() -> None:
    """The sample was made from these lines, in the form of real entries."""
    entries = [item for item in read([(SAMPLE, "gke.json")], bodies=False) if isinstance(item, Entry)]
    lines = real("restart.jsonl")
    expected = plain(*(lines[number] for number in (2, 3, 4, 5, 7, 8, 9)))
    for one, other in zip(entries, expected, strict=True):
        for field in ("ref", "change", "resource_version", "received", "facts", "sets", "owner", "level", "action"):
            assert getattr(one, field) == getattr(other, field), (field, other.ref)
        assert (one.actor, one.user_agent, one.identity) == (other.actor, other.user_agent, other.identity)
        assert one.staged > other.staged


def test_entries_of_other_services_are_reported() -> None:
    skipped = [str(item) for item in read([(SAMPLE, "gke.json")], bodies=False) if isinstance(item, Skipped)]
    assert skipped == ["gke.json line 1156: [8]: it holds no audit event"]


@pytest.mark.parametrize("layout", ["{0}\n{0}\n", "[{0},{0}]", '{{"entries":[{0},{0}],"nextPageToken":"x"}}'])
def test_lines_arrays_and_answers_of_the_api_are_read(layout: str) -> None:
    content = layout.format(json.dumps(log_entry()))
    assert sniffed(content) == ["Kubernetes audit log from Cloud Logging (GKE)"]
    assert [type(item) for item in items_of(content)] == [Entry, Entry]


def test_what_gcloud_prints_unless_it_is_asked_for_json_is_read() -> None:
    other = {**log_entry(serviceName="container.googleapis.com"), "insertId": "b"}
    content = str(yaml.safe_dump_all([log_entry(), other, log_entry()], explicit_start=True))
    assert sniffed(content) == ["Kubernetes audit log in YAML"]
    first, skipped, second = items_of(content)
    assert isinstance(first, Entry) and isinstance(second, Entry) and isinstance(skipped, Skipped)
    (same,) = items_of(json.dumps(log_entry()))
    assert isinstance(same, Entry)
    assert replace(first, place=same.place) == same
    assert skipped.reason == "it holds no audit event"


@pytest.mark.parametrize(
    ("method", "resource", "reference"),
    [
        ("io.k8s.core.v1.pods.status.patch", "core/v1/namespaces/n/pods/p/status", " v1 n pods p status"),
        ("io.k8s.core.v1.pods.create", "core/v1/namespaces/n/pods", " v1 n pods  "),
        ("io.k8s.core.v1.nodes.update", "core/v1/nodes/x", " v1  nodes x "),
        ("io.k8s.core.v1.namespaces.delete", "core/v1/namespaces/n", " v1  namespaces n "),
        ("io.k8s.core.v1.namespaces.finalize.update", "core/v1/namespaces/n/finalize", " v1  namespaces n finalize"),
        ("io.k8s.apps.v1.deployments.scale.update", "apps/v1/namespaces/n/deployments/d/scale",
         "apps v1 n deployments d scale"),
        ("io.k8s.coordination.v1.leases.update", "coordination.k8s.io/v1/namespaces/n/leases/l",
         "coordination.k8s.io v1 n leases l "),
        ("io.k8s.authorization.rbac.v1.clusterroles.create", "rbac.authorization.k8s.io/v1/clusterroles/c",
         "rbac.authorization.k8s.io v1  clusterroles c "),
        ("sh.volcano.batch.v1alpha1.jobs.create", "batch.volcano.sh/v1alpha1/namespaces/n/jobs/j",
         "batch.volcano.sh v1alpha1 n jobs j "),
        # a resourceName without a group, which the method names
        ("io.k8s.apps.v1.deployments.update", "namespaces/n/deployments/d", "apps v1 n deployments d "),
        ("sh.volcano.batch.v1alpha1.jobs.create", "namespaces/n/jobs/j", "batch.volcano.sh v1alpha1 n jobs j "),
    ],
)  # fmt: skip
def test_method_and_resource_name_tell_the_object(method: str, resource: str, reference: str) -> None:
    assert reference_of(method, resource) == tuple(reference.split(" "))


def test_a_commit_lies_between_the_entry_and_its_arrival() -> None:
    """No closer bound is known, because the entry does not say when the API server answered."""
    entry = entry_of()
    assert entry.staged - entry.received == 5_023_456
    late = log_entry()
    del late["receiveTimestamp"]
    (unbounded,) = items_of(json.dumps(late))
    assert isinstance(unbounded, Entry) and unbounded.staged - unbounded.received == 60_000_000


CHANGED_NOTHING = [
    *(log_entry(status={"code": code, "message": "no"}) for code in (5, 6, 7, 10, 13, 99)),
    {**log_entry(), "labels": {"command.gke.io/dryRun": "All"}},
    *(log_entry(methodName=method) for method in ("io.k8s.get", "", "v1", "....", "io.k8s.core.v1")),
]


@pytest.mark.parametrize("entry", CHANGED_NOTHING)
def test_refusals_dry_runs_and_requests_for_no_resource_change_nothing(entry: dict[str, Any]) -> None:
    assert items_of(json.dumps(entry)) == []


def test_without_bodies_it_is_level_metadata() -> None:
    entry = entry_of(response=None)
    assert (entry.level, entry.change, entry.ref.name) == (Level.METADATA, Change.CREATED, "p")
    asked = entry_of(response=None, request={"@type": "core.k8s.io/v1.Pod", **pod()})
    assert asked.level is Level.REQUEST


def test_a_field_of_another_type_is_reported() -> None:
    skipped, entry = items_of(json.dumps([{**log_entry(), "insertId": 5}, log_entry()]))
    assert str(skipped) == (
        "log line 1: [0]: a field is not as Kubernetes writes it: Expected `str`, got `int` - at `$.insertId`"
    )
    assert isinstance(entry, Entry)


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({}, Change.CREATED),
        ({"creationTimestamp": "2026-11-21T07:51:00Z"}, Change.MODIFIED),  # the object existed already
        ({"generation": 2}, Change.MODIFIED),  # a second apply
        ({"managedFields": []}, Change.MODIFIED),  # nothing says whether it was created
        ({"creationTimestamp": None}, Change.MODIFIED),
    ],
)
def test_an_apply_that_made_its_object_is_a_creation(fields: dict[str, Any], change: Change) -> None:
    made = pod()
    at = "2026-11-21T07:52:00Z"
    writers = [{"manager": "argocd", "operation": "Apply", "time": at}]
    made["metadata"] |= {"creationTimestamp": at, "managedFields": writers, **fields}
    found = entry_of(methodName="io.k8s.core.v1.pods.patch", response=made)
    assert found.change is change


def test_a_refusal_says_why_and_to_whom() -> None:
    (request,) = observed(json.dumps(log_entry(status={"code": 10, "message": "ABORTED"}, response=None)))
    assert isinstance(request, Request)
    assert (request.code, request.reason, request.client) == (409, "Conflict", Client("::1"))
