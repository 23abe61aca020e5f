"""What the API server says of a refusal is kept, and the refused requests of one webhook or budget are found by it."""

from typing import Any

import pytest

from collectors.formats import Limits
from collectors.gate import ANNOTATION_KEPT, ANNOTATIONS_KEPT, MESSAGE_KEPT, admit
from tests.inputs.events import entries_of, event
from tests.inputs.recordings import world_of
from tests.unit.normalise.test_requests import request_of
from timeline.core.entries import Entry, Request
from timeline.history.codec import line_of, observation_of
from timeline.history.lifelines import Name
from timeline.history.refusals import webhook

FIRST = "/metadata/finalizers/0"
HOOK = 'failed calling webhook "guard.example.io": Post "https://guard.guards.svc:443/v": no endpoints available'


def refused(code: int, message: str, reason: str = "", details: Any = None, **changes: Any) -> Request:
    status = {"code": code, "message": message, "reason": reason, "details": details}
    return request_of(verb="create", responseStatus=status, responseObject=None, **changes)


def test_the_message_of_a_refusal_and_its_causes_are_kept() -> None:
    causes = [{"message": "The disruption budget api needs 2 healthy pods and has 2 currently"}]
    found = refused(429, "Cannot evict pod.", "TooManyRequests", {"causes": causes})
    assert found.message == "Cannot evict pod.: The disruption budget api needs 2 healthy pods and has 2 currently"


def test_a_refusal_that_only_repeats_its_reason_and_its_object_has_no_message() -> None:
    itself = {"name": "p", "kind": "pods"}
    assert refused(409, 'pods "p" already exists', "AlreadyExists", itself).message == ""
    quota = {"name": "compute", "kind": "resourcequotas"}
    assert refused(409, 'on resourcequotas "compute"', "Conflict", quota).message


_ALLOWED = {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": 'RBAC: allowed by RoleBinding "a"'}
_MUTATION = "mutation.webhook.admission.k8s.io/round_0_index_"
_ASKED = {f"{_MUTATION}0": '{"configuration":"a","webhook":"b.io","mutated":false}'}
_CHANGED = {f"{_MUTATION}1": '{"configuration":"a","webhook":"c.io","mutated":true}'}
_FAILED = {"failed-open.validating.webhook.admission.k8s.io/round_0_index_2": "guard.example.io"}
_POLICY = {"validation.policy.admission.k8s.io/validation_failure": '[{"policy":"no-latest"}]'}
_OTHERS = {"apiserver.latency.k8s.io/total": "9s", "patch.webhook.admission.k8s.io/round_0_index_0": '{"patch":[]}'}
_NOTED = {**_ALLOWED, **_ASKED, **_CHANGED, **_FAILED, **_POLICY, **_OTHERS}


def test_of_the_annotations_of_a_refusal_those_about_checks_are_kept() -> None:
    found = refused(500, HOOK, "InternalError", annotations=_NOTED)
    assert dict(found.annotations) == {**_ALLOWED, **_ASKED, **_CHANGED, **_FAILED, **_POLICY}
    assert observation_of(line_of(found), {}) == found


def test_of_the_annotations_of_a_write_those_are_kept_that_say_what_failed_or_changed_it() -> None:
    (write,) = entries_of(event(annotations=_NOTED))
    assert dict(write.annotations) == {**_CHANGED, **_FAILED, **_POLICY}
    assert observation_of(line_of(write), {}) == write
    (ordinary,) = entries_of(event(annotations={**_ALLOWED, **_ASKED}))
    assert ordinary.annotations == () and b"annotations" not in line_of(ordinary)


def test_a_write_that_was_let_through_is_found_by_the_webhook_that_could_not_be_called() -> None:
    (write,) = entries_of(event(annotations=_FAILED))
    (found,) = world_of([write, write]).refused_by(webhook("guard.example.io"))
    assert not found.refused and found.identity == write.identity


@pytest.mark.parametrize("made", ["refusal", "write"])
def test_annotations_are_redacted_before_they_are_cut(made: str) -> None:
    token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJzeXN0ZW06YW5vbnltb3VzIn0.c2lnbmF0dXJlLXNpZ25hdHVyZS0x"
    names = [f"validation.policy.admission.k8s.io/{'ab'[each % 2]}{'c' * each}" for each in range(20)]
    noted = dict.fromkeys(names, f"{'x' * (ANNOTATION_KEPT - 20)} token={token}")
    noted[names[0]] = f"token={token}"
    read = refused(500, HOOK, annotations=noted) if made == "refusal" else entries_of(event(annotations=noted))[0]
    (kept,) = admit([read], Limits())
    assert isinstance(kept, Request | Entry)
    assert len(kept.annotations) == ANNOTATIONS_KEPT
    assert all(len(said) <= ANNOTATION_KEPT and token[:20] not in said for _, said in kept.annotations)


def test_credentials_in_a_message_are_removed_before_it_is_cut() -> None:
    token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJzeXN0ZW06YW5vbnltb3VzIn0.c2lnbmF0dXJlLXNpZ25hdHVyZS0x"
    long = refused(500, f"{'x' * (MESSAGE_KEPT - 20)} token={token}")
    (kept,) = admit([long], Limits())
    assert isinstance(kept, Request)
    assert len(kept.message) <= MESSAGE_KEPT and token[:20] not in kept.message


@pytest.mark.parametrize(
    ("request_refused", "refuser"),
    [
        (refused(500, HOOK, "InternalError"), webhook("guard.example.io")),
        (
            refused(403, 'serviceaccount "default" not found', "Forbidden"),
            Name("", "Namespace", "", "n"),
        ),
        (
            refused(409, 'on resourcequotas "compute": modified', "Conflict", {"kind": "resourcequotas"}),
            Name("", "ResourceQuota", "n", "compute"),
        ),
        (
            refused(404, "", objectRef={"apiGroup": "k.example.com", "apiVersion": "v1", "resource": "topics"}),
            Name("apiextensions.k8s.io", "CustomResourceDefinition", "", "topics.k.example.com"),
        ),
    ],
    ids=["webhook", "namespace", "quota", "kind"],
)
def test_refused_requests_are_found_by_what_refused_them(request_refused: Request, refuser: Name) -> None:
    world = world_of([request_refused])
    assert [*world.refused_by(refuser)] == [request_refused]
    assert not world.refused_by(refuser._replace(name="other"))


@pytest.mark.parametrize(
    ("body", "blind"),
    [
        ({"metadata": {"finalizers": ["a/b"]}}, ("finalizers",)),
        ({"metadata": {"finalizers": None}}, ("finalizers",)),
        ({"metadata": {"finalizers": ["a/b"], "resourceVersion": "7"}}, ()),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}, ()),
        ({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, ("taints",)),
        ([{"op": "replace", "path": "/metadata/finalizers", "value": []}], ("finalizers",)),
        ([{"op": "test", "path": FIRST, "value": "a"}, {"op": "remove", "path": FIRST}], ()),
        ({"metadata": {"labels": {"a": "b"}}}, ()),
    ],
)  # fmt: skip
def test_a_write_of_a_whole_list_that_names_no_revision_is_blind(body: Any, blind: tuple[str, ...]) -> None:
    (entry,) = entries_of(event(verb="patch", responseStatus={"code": 200}, requestObject=body))
    assert entry.blind == blind
