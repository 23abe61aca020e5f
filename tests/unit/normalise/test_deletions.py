"""These tests read deletions of collections: each object of the answer is deleted, or asked to end."""

from typing import Any

import pytest

from tests.inputs.events import entries_of, event, pod
from timeline.core.entries import Change, Entry, moment


def deletions(*items: dict[str, Any], options: Any = None, kind: str = "PodList") -> list[Entry]:
    answer = {"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "200"}, "items": [*items]}
    reference = {"resource": "pods", "namespace": "n", "apiVersion": "v1"}
    asked = {"verb": "deletecollection", "objectRef": reference, "requestObject": options}
    return entries_of(event(**asked, responseObject=answer, responseStatus={"code": 200}))


def bound(phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    return {"metadata": pod(**metadata)["metadata"], "spec": {"nodeName": "x"}, "status": {"phase": phase}}


def test_a_deletecollection_deletes_each_object_of_its_answer() -> None:
    first, second = deletions(pod(name="a", uid="ua"), pod(name="b", uid="ub"))
    refs = [(each.ref.kind, each.ref.name, each.ref.uid) for each in (first, second)]
    assert refs == [("Pod", "a", "ua"), ("Pod", "b", "ub")]
    assert first.change is second.change is Change.DELETED
    assert first.resource_version is None  # the answer shows the objects as they were before
    assert (first.received, first.staged, first.identity) == (second.received, second.staged, "a1")


@pytest.mark.parametrize(
    ("item", "options", "change"),
    [
        (pod(), None, Change.DELETED),  # it is on no node
        (bound(), None, Change.MODIFIED),  # its kubelet stops it first
        (bound("Succeeded"), None, Change.DELETED),
        (bound(), {"gracePeriodSeconds": 0}, Change.DELETED),
        (pod(finalizers=["x"]), None, Change.MODIFIED),
        (pod(), {"propagationPolicy": "Foreground"}, Change.MODIFIED),
        (pod(), {"propagationPolicy": "Background"}, Change.DELETED),
    ],
)
def test_what_outlives_a_deletecollection_is_asked_to_end(item: dict[str, Any], options: Any, change: Change) -> None:
    (entry,) = deletions(item, options=options)
    assert entry.change is change
    if change is Change.MODIFIED:
        assert dict(entry.sets)["deleting"] is True
        assert moment(dict(entry.sets)["asked"]).isoformat() == "2026-11-21T07:52:00+00:00"


def test_what_was_asked_to_end_before_is_left_alone() -> None:
    assert deletions(bound(deletionTimestamp="2026-11-21T07:52:30Z", deletionGracePeriodSeconds=30)) == []


def test_metadata_alone_does_not_tell_whether_a_pod_has_gone() -> None:
    (entry,) = deletions({"metadata": pod()["metadata"]}, kind="PartialObjectMetadataList")
    assert entry.change is Change.MODIFIED
