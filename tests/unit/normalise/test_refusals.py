"""What the API server says of a refusal is kept, and the refused requests of one webhook or budget are found by it."""

from typing import Any

import pytest

from collectors.formats import Limits
from collectors.gate import MESSAGE_KEPT, admit
from tests.inputs.events import entries_of, event
from tests.inputs.recordings import world_of
from tests.unit.normalise.test_requests import request_of
from timeline.core.entries import Request
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
