"""These tests build lives from entries: the order in which entries arrive does not change the world."""

import random
from datetime import UTC, datetime
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import Skipped, read
from tests import DATA, ENGINE, RULES
from tests.inputs.live import batches
from tests.inputs.recordings import SAMPLE, entries_of, findings_of, world_of
from tests.properties import examples
from tests.unit.history.live_worlds import taken_over
from tests.unit.history.test_evidence import evidence
from timeline.core.entries import Entry, Observation, Place, microseconds
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.copies.actor_copies import copies_of
from timeline.judging.copies.staleness import stale_acts
from timeline.judging.coverage.sources import coverage
from timeline.judging.incidents.changes import before, known_changes
from timeline.payloads.changes import sentence

RING = Name("batch.volcano.sh", "Job", "vol-restart", "ring")


@cache
def sample() -> list[Entry]:
    return entries_of(SAMPLE)


@cache
def sample_world() -> World:
    return world_of(sample())


def contents(world: World) -> list[tuple[object, list[Moment], int | None]]:
    return [(track.ref, track.moments, track.until) for track in world.tracks()]


def the(world: World, *name: str) -> list[Track]:
    return [*world.incarnations(Name(*name))]


def test_a_name_keeps_its_lives_apart() -> None:
    first, second, third = the(sample_world(), "", "Service", "vol-restart", "ring")
    assert first.ended and second.created and second.ended and third.created
    assert (first.ended.stamp.resource_version, second.created.stamp.resource_version) == (582, 592)
    assert first.ended.time < second.created.time
    endpoints = the(sample_world(), "", "Endpoints", "vol-restart", "ring")[0]
    assert (endpoints.ended, endpoints.until) == (None, first.until)  # they end with their Service


def test_lives_without_uid_are_cut_at_creations() -> None:
    lives = the(sample_world(), "", "ConfigMap", "vol-restart", "ring-svc")
    assert len(lives) > 1
    assert all(life.created for life in lives)
    assert len({life.key for life in lives}) == len(lives)


def test_everything_of_a_job_is_found_from_its_root() -> None:
    world = sample_world()
    root = the(world, *RING)[0]
    kinds = [
        ("", "Pod", "ring-weak-0"),
        ("", "Service", "ring"),
        ("", "Endpoints", "ring"),
        ("", "ConfigMap", "ring-svc"),
    ]
    of_it = [the(world, group, kind, "vol-restart", name)[0] for group, kind, name in kinds]
    of_it += the(world, "discovery.k8s.io", "EndpointSlice", "vol-restart", "ring-xmgvs")
    assert len(of_it) > 4 and all(world.root(each) is root for each in of_it)


def test_of_a_line_that_stands_twice_the_first_is_shown_whichever_is_read_first() -> None:
    entry = next(entry for entry in sample() if entry.ref.kind == "Service")
    again = msgspec.structs.replace(entry, place=Place("zz.jsonl", 1))
    assert contents(world_of([entry], [again])) == contents(world_of([again], [entry]))


def test_a_pod_was_asked_to_end_before_a_line_says_so() -> None:
    # A deletecollection at 08:00:10 requests it without naming the Pod; a line of the kubelet shows it at 08:00:40.
    world = world_of(entries_of(RULES / "service-gap" / "quiet-collection-deleted.jsonl"))
    (pod,) = the(world, "", "Pod", "made", "ring-0")
    assert pod.asked_to_end == microseconds(datetime(2026, 11, 21, 8, 0, 10, tzinfo=UTC))
    assert next(moment for moment in pod.moments if moment.facts.deleting).time > pod.asked_to_end + 20_000_000


def test_a_binding_schedules_the_pod_before_its_status_says_so() -> None:
    pod = the(sample_world(), "", "Pod", "vol-restart", "ring-weak-0")[1]
    binding = next(moment for moment in pod.moments if moment.action == "binding")
    assert binding.facts.node == "node-004"
    assert binding.facts.subdomain == "ring"


def test_two_clusters_are_reported_by_the_same_two_objects_in_any_order() -> None:
    others = [
        msgspec.structs.replace(entry, ref=msgspec.structs.replace(entry.ref, uid=f"other-{entry.ref.uid}"))
        for entry in sample()
        if entry.ref.uid
    ]
    named = set()
    for seed in range(4):
        entries = sample() + others
        mixed = world_of(random.Random(seed).sample(entries, len(entries))).two_clusters()
        assert mixed
        named.add(tuple((entry.ref.kind, entry.ref.name, entry.ref.uid) for entry in mixed))
    assert len(named) == 1


RECORDINGS = {
    "sample": [SAMPLE],
    "families and their watch": [ENGINE / "families.jsonl.zst", ENGINE / "families-watch"],
    "a delayed watch": [DATA / "shown/recording.jsonl.zst"],
}
names = pytest.mark.parametrize("name", RECORDINGS)


@cache
def recorded(name: str) -> list[Observation]:
    items = read([(path, path.name) for path in RECORDINGS[name]], bodies=True)
    return [item for item in items if not isinstance(item, Skipped)]


def known(world: World) -> dict[str, object]:
    jobs = [*world.of_kind("batch", "Job")]
    changes = [*known_changes(world)]
    return {
        "lives": [(track.ref, track.moments, track.until) for track in world.tracks()],
        "ends": (world.first, world.last),
        "findings": findings_of(world),
        "requests and acts": evidence(world),
        "what was seen": list(world.shown.state()),
        "coverage": coverage(world),
        "changes": [each.change for each in changes],
        "changes before": [sentence(each) for each in before(changes, world.last, 600)],
        "views": [repr(view) for job in jobs for view in copies_of(job, world)],
        "acts on old copies": [repr(act) for job in jobs for act in stale_acts(job, world)],
    }


def assert_same(one: dict[str, object], other: dict[str, object], *left_out: str) -> None:
    assert [name for name in one if one[name] != other[name] and name not in left_out] == []


@cache
def expected(name: str) -> dict[str, object]:
    return known(world_of(recorded(name)))


@examples(1)
@given(seed=st.integers(0, 2**32), parts=st.integers(1, 6), doubled=st.integers(0, 300))
@names
def test_shuffled_doubled_and_batched_entries_show_the_same(name: str, seed: int, parts: int, doubled: int) -> None:
    chance = random.Random(seed)
    items = [*recorded(name), *chance.sample(recorded(name), doubled)]
    chance.shuffle(items)
    assert_same(known(world_of(*batches(items, len(items) // parts + 1))), expected(name))


@names
def test_what_is_handed_on_is_enough_to_learn_it_all_again_and_so_is_a_snapshot(name: str) -> None:
    items = random.Random(1).sample(recorded(name), len(recorded(name)))
    world, again = World(), World()
    news = [each for _, each in world.learn([*items, *items[:100]])]
    assert [each for _, each in again.learn(news)] == news
    assert list(again.learn(items)) == []
    again.settle()
    assert_same(known(again), expected(name))
    stored = known(taken_over(again, World()))  # of a log, it does not keep what somebody meant
    assert_same(stored, expected(name), "coverage", "findings", "changes", "changes before")
