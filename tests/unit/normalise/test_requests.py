"""These tests read what audit logs show of requests that changed nothing, and of the process that sent each request."""

import random
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.normalise.requests import parameters
from collectors.redaction.entries import without_credentials
from tests.inputs.credentials import FORMS
from tests.inputs.events import event
from tests.inputs.recordings import world_of
from tests.properties import examples
from tests.unit.judging import logs
from timeline.core.entries import FOREVER, Client, Entry, Observation, Place, Request, moment
from timeline.history.lifelines import Name

POD = Name("", "Pod", "n", "p")


def observed(*events: dict[str, Any]) -> list[Observation]:
    return logs.observed(events)


def request_of(**changes: Any) -> Request:
    (request,) = observed(event(**changes))
    assert isinstance(request, Request)
    return request


def entry_of(**changes: Any) -> Entry:
    (entry,) = observed(event(**changes))
    assert isinstance(entry, Entry)
    return entry


HELD = {"resource": "pods", "namespace": "n", "name": "p", "apiVersion": "v1", "resourceVersion": "90"}
ANSWERED = {"responseStatus": {"code": 200}, "responseObject": None}


def test_a_refused_update_shows_which_revision_its_client_held() -> None:
    status, about = {"code": 409, "reason": "Conflict"}, {**HELD, "subresource": "status"}
    request = request_of(
        verb="update", level="Metadata", objectRef=about, responseStatus=status, responseObject=None,
        userAgent="kubelet/v1",
    )  # fmt: skip
    assert (request.verb, request.code, request.reason, request.named) == ("update", 409, "Conflict", 90)
    assert (request.refused, request.action, request.ref.name, request.ref.kind) == (True, "status", "p", "Pod")
    assert (request.actor, request.user_agent, request.identity) == ("somebody", "kubelet/v1", "a1")
    assert (moment(request.received).microsecond, moment(request.staged).microsecond) == (100001, 200002)
    assert request.place == Place("log", 1)


@given(st.text("ab=&%+2 \0", max_size=30))
@examples(75)
def test_the_parameters_of_an_address_are_those_that_the_standard_library_reads(query: str) -> None:
    assert parameters(query) == {name: values[0] for name, values in parse_qs(query).items()}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"metadata": {"resourceVersion": "91"}}, 91),
        ({"kind": "DeleteOptions", "preconditions": {"resourceVersion": "92", "uid": "u"}}, 92),
        ([{"op": "add", "path": "/metadata/labels", "value": {}}], None),
        (None, None),
    ],
)
def test_the_body_names_a_revision_where_the_reference_does_not(body: Any, named: int | None) -> None:
    assert request_of(verb="patch", responseStatus={"code": 409}, requestObject=body).named == named


def test_a_list_and_a_watch_show_where_a_view_began() -> None:
    uri, about = "/api/v1/pods?", {"resource": "pods", "apiVersion": "v1"}
    query = "labelSelector=app%3Da&fieldSelector=spec.nodeName%3Dx&resourceVersion=77&watch=true"
    query += "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
    watch = request_of(verb="watch", objectRef=about, requestURI=uri + query, **ANSWERED)
    assert (watch.since, watch.match, watch.initial) == ("77", "NotOlderThan", True)
    assert (watch.selector, watch.ref.name, watch.ref.namespace) == ("app=a,spec.nodeName=x", "", "")
    newest = request_of(verb="list", objectRef=about, requestURI=f"{uri}limit=500", **ANSWERED)
    assert (newest.since, newest.match, newest.initial, newest.selector) == ("", "", False, "")
    odd = request_of(verb="list", objectRef=about, requestURI=f"{uri}resourceVersion=x", **ANSWERED)
    assert odd.since == "unknown"


def test_a_watch_is_answered_when_it_ends() -> None:
    """The API server logs its start and its end with one auditID."""
    first = request_of(verb="watch", stage="ResponseStarted", **ANSWERED)
    last = request_of(verb="watch", stageTimestamp="2026-11-21T07:59:00.000001Z", **ANSWERED)
    assert (first.staged, moment(last.staged).minute) == (FOREVER, 59)
    last = replace(last, place=first.place)
    for order in ([first, last], [last, first], [last, first, last]):
        assert list(world_of(order).requests(POD)) == [last]
    assert list(world_of([first]).requests(POD)) == [first]


def test_a_get_shows_what_its_client_was_answered() -> None:
    request = request_of(verb="get", responseStatus={"code": 200})
    assert (request.answered, request.named, request.refused) == (100, None, False)
    assert request_of(verb="get", responseStatus={"code": 404}).answered is None


@pytest.mark.parametrize(
    "changes",
    [
        {"verb": "update", "responseStatus": {"code": 409}, "requestURI": "/api/v1/namespaces/n/pods/p?dryRun=All"},
        {"verb": "get", "stage": "RequestReceived"},
        {"verb": "update", "stage": "Panic", "responseStatus": {"code": 500}},
        {"verb": "get", "objectRef": None},
        {"verb": "proxy"},
    ],
)
def test_other_events_are_no_requests(changes: dict[str, Any]) -> None:
    assert observed(event(**changes)) == []


def test_a_process_is_known_by_the_token_of_its_pod() -> None:
    said = {"pod-name": "cm-0", "pod-uid": "7d", "node-name": "node-1", "credential-id": "JTI=x"}
    extra = {f"authentication.kubernetes.io/{name}": [value] for name, value in said.items()}
    user = {"username": "system:serviceaccount:kube-system:cm", "extra": extra}
    entry = entry_of(user=user, sourceIPs=["10.0.0.7", "no address", "::1"])
    assert entry.client == Client("10.0.0.7,::1", "cm-0", "7d", "node-1")
    entry = entry_of(sourceIPs=["no address"])
    assert entry.client == Client() and not entry.client


def test_an_update_without_an_answer_keeps_the_revision_that_it_named() -> None:
    entry = entry_of(verb="update", level="Metadata", objectRef=HELD, responseObject=None)
    assert (entry.named, entry.resource_version, entry.replaces) == (90, None, None)


def test_a_write_that_repeats_a_revision_changed_nothing() -> None:
    times = [f"2026-11-21T07:52:0{second}.000000Z" for second in range(4)]
    writes = [
        entry_of(verb="update", auditID=f"a{at}", requestReceivedTimestamp=time, stageTimestamp=time)
        for at, time in enumerate(times)
    ]
    for seed in range(6):
        world = world_of(random.Random(seed).sample(writes + writes[:2], 6))
        found = [(each.identity, each.verb, each.answered) for each in world.requests(POD)]
        assert found == [(f"a{at}", "write", 100) for at in (1, 2, 3)]
        assert [moment.identity for track in world.tracks() for moment in track.moments] == ["a0"]


def test_no_text_of_a_request_or_a_client_keeps_a_credential() -> None:
    secret, request = FORMS["JWT"], request_of(verb="get")
    texts = ("verb", "reason", "action", "since", "match", "selector", "actor", "user_agent", "identity")
    for changed in ({name: secret} for name in texts):
        assert secret not in str(without_credentials(replace(request, **changed))), changed
    for field in msgspec.structs.fields(Client):
        client = replace(Client("192.0.2.7", "p", "u", "n"), **{field.name: secret})
        for each in (replace(request, client=client), replace(entry_of(), client=client)):
            assert secret not in str(without_credentials(each)), field.name
