"""These tests read AdmissionReviews: they prove what was stored before and what was asked for, and no change."""

from pathlib import Path
from typing import Any

import pytest

from collectors.formats import Skipped
from tests.clients.command import causeline
from tests.inputs.objects import made
from tests.inputs.recordings import world_of
from tests.unit.formats import reading
from tests.unit.formats.reading import on_lines
from timeline.core.entries import FOREVER, Change, Entry, Request, moment

OLD = made("p", 7)
NEW = made("p", 7, managedFields=[{"manager": "kubectl", "operation": "Update", "time": "2026-11-21T07:53:10Z"}])


ROBOT = {"authentication.kubernetes.io/pod-name": ["robot-1"], "authentication.kubernetes.io/pod-uid": ["5f0a"]}
GROUP = {"group": "", "version": "v1"}
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


def review(response: bool | None = None, **changes: Any) -> dict[str, Any]:
    """Return the review of an update as the API server sends it; with a response, as a webhook may log both."""
    kind, resource = {**GROUP, "kind": "ConfigMap"}, {**GROUP, "resource": "configmaps"}
    user = {"username": "system:serviceaccount:n:robot", "uid": "014fbff9a07c", "groups": ["system:authenticated"]}
    request = {
        "uid": UID,
        **{"kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource},
        **{"name": "p", "namespace": "n", "operation": "UPDATE", "userInfo": {**user, "extra": ROBOT}},
        **{"object": NEW, "oldObject": OLD, "dryRun": False},
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "fieldManager": "kubectl"},
        **changes,
    }
    whole: dict[str, Any] = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return whole if response is None else {**whole, **answer(response)}


def answer(allowed: bool, uid: str = UID) -> dict[str, Any]:
    response = {"uid": uid, "allowed": allowed, "status": {"code": 409, "message": "No."}}
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}


def observed(*documents: Any, indent: int | None = None) -> list[Any]:
    return reading.observed(on_lines(*documents, indent=indent), bodies=True)


def test_an_update_proves_the_old_object_and_that_it_was_asked_for() -> None:
    old, asked = observed(review())
    assert isinstance(old, Entry) and isinstance(asked, Request)
    assert (old.change, old.resource_version, old.ref.uid) == (Change.OBSERVED, 7, "uid-of-p")
    assert (asked.verb, asked.code, asked.actor) == ("update", 0, "system:serviceaccount:n:robot")
    assert asked.client and (asked.client.pod, asked.client.pod_uid) == ("robot-1", "5f0a")
    assert asked.named is None  # the API server fills it in before it asks: it is no copy of the client's
    assert (moment(asked.received).isoformat(), asked.staged) == ("2026-11-21T07:53:10+00:00", FOREVER)
    assert asked.ref == old.ref


def test_nothing_in_a_review_counts_as_a_change() -> None:
    created = review(operation="CREATE", oldObject=None, options={"kind": "CreateOptions"})
    deleted = review(operation="DELETE", object=None, options={"kind": "DeleteOptions"})
    tracks = world_of(observed(created, review(), deleted)).tracks()
    assert {each.change for track in tracks for each in track.moments} == {Change.OBSERVED}


def test_the_summary_says_how_many_reviews_show_no_change(tmp_path: Path) -> None:
    path = tmp_path / "reviews.log"
    refused = {**review(uid="another"), **answer(False, "another")}
    path.write_text(on_lines(review(), refused))
    _, output, _ = causeline("analyze", path)
    assert "; 1 review shows no change; 0 skipped." in " ".join(output.split())


@pytest.mark.parametrize(
    ("changes", "verb", "action"),
    [
        ({"operation": "CREATE", "oldObject": None}, "create", ""),
        ({"operation": "DELETE", "object": None}, "delete", ""),
        ({"options": {"kind": "PatchOptions"}}, "patch", ""),
        ({"options": None}, "write", ""),
        ({"subResource": "status"}, "update", "status"),
    ],
)
def test_what_was_asked_for_is_reported(changes: dict[str, Any], verb: str, action: str) -> None:
    (asked,) = (each for each in observed(review(**changes)) if isinstance(each, Request))
    assert (asked.verb, asked.action, asked.ref.name) == (verb, action, "p")


def test_a_part_that_is_no_object_proves_only_the_request() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {**OLD["metadata"], "uid": "u"}}
    kind, resource = ({"group": group, "version": "v1"} for group in ("autoscaling", "apps"))
    about: dict[str, Any] = {"kind": {**kind, "kind": "Scale"}, "resource": {**resource, "resource": "deployments"}}
    (asked,) = observed(review(subResource="scale", **about, object=scale, oldObject=scale))
    assert (asked.ref.group, asked.ref.kind, asked.ref.uid, asked.action) == ("apps", "Deployment", "", "scale")


def test_a_namespace_is_not_in_itself() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {**OLD["metadata"], "namespace": None}}
    kind = {"group": "", "version": "v1"}
    about: dict[str, Any] = {
        "kind": {**kind, "kind": "Namespace"},
        "resource": {**kind, "resource": "namespaces"},
        "namespace": "p",
    }
    old, asked = observed(review(**about, object=namespace, oldObject=namespace))
    assert old.ref == asked.ref and asked.ref.namespace == ""


def test_a_webhooks_no_is_a_refusal_but_no_conflict() -> None:
    for documents in ([review(False)], [review(), answer(False)]):
        *_, asked = observed(*documents)
        assert isinstance(asked, Request) and (asked.code, asked.reason, asked.refused) == (403, "Forbidden", True)
    *_, asked = observed(review(), answer(True))
    assert (asked.code, asked.refused) == (0, False)


def test_dry_runs_and_connections_ask_for_no_write() -> None:
    (old,) = observed(review(dryRun=True))
    assert isinstance(old, Entry)  # what is stored is known from a dry run, too
    assert observed(review(operation="CONNECT", subResource="exec", oldObject=None)) == []


def test_an_answer_alone_and_a_request_without_any_time_are_reported() -> None:
    timeless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"}}
    skipped = observed(answer(True), review(operation="CREATE", oldObject=None, object=timeless))
    assert [str(each) for each in skipped] == [
        "log line 1: it is the answer to a request that does not stand before it in the file",
        "log line 2: it is an AdmissionReview, which has no time of its own, and its objects state none",
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_pretty_and_in_an_array_they_say_the_same(indent: int | None) -> None:
    plain = [(type(each), each.ref) for each in observed(review(), answer(False))]
    for documents in ([review(), answer(False)], [[review(), answer(False)]]):
        assert [(type(each), each.ref) for each in observed(*documents, indent=indent)] == plain
        assert reading.sniffed(on_lines(*documents, indent=indent)) == ["AdmissionReviews of a webhook"]


def test_a_broken_review_does_not_hide_the_others() -> None:
    first, skipped, *others = observed(review(), review(userInfo=5), review(uid="other"))
    assert isinstance(first, Entry) and isinstance(skipped, Skipped) and len(others) == 3
    assert "a field is not as Kubernetes writes it: Expected `object`, got `int`" in str(skipped)
