"""These tests keep what shows the knowledge of a client: its requests, and the copies that the writers of Events held.
What is known of them does not depend on the order of input."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from collectors.formats import read
from collectors.watch.streams.decoding import ObjectDecoder
from collectors.watch.streams.resources import Resource
from tests import ENGINE
from tests.inputs.events import event
from tests.inputs.recordings import SAMPLE, world_of
from tests.unit.history.live_worlds import taken_over
from tests.unit.normalise.test_requests import POD, observed, request_of
from timeline.core.entries import FOREVER, Client, Entry, Mark, Observation, Place, Request, moment
from timeline.history.ledger.acts import Act
from timeline.history.lifelines import Name, name_of
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judge import matters
from timeline.kinds import seconds

RECORDED = 1_795_247_520_123_456  # µs since 1970, 2026-11-21T07:52:00.123456Z
HEX = f"{RECORDED * 1000 + 789:x}"


# Acts: what Events show


def warned(name: str = f"p.{HEX}", **changes: Any) -> dict[str, Any]:
    """Return an Event about a Pod."""
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": "n", "name": "p", "uid": "u1", "resourceVersion": "88"}
    metadata = {"name": name, "namespace": "n", "uid": "e1", "resourceVersion": "150"}
    return {
        "apiVersion": "v1", "kind": "Event", "involvedObject": about, "reason": "Pulled", "message": "pulled",
        "metadata": {**metadata, "creationTimestamp": "2026-11-21T07:52:10Z"},
        "firstTimestamp": "2026-11-21T07:52:01Z", **changes,
    }  # fmt: skip


def watched_event(arrived: int, name: str = f"p.{HEX}") -> Entry:
    """Return the entry of a watch that reports an Event."""
    events = ObjectDecoder(Resource("", "v1", "Event", "events", True), {})
    body = warned(name)
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
    act = act_of(creation(warned(), userAgent="kubelet/v1"))
    assert (act.ref.name, act.ref.uid, act.ref.kind, act.ref.version, act.revision) == ("p", "u1", "Pod", "v1", 88)
    assert (act.recorded, act.recorded_by) == (RECORDED, RECORDED)
    assert (moment(act.received).microsecond, moment(act.staged).microsecond) == (100001, 200002)
    assert (act.actor, act.user_agent, act.client) == ("somebody", "kubelet/v1", Client("192.0.2.7"))
    assert (act.reason, act.child, act.event.name, act.identity) == ("Pulled", "", f"p.{HEX}", "a1")
    assert act.place == Place("log", 1)


def test_without_a_time_in_the_name_the_whole_second_is_known() -> None:
    for name in ("train.wpfgv", "p.00000000deadbeef", f"p.{HEX[:-1]}"):
        act = act_of(creation(warned(name)))
        assert act.recorded == seconds("2026-11-21T07:52:01Z")
        assert act.recorded_by == act.recorded + 999_999


def test_events_of_the_other_group_show_the_same() -> None:
    body = warned("p.x", apiVersion="events.k8s.io/v1", eventTime="2026-11-21T07:52:01.000007Z", note="pulled")
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
    assert act_of(creation(warned(reason=reason, message=message))).child == child


@pytest.mark.parametrize(
    "involved",
    [{"resourceVersion": ""}, {"resourceVersion": "x"}, {"name": None}, {"kind": ""}, {"name": "p" * 2000}, "p", None],
)
def test_an_event_without_a_usual_reference_shows_nothing(involved: Any) -> None:
    about = {**warned()["involvedObject"], **involved} if isinstance(involved, dict) else involved
    world = world_of(observed(creation(warned(involvedObject=about))))
    assert not world.acts(POD)
    assert [track.ref.kind for track in world.tracks()] == ["Event"]


def test_an_event_that_a_later_one_was_added_to_keeps_its_first_act() -> None:
    again = warned(
        count=2, message="pulled again", involvedObject={**warned()["involvedObject"], "resourceVersion": "99"}
    )
    again["metadata"] = {**again["metadata"], "resourceVersion": "151"}
    patch = creation(again, verb="patch", auditID="a2", responseStatus={"code": 200}, user={"username": "other"})
    for order in ([creation(warned()), patch], [patch, creation(warned())]):
        act = act_of(*order)
        assert (act.revision, act.actor) == (88, "somebody")
    assert not world_of(observed(patch)).acts(POD)  # who created it, and when, is not known


def test_a_log_without_bodies_says_who_acted_and_a_watch_on_what() -> None:
    (logged,) = observed(creation(warned(), level="Metadata", responseObject=None))
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


Evidence = tuple[dict[Name, list[Request]], dict[Name, list[Act]]]


def evidence(world: World) -> Evidence:
    requests, acts = {name_of(each.ref) for each in world._ledger.requests}, world._ledger.acts.names()
    return {name: list(world.requests(name)) for name in requests}, {name: list(world.acts(name)) for name in acts}


@cache
def whole() -> World:
    return world_of(everything())


@cache
def expected() -> Evidence:
    return evidence(whole())


def test_the_recordings_have_evidence_of_each_sort() -> None:
    requests, acts = expected()
    verbs = {each.verb for of_name in requests.values() for each in of_name}
    assert {"create", "update", "patch", "delete", "watch", "write"} <= verbs
    assert sum(map(len, acts.values())) > 100


def test_acts_about_one_child_are_those_that_name_it() -> None:
    for name, about in expected()[1].items():
        for child in {act.child for act in about}:
            assert list(whole().acts(name, child)) == [act for act in about if act.child == child]
        assert not whole().acts(name, "another")
    assert any(len({act.child for act in about}) > 2 for about in expected()[1].values())


def test_the_requests_of_an_incarnation_name_its_uid_or_none() -> None:
    found = {track: list(whole().requests_of(track)) for track in whole().tracks()}
    for track, own in found.items():
        assert own == [each for each in whole().requests(track.name) if each.ref.uid in ("", track.ref.uid)]
    assert any({each.ref.uid for each in own} > {""} for own in found.values())


def test_an_analysis_without_most_events_knows_the_same() -> None:
    assert evidence(world_of(everything(), world=World(matters))) == expected()


@pytest.mark.parametrize("part", [3, 2])
def test_a_part_of_the_input_shows_a_part_of_it(part: int) -> None:
    def ended(found: list[Request]) -> set[Request]:  # a watch may have its end in the other part
        return {replace(each, staged=FOREVER, place=None) for each in found}

    requests, acts = evidence(world_of(sample()))
    fewer_requests, fewer_acts = evidence(world_of(sample()[: len(sample()) // part]))
    assert fewer_requests and fewer_acts
    assert all(ended(found) <= ended(requests[name]) for name, found in fewer_requests.items())
    assert all(set(known) <= set(acts[name]) for name, known in fewer_acts.items())


def test_a_judgement_is_repeated_when_new_evidence_arrives() -> None:
    world = RecordingWorld()
    world_of(observed(event()), world=world)
    (pod,) = world.tracks()
    for question, new in ((world.requests, event(verb="get", auditID="a2")), (world.acts, creation(warned()))):
        world.dependencies.begin(pod.key)
        assert not question(POD)
        world.dependencies.end()
        world.dependencies.take()
        world_of(observed(new), world=world)
        assert question(POD)
        assert pod.key in world.dependencies.take()


def test_old_evidence_is_forgotten() -> None:
    world = world_of(observed(event(), event(verb="get", auditID="a2"), creation(warned())))
    open_watch = replace(request_of(verb="watch", auditID="a3"), staged=FOREVER)
    world_of([open_watch], world=world)
    received = open_watch.received
    world.forget((), received - 1)
    assert len(world.requests(POD)) == 2 and len(world.acts(POD)) == 1
    world.forget((), received + 10_000_000)
    assert list(world.requests(POD)) == [open_watch] and not world.acts(POD)
    world.forget((), received + 86_400 * 1_000_000 + 1)
    assert not world.requests(POD)


def test_an_act_outlives_the_memory_of_its_event() -> None:
    """A live source forgets an Event soon after the cluster has deleted it; what it shows is needed longer."""
    world = world_of([watched_event(RECORDED)])
    (event_of,) = world.tracks()
    expected = list(world.acts(POD))
    assert expected
    world.forget([event_of], expected[0].received - 1)
    again = taken_over(world, World())
    assert not list(world.tracks()) and list(world.acts(POD)) == list(again.acts(POD)) == expected
