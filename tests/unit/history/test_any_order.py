"""In whichever order, however often and in however many batches entries come, the same is known; also of what a world
hands on, and of what it stores."""

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import Skipped, read
from tests import DATA, ENGINE
from tests.live import batches
from tests.properties import examples
from tests.recordings import SAMPLE, findings_of, world_of
from tests.unit.history.live_worlds import taken_over
from tests.unit.history.test_evidence import evidence
from timeline.core.entries import Observation
from timeline.history.world.world import World
from timeline.judging.copies.staleness import stale_acts
from timeline.judging.copies.views import views_of
from timeline.judging.coverage.sources import coverage
from timeline.judging.incidents.changes import before, known_changes
from timeline.payloads.changes import sentence

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
        "views": [repr(view) for job in jobs for view in views_of(job, world)],
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
