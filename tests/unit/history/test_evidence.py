"""These tests keep what shows the knowledge of a client: requests that changed nothing, the process that sent each
request, and the copies that the writers of Events held. What is known of them does not depend on the order of input."""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.formats import read
from collectors.formats.audit import read_lines
from collectors.formats.stream import Line
from collectors.normalise.requests import parameters
from collectors.redaction.entries import without_credentials
from collectors.watch.streams.decoding import ObjectDecoder
from collectors.watch.streams.resources import Resource
from tests import ENGINE
from tests.credentials import FORMS
from tests.events import event
from tests.properties import examples
from tests.recordings import SAMPLE, world_of
from timeline.core.entries import FOREVER, Client, Entry, Mark, Observation, Place, Request, moment
from timeline.history.ledger.acts import Act
from timeline.history.lifelines import Name
from timeline.history.snapshot import lines_of, snapshot_of
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judge import matters
from timeline.kinds import seconds

POD = Name("", "Pod", "n", "p")
RECORDED = 1_795_247_520_123_456  # µs since 1970, 2026-11-21T07:52:00.123456Z
HEX = f"{RECORDED * 1000 + 789:x}"


def observed(*events: dict[str, Any], file: str = "log") -> list[Observation]:
    lines = (Line(file, number, json.dumps(each).encode()) for number, each in enumerate(events, 1))
    return [each for each in read_lines(lines, False) if isinstance(each, Entry | Request)]


def request_of(**changes: Any) -> Request:
    (request,) = observed(event(**changes))
    assert isinstance(request, Request)
    return request


# Requests of audit logs


def test_a_refused_update_shows_which_revision_its_client_held() -> None:
    about = {"resource": "pods", "namespace": "n", "name": "p", "apiVersion": "v1", "resourceVersion": "90"}
    request = request_of(
        verb="update",
        level="Metadata",
        objectRef={**about, "subresource": "status"},
        responseStatus={"code": 409, "reason": "Conflict"},
        responseObject=None,
        userAgent="kubelet/v1",
    )
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
    uri = "/api/v1/pods?labelSelector=app%3Da&fieldSelector=spec.nodeName%3Dx&resourceVersion=77&watch=true"
    about = {"resource": "pods", "apiVersion": "v1"}
    status = {"responseStatus": {"code": 200}, "responseObject": None}
    query = "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
    watch = request_of(verb="watch", objectRef=about, requestURI=uri + query, **status)
    assert (watch.since, watch.match, watch.initial) == ("77", "NotOlderThan", True)
    assert (watch.selector, watch.ref.name, watch.ref.namespace) == ("app=a,spec.nodeName=x", "", "")
    newest = request_of(verb="list", objectRef=about, requestURI="/api/v1/pods?limit=500", **status)
    assert (newest.since, newest.match, newest.initial, newest.selector) == ("", "", False, "")
    odd = request_of(verb="list", objectRef=about, requestURI="/api/v1/pods?resourceVersion=x", **status)
    assert odd.since == "unknown"


def test_a_watch_is_answered_when_it_ends() -> None:
    """The API server logs its start and its end with one auditID."""
    about = {"verb": "watch", "responseStatus": {"code": 200}, "responseObject": None}
    started = event(**about, stage="ResponseStarted")
    ended = event(**about, stageTimestamp="2026-11-21T07:59:00.000001Z")
    first, last = observed(started, ended)
    assert isinstance(first, Request) and isinstance(last, Request)
    assert (first.staged, moment(last.staged).minute) == (FOREVER, 59)
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
    extra = {
        "authentication.kubernetes.io/pod-name": ["cm-0"],
        "authentication.kubernetes.io/pod-uid": ["7d"],
        "authentication.kubernetes.io/node-name": ["node-1"],
        "authentication.kubernetes.io/credential-id": ["JTI=x"],
    }
    user = {"username": "system:serviceaccount:kube-system:cm", "extra": extra}
    (entry,) = observed(event(user=user, sourceIPs=["10.0.0.7", "no address", "::1"]))
    assert isinstance(entry, Entry)
    assert entry.client == Client("10.0.0.7,::1", "cm-0", "7d", "node-1")
    (entry,) = observed(event(sourceIPs=["no address"]))
    assert isinstance(entry, Entry) and entry.client == Client() and not entry.client


def test_an_update_without_an_answer_keeps_the_revision_that_it_named() -> None:
    about = {"resource": "pods", "namespace": "n", "name": "p", "apiVersion": "v1", "resourceVersion": "90"}
    (entry,) = observed(event(verb="update", level="Metadata", objectRef=about, responseObject=None))
    assert isinstance(entry, Entry)
    assert (entry.named, entry.resource_version, entry.replaces) == (90, None, None)


def test_a_write_that_repeats_a_revision_changed_nothing() -> None:
    times = [f"2026-11-21T07:52:0{second}.000000Z" for second in range(4)]
    writes = [
        observed(event(verb="update", auditID=f"a{at}", requestReceivedTimestamp=time, stageTimestamp=time))[0]
        for at, time in enumerate(times)
    ]
    for seed in range(6):
        order = writes + writes[:2]
        random.Random(seed).shuffle(order)
        world = world_of(order)
        requests = world.requests(POD)
        assert [(each.identity, each.verb, each.answered) for each in requests] == [
            ("a1", "write", 100), ("a2", "write", 100), ("a3", "write", 100),
        ]  # fmt: skip
        assert [moment.identity for track in world.tracks() for moment in track.moments] == ["a0"]


@pytest.mark.parametrize(
    "field", ["verb", "reason", "action", "since", "match", "selector", "actor", "user_agent", "identity"]
)
def test_no_text_of_a_request_keeps_a_credential(field: str) -> None:
    request = replace(request_of(verb="get"), **{field: FORMS["JWT"]})
    assert FORMS["JWT"] not in str(without_credentials(request))


@pytest.mark.parametrize("field", msgspec.structs.fields(Client), ids=lambda field: field.name)
def test_no_text_of_a_client_keeps_a_credential(field: Any) -> None:
    client = replace(Client("192.0.2.7", "p", "u", "n"), **{field.name: FORMS["JWT"]})
    (entry,) = observed(event())
    assert isinstance(entry, Entry)
    for each in (replace(request_of(verb="get"), client=client), replace(entry, client=client)):
        assert FORMS["JWT"] not in str(without_credentials(each))


# Acts: what Events show


def told(name: str = f"p.{HEX}", **changes: Any) -> dict[str, Any]:
    """Return an Event about a Pod."""
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": "n", "name": "p", "uid": "u1", "resourceVersion": "88"}
    metadata = {"name": name, "namespace": "n", "uid": "e1", "resourceVersion": "150"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {**metadata, "creationTimestamp": "2026-11-21T07:52:10Z"},
        "involvedObject": about,
        "reason": "Pulled",
        "message": "pulled",
        "firstTimestamp": "2026-11-21T07:52:01Z",
        **changes,
    }


def watched_event(arrived: int, name: str = f"p.{HEX}") -> Entry:
    """Return the entry of a watch that reports an Event."""
    events = ObjectDecoder(Resource("", "v1", "Event", "events", True), {})
    body = told(name)
    body["metadata"]["uid"] = f"uid of {name}"
    entry = events.event(msgspec.json.encode({"type": "ADDED", "object": body}), arrived, 0)
    assert isinstance(entry, Entry)
    return entry


def creation(body: dict[str, Any], group: str = "", **changes: Any) -> dict[str, Any]:
    """Return the audit event of the creation of an Event."""
    name = body["metadata"]["name"]
    about = {"resource": "events", "namespace": "n", "name": name, "apiVersion": "v1", "apiGroup": group}
    return event(**{"objectRef": about, "responseObject": body, "sourceIPs": ["192.0.2.7"], **changes})


def act_of(*events: dict[str, Any]) -> Act:
    (act,) = world_of(observed(*events)).acts(POD)
    return act


def test_an_event_shows_the_copy_that_its_writer_held_and_when() -> None:
    act = act_of(creation(told(), userAgent="kubelet/v1"))
    assert (act.ref.name, act.ref.uid, act.ref.kind, act.ref.version, act.revision) == ("p", "u1", "Pod", "v1", 88)
    assert (act.recorded, act.recorded_by) == (RECORDED, RECORDED)
    assert (moment(act.received).microsecond, moment(act.staged).microsecond) == (100001, 200002)
    assert (act.actor, act.user_agent, act.client) == ("somebody", "kubelet/v1", Client("192.0.2.7"))
    assert (act.reason, act.child, act.event.name, act.identity) == ("Pulled", "", f"p.{HEX}", "a1")
    assert act.place == Place("log", 1)


def test_without_a_time_in_the_name_the_whole_second_is_known() -> None:
    for name in ("train.wpfgv", "p.00000000deadbeef", f"p.{HEX[:-1]}"):
        act = act_of(creation(told(name)))
        assert act.recorded == seconds("2026-11-21T07:52:01Z")
        assert act.recorded_by == act.recorded + 999_999


def test_events_of_the_other_group_show_the_same() -> None:
    body = told("p.x", apiVersion="events.k8s.io/v1", eventTime="2026-11-21T07:52:01.000007Z", note="pulled")
    body["regarding"] = body.pop("involvedObject")
    body["deprecatedFirstTimestamp"] = body.pop("firstTimestamp")
    act = act_of(creation(body, group="events.k8s.io"))
    assert (act.revision, act.recorded) == (88, seconds("2026-11-21T07:52:01Z") + 7)


@pytest.mark.parametrize(
    ("reason", "message", "child"),
    [
        ("SuccessfulCreate", "Created pod: report-0-9gdxc", "report-0-9gdxc"),
        ("SuccessfulDelete", "Deleted pod: web-1", "web-1"),
        ("SuccessfulCreate", "Created job report-0", "report-0"),
        ("SuccessfulDelete", "delete Pod db-1 in StatefulSet db successful", "db-1"),
        ("SuccessfulCreate", "Create Claim data-db-0 Pod db-0 in StatefulSet db success", "data-db-0"),
        ("SuccessfulCreate", None, ""),
        ("Pulled", "Created pod: p", ""),
    ],
)
def test_an_event_names_the_child_that_was_created_or_deleted(reason: str, message: str | None, child: str) -> None:
    assert act_of(creation(told(reason=reason, message=message))).child == child


@pytest.mark.parametrize(
    "involved",
    [{"resourceVersion": ""}, {"resourceVersion": "x"}, {"name": None}, {"kind": ""}, {"name": "p" * 2000}, "p", None],
)
def test_an_event_without_a_usual_reference_shows_nothing(involved: Any) -> None:
    about = {**told()["involvedObject"], **involved} if isinstance(involved, dict) else involved
    world = world_of(observed(creation(told(involvedObject=about))))
    assert not world.acts(POD)
    assert [track.ref.kind for track in world.tracks()] == ["Event"]


def test_an_event_that_a_later_one_was_added_to_keeps_its_first_act() -> None:
    again = told(count=2, message="pulled again", involvedObject={**told()["involvedObject"], "resourceVersion": "99"})
    again["metadata"] = {**again["metadata"], "resourceVersion": "151"}
    patch = creation(again, verb="patch", auditID="a2", responseStatus={"code": 200}, user={"username": "other"})
    for order in ([creation(told()), patch], [patch, creation(told())]):
        act = act_of(*order)
        assert (act.revision, act.actor) == (88, "somebody")
    assert not world_of(observed(patch)).acts(POD)  # who created it, and when, is not known


def test_a_log_without_bodies_says_who_acted_and_a_watch_on_what() -> None:
    (logged,) = observed(creation(told(), level="Metadata", responseObject=None))
    watched = watched_event(RECORDED)
    for order in ([logged, watched], [watched, logged]):
        for world in (world_of(order), world_of([order[0]], [order[1]]), world_of(order, world=World(matters))):
            (act,) = world.acts(POD)
            assert (act.revision, act.recorded, act.actor) == (88, RECORDED, "somebody")
    assert not world_of([logged]).acts(POD)


# Any order, any source


def observations_of(path: Path) -> list[Observation]:
    return [item for item in read([(path, path.name)], bodies=False) if isinstance(item, Entry | Request | Mark)]


@cache
def sample() -> list[Observation]:
    return observations_of(SAMPLE)


@cache
def everything() -> list[Observation]:
    paths = [ENGINE / "families.jsonl.zst", *sorted((ENGINE / "families-watch").iterdir())]
    return [*sample(), *(each for path in paths for each in observations_of(path))]


def test_acts_about_one_child_are_those_that_name_it() -> None:
    world = world_of(everything())
    acts = [(name, world.acts(name)) for name in world._ledger.acts.names()]
    for name, about in acts:
        for child in {act.child for act in about}:
            assert list(world.acts(name, child)) == [act for act in about if act.child == child]
        assert not world.acts(name, "another")
    assert any(len({act.child for act in about}) > 2 for _, about in acts)


def evidence(world: World) -> tuple[dict[Name, list[Request]], dict[Name, list[Act]]]:
    ledger = world._ledger
    names = {Name(ref.group, ref.kind, ref.namespace, ref.name) for ref in (each.ref for each in ledger.requests)}
    return (
        {name: list(world.requests(name)) for name in names},
        {name: list(world.acts(name)) for name in ledger.acts.names()},
    )


@cache
def expected() -> tuple[dict[Name, list[Request]], dict[Name, list[Act]]]:
    return evidence(world_of(everything()))


def test_the_requests_of_an_incarnation_name_its_uid_or_none() -> None:
    world = world_of(everything())
    found = {track.key: list(world.requests_of(track)) for track in world.tracks()}
    for track in world.tracks():
        wanted = [each for each in world.requests(track.name) if each.ref.uid in ("", track.ref.uid)]
        assert found[track.key] == wanted
    assert any({each.ref.uid for each in own} > {""} for own in found.values())


def test_the_recordings_have_evidence_of_each_sort() -> None:
    requests, acts = expected()
    verbs = {each.verb for of_name in requests.values() for each in of_name}
    assert {"create", "update", "patch", "delete", "watch", "write"} <= verbs
    assert sum(map(len, acts.values())) > 100


@examples(2)
@given(seed=st.integers(0, 2**32), batches=st.integers(1, 4), doubled=st.integers(0, 300))
def test_shuffled_doubled_and_batched_input_shows_the_same(seed: int, batches: int, doubled: int) -> None:
    chance = random.Random(seed)
    items = everything() + chance.sample(everything(), doubled)
    chance.shuffle(items)
    size = len(items) // batches + 1
    assert evidence(world_of(*(items[at : at + size] for at in range(0, len(items), size)))) == expected()


@pytest.mark.parametrize("seed", range(2))
def test_what_a_world_hands_on_is_enough_to_learn_it_again(seed: int) -> None:
    items = everything()[:]
    random.Random(seed).shuffle(items)
    world, again = World(), World()
    news = [each for _, each in world.learn(items)]
    assert [each for _, each in again.learn(news)] == news
    assert list(again.learn(items)) == []
    world.settle()
    again.settle()
    assert evidence(again) == evidence(world) == expected()


def test_an_analysis_without_most_events_knows_the_same() -> None:
    assert evidence(world_of(everything(), world=World(matters))) == expected()


@pytest.mark.parametrize("part", [3, 2])
def test_a_part_of_the_input_shows_a_part_of_it(part: int) -> None:
    requests, acts = evidence(world_of(sample()))
    fewer_requests, fewer_acts = evidence(world_of(sample()[: len(sample()) // part]))
    assert fewer_requests and fewer_acts
    for name, found in fewer_requests.items():  # a watch may have its end in the other part
        assert {replace(each, staged=FOREVER, place=None) for each in found} <= {
            replace(each, staged=FOREVER, place=None) for each in requests[name]
        }
    for name, known in fewer_acts.items():
        assert set(known) <= set(acts[name])


def test_a_snapshot_keeps_it() -> None:
    world = world_of(sample())
    snapshot = snapshot_of(lines_of(world.snapshot()))
    assert snapshot is not None
    again = World()
    again.restore(snapshot)
    again.settle()
    assert evidence(again) == evidence(world)


def test_a_judgement_is_repeated_when_new_evidence_arrives() -> None:
    world = RecordingWorld()
    world_of(observed(event()), world=world)
    (pod,) = world.tracks()
    for question, new in ((world.requests, event(verb="get", auditID="a2")), (world.acts, creation(told()))):
        world.dependencies.begin(pod.key)
        assert not question(POD)
        world.dependencies.end()
        world.dependencies.take()
        world_of(observed(new), world=world)
        assert question(POD)
        assert pod.key in world.dependencies.take()


def test_old_evidence_is_forgotten() -> None:
    day = 86_400 * 1_000_000
    world = world_of(observed(event(), event(verb="get", auditID="a2"), creation(told())))
    open_watch = replace(request_of(verb="watch", auditID="a3"), staged=FOREVER)
    world_of([open_watch], world=world)
    received = open_watch.received
    world.forget((), received - 1)
    assert len(world.requests(POD)) == 2 and len(world.acts(POD)) == 1
    world.forget((), received + 10_000_000)
    assert list(world.requests(POD)) == [open_watch] and not world.acts(POD)
    world.forget((), received + day + 1)
    assert not world.requests(POD)


def test_an_act_outlives_the_memory_of_its_event() -> None:
    """A live source forgets an Event soon after the cluster has deleted it; what it shows is needed longer."""
    world = world_of([watched_event(RECORDED)])
    (event_of,) = world.tracks()
    expected = list(world.acts(POD))
    assert expected
    world.forget([event_of], expected[0].received - 1)
    again = World()
    snapshot = snapshot_of(lines_of(world.snapshot()))
    assert snapshot is not None
    again.restore(snapshot)
    assert not list(world.tracks()) and list(world.acts(POD)) == list(again.acts(POD)) == expected
