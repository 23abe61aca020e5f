"""These tests put a log of level Metadata beside the watches of the same cluster: both are one thing, in any order."""

import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import DATA
from tests.inputs import mutations
from tests.inputs.live import batches
from tests.inputs.mutations import Event, Log
from tests.inputs.recordings import observations_of, world_of
from tests.properties import examples
from tests.unit.history.live_worlds import Judged, taken_over
from tests.unit.judging.logs import at_level, log_of, observed
from tests.unit.judging.test_live_causes import followed, watched
from timeline.core.entries import Change, Clock, Entry, Facts, Mark, MarkType, ObjectRef, Observation, Request
from timeline.core.machine.spill import Spill, Spilling
from timeline.history.lifelines import Key, name_of, public_uid
from timeline.history.world.in_file import ReadTrack
from timeline.history.world.world import World
from timeline.kinds.event import EventFacts

PAIRS = ("orders", "stale-jobs")
pairs = pytest.mark.parametrize("name", PAIRS)


def log(name: str) -> Log:
    return log_of(DATA / "beside" / name / "audit.jsonl.zst")


def read(events: Iterable[Event], level: str = "Metadata", file: str = "audit.jsonl") -> list[Observation]:
    return observed(at_level(level, [*events]), file)


@cache
def bare(name: str) -> list[Observation]:
    return read(log(name))


@cache
def shown(name: str) -> list[Observation]:
    files = sorted((DATA / "beside" / name / "watch").glob("*.zst"))
    return [each for file in files for each in observations_of(file)]


@cache
def alone(name: str) -> World:
    return world_of(shown(name))


@cache
def beside(name: str) -> World:
    return world_of([*shown(name), *bare(name)])


@cache
def writes(name: str) -> dict[tuple[Key, int], str]:
    """Return which write made each change, as the bodies of the log show it."""
    return joined(world_of([*read(log(name), "RequestResponse"), *shown(name)]))


def joined(world: World) -> dict[tuple[Key, int], str]:
    return {
        (track.key, each.entry.resource_version): each.entry.identity
        for track in world.tracks()
        for each in track.moments
        if each.clock is Clock.AUDIT and each.entry.resource_version is not None
    }


def lifelines(world: World) -> dict[Key, object]:
    return {
        track.key: [
            (each.time, each.change, each.entry.resource_version, each.entry.identity, each.facts)
            for each in track.moments
        ]
        for track in world.tracks()
    }


def assert_no_second_bar(world: World) -> None:
    tracks = [track for track in world.tracks() if world.seen[track.name[:2]].streamed]
    named = {track.name for track in tracks if public_uid(track.ref)}
    assert not [track for track in tracks if not public_uid(track.ref) and track.name in named]


@pairs
def test_each_object_has_one_life_and_each_change_counts_once(name: str) -> None:
    followed = {kind for kind, seen in alone(name).seen.items() if seen.streamed}
    uids = {track.ref.uid for track in alone(name).tracks()}
    seen = [track for track in beside(name).tracks() if track.name[:2] in followed]
    assert uids >= {track.ref.uid for track in seen if public_uid(track.ref)} and len(uids) > 100
    assert_no_second_bar(beside(name))
    for kind in followed:
        drawn = sum(len(track.moments) for track in seen if track.name[:2] == kind)
        assert beside(name).changes(kind) == drawn, kind


@pairs
def test_who_wrote_a_change_is_who_the_bodies_of_the_log_show(name: str) -> None:
    found = {change: identity for change, identity in joined(beside(name)).items() if identity}
    assert found.items() <= writes(name).items()
    assert all(
        each.facts is not None
        for track in beside(name).tracks()
        for each in track.moments
        if (track.key, each.entry.resource_version) in found
    )
    changes = {(track.key, each.entry.resource_version) for track in alone(name).tracks() for each in track.moments}
    assert len(found) > 0.9 * len(changes & writes(name).keys())


@examples(6)
@given(name=st.sampled_from(PAIRS), seed=st.integers(0, 2**32), share=st.sampled_from([0.05, 0.3]))
def test_where_lines_are_missing_nothing_is_joined_to_a_write_that_did_not_make_it(
    name: str, seed: int, share: float
) -> None:
    chance = random.Random(seed)
    events = mutations.lost(log(name), chance, share)
    program = chance.choice(["kubelet", "kube-controller-manager", "kube-scheduler", "nobody"])
    events = [event for event in events if not event["userAgent"].startswith(program)]
    world = world_of([*shown(name), *(each for each in read(events) if isinstance(each, Entry))])
    assert joined(world).items() <= writes(name).items()


@examples(6)
@example(name="orders", seed=20059, size=40)  # a watch shows late what tells two creations without a name apart
@given(name=st.sampled_from(PAIRS), seed=st.integers(0, 2**32), size=st.sampled_from([40, 400]))
def test_the_parts_come_in_any_order(name: str, seed: int, size: int) -> None:
    chance = random.Random(seed)
    pieces = [*batches(shown(name), size), *batches(bare(name), size)]
    chance.shuffle(pieces)
    assert lifelines(world_of(*pieces)) == lifelines(beside(name))


@pairs
def test_the_same_is_known_of_both_if_they_are_too_much_for_memory(name: str, tmp_path: Path) -> None:
    with Spill(tmp_path) as spill:
        spilled = world_of([*bare(name), *shown(name)], world=World(spilling=Spilling(spill, 100)))
        assert isinstance(next(spilled.tracks()), ReadTrack) and lifelines(spilled) == lifelines(beside(name))


def test_custom_resources_of_the_log_are_the_objects_of_the_watch() -> None:
    world = beside("orders")
    assert not [kind for kind in world.seen if kind[1] == "widgets"]
    made = [track for track in world.tracks() if track.name.kind == "Widget" and track.created]
    assert made and all(each.created and each.created.entry.actor for each in made)


CALLED, WIDGET = (ObjectRef("example.io", "v1", kind, "n", "w") for kind in ("widgets", "Widget"))
REFUSED = Request(CALLED, "update", 409, 5, 6)
CREATED = Entry(replace(WIDGET, uid="u1"), Change.CREATED, 7, Clock.OBJECT, 3, 4, facts=Facts(created=1), arrived=5)


def test_a_refused_request_about_a_custom_resource_is_about_the_object_of_the_watch() -> None:
    for parts in ([REFUSED], [CREATED]), ([CREATED], [REFUSED]), ([CREATED, REFUSED],):
        world = world_of(*parts)
        assert [each.ref.kind for each in world.requests(name_of(WIDGET))] == ["Widget"]
        assert world.requested_names() == {name_of(WIDGET)}


def test_who_takes_over_knows_custom_resources_by_their_kinds() -> None:
    again = Judged(followed=True)
    taken_over(followed([REFUSED, CREATED]).world, again.world)
    again.commit([replace(REFUSED, received=8, staged=9)])
    assert len(again.world.requests(name_of(WIDGET))) == 2


def test_events_that_another_api_shows_are_the_same_events() -> None:
    world = beside("stale-jobs")
    assert ("events.k8s.io", "Event") not in world.seen and not [*world.of_kind("events.k8s.io", "Event")]
    scheduled = [each for each in world.of_kind("", "Event") if each.created and "scheduler" in each.created.user_agent]
    assert any(each.created and each.created.entry.resource_version for each in scheduled)


def test_a_connected_cluster_learns_late_that_events_of_both_apis_are_the_same() -> None:
    state = EventFacts(created=1)
    logged, watched_one = (
        Entry(ObjectRef(group, "v1", "Event", "n", "e", uid), Change.CREATED, 7, clock, 3, 4, state, arrived=at)
        for group, uid, clock, at in (("events.k8s.io", "", Clock.AUDIT, 0), ("", "u1", Clock.OBJECT, 5))
    )
    live = followed([Mark("", "v1", "Event", MarkType.LISTED, 2, 1), logged], [watched_one])
    assert {track.name.group for track in live.world.tracks()} == {""}


def test_what_both_show_was_created_and_not_listed() -> None:
    listed = [track for track in alone("orders").tracks() if track.first.change is Change.OBSERVED]
    created = [track for each in listed if (track := beside("orders").track(each.key)) and track.created]
    assert {track.name.kind for track in created} >= {"Service", "Deployment", "Node"}
    assert all(track.created and track.created.entry.actor for track in created)


@pairs
def test_a_connected_cluster_shows_the_same_whatever_comes_first(name: str) -> None:
    entries = [each for each in read(log(name), "RequestResponse") if isinstance(each, Entry) and each.facts]
    live = watched([each for each in entries if each.resource_version is not None])
    half = len(live) // 2
    first, last = followed(live, *batches(bare(name), 300)), followed(live[:half], bare(name), live[half:])
    assert lifelines(first.world) == lifelines(last.world)
    assert sum(bool(each.entry.identity) for track in first.world.tracks() for each in track.moments) > 100
    assert_no_second_bar(first.world)
    assert first.findings().keys() == last.findings().keys()
