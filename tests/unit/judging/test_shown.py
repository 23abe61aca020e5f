"""These tests hold copies and views against what a real controller manager was really shown, and when.

The recording is of a controller manager whose watch of Jobs a proxy held back by 3 s for a while. `view.jsonl.zst` has
each line of that watch with the time at which the client got it.
"""

import random
from collections.abc import Iterator
from datetime import datetime
from functools import cache

import msgspec
import pytest

from tests import DATA
from tests.recordings import lines_of, observations_of, world_of
from timeline.core.entries import Observation, microseconds
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.copies.staleness import StaleAct, stale_acts
from timeline.judging.copies.views import View, views_of

CONTROLLER = "kube-controller-manager"


class Shown(msgspec.Struct):
    """This is one line of the watch that the client got: an object at a revision, or a bookmark, which has no UID."""

    rv: str
    out: datetime
    type: str
    uid: str = ""

    @property
    def time(self) -> int:
        return microseconds(self.out)


@cache
def observed() -> list[Observation]:
    return observations_of(DATA / "shown/recording.jsonl.zst")


@cache
def shown() -> list[Shown]:
    return [msgspec.json.decode(line, type=Shown) for line in lines_of(DATA / "shown/view.jsonl.zst")]


@cache
def whole() -> World:
    return world_of(observed())


def views(world: World) -> Iterator[tuple[Track, View]]:
    for job in world.of_kind("batch", "Job"):
        for view in views_of(job, world):
            if view.actor.user_agent.startswith(CONTROLLER):
                yield job, view


def stale(world: World) -> list[StaleAct]:
    return [act for track in world.tracks() for act in stale_acts(track, world)]


def check_bounds(world: World) -> int:
    """Check that each bound of the client's watch holds, and return how many were checked."""
    bounds = [bound for _, view in views(world) for bound in view.bounds]
    for bound in bounds:
        assert bound.least is None or bound.most is None or bound.least <= bound.most
        for each in shown():
            if each.type != "BOOKMARK" and bound.least is not None and int(each.rv) <= bound.least:
                assert each.time <= bound.start, "it is said to have been shown before it was"
            if bound.most is not None and int(each.rv) > bound.most:
                assert not bound.start <= each.time < bound.end, "it was shown although it is said not to have been"
    return len(bounds)


def test_each_bound_holds_against_what_the_client_was_shown() -> None:
    assert check_bounds(whole()) >= 70


@pytest.mark.parametrize("seed", range(2))
def test_each_bound_holds_whatever_lines_are_missing(seed: int) -> None:
    chance = random.Random(seed)
    check_bounds(world_of([each for each in observed() if chance.random() < 0.5 + seed / 10]))


def test_each_copy_was_shown_before_or_is_the_clients_own_write() -> None:
    times = {(each.uid, int(each.rv)): each.time for each in reversed(shown())}
    own, copies = 0, 0
    for job, view in views(whole()):
        written = {each.stamp.resource_version for each in job.moments if each.user_agent.startswith(CONTROLLER)}
        for use in view.uses:
            copies += 1
            if times.get((job.ref.uid, use.revision), use.sure + 1) > use.sure:
                assert use.revision in written
                own += 1
    assert copies >= 240 and own < copies / 10


def test_each_act_on_an_old_copy_rests_on_the_newest_that_the_client_had_been_shown() -> None:
    found = stale(whole())
    assert len(found) >= 17
    for each in found:
        of_job = [(int(line.rv), line.time) for line in shown() if line.uid == each.owner.ref.uid]
        assert max(revision for revision, time in of_job if time <= each.act.recorded) == each.act.revision
        assert all(time > each.done.entry.received for revision, time in of_job if revision > each.act.revision)
