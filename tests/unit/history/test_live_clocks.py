"""These tests let an audit log arrive while its cluster is watched: the drawn times do not depend on the batches, and
small batches do not make the clocks be built anew."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.live import batches
from tests.recordings import SAMPLE, entries_of, world_of
from tests.unit.judging.test_live_causes import watched as watched_at_once
from timeline.core.entries import Change, Clock, Entry, Observation
from timeline.history.ledger.clocks import Clocks
from timeline.history.world.world import World

LOGGED = [
    replace(each, place=None)
    for each in entries_of(SAMPLE)
    if each.resource_version is not None and each.facts is not None and each.change is not Change.DELETED
]


def watched(seed: int = 0) -> list[Observation]:
    """Return what a watch shows of the writes of a log, some of it late, after marks that begin the watch."""
    late = random.Random(seed)
    logged = {each.resource_version: each for each in LOGGED}
    return [
        replace(each, arrived=logged[each.resource_version].staged + late.choice((1_000, 20_000, 900_000)))
        if isinstance(each, Entry)
        else each
        for each in watched_at_once(LOGGED)
    ]


def drawn(world: World) -> dict[object, list[tuple[int, int]]]:
    return {track.key: [moment.at for moment in track.moments] for track in world.tracks()}


def learned(batches: Iterable[Sequence[Observation]]) -> World:
    return world_of(*batches, world=World(followed=True))


@pytest.mark.parametrize("seed", range(2))
def test_drawn_times_do_not_depend_on_the_batches(seed: int) -> None:
    chance = random.Random(seed)
    shown = watched(seed)
    rest = chance.sample([*shown[40:], *LOGGED], len(shown) - 40 + len(LOGGED))
    parts = [shown[:40]]
    while rest:
        size = chance.choice((1, 7, 60))
        parts.append(rest[:size])
        rest = rest[size:]
    assert drawn(learned(parts)) == drawn(learned([[*shown, *LOGGED]]))


def test_small_batches_do_not_build_the_clocks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    rebuild = Clocks.rebuild

    def counted(self: Clocks, *args: Any, **more: Any) -> None:
        built.append(1)
        rebuild(self, *args, **more)

    monkeypatch.setattr(Clocks, "rebuild", counted)
    world = learned([watched()])
    before = len(built)
    world_of(*batches(LOGGED, 20), world=world)
    assert len(built) == before
    assert all(moment.entry.clock is Clock.AUDIT for track in world.tracks() for moment in track.moments)
