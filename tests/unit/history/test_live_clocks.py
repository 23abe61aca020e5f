"""These tests let an audit log arrive while its cluster is watched: the drawn times do not depend on the batches, and
small batches do not make the clocks be built anew."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.recordings import SAMPLE, entries_of, world_of
from timeline.core.entries import FOREVER, Change, Clock, Entry, Mark, MarkType, Observation
from timeline.history.ledger.clocks import Clocks
from timeline.history.streams import PASSES
from timeline.history.world.world import World

LOGGED = [
    each
    for each in entries_of(SAMPLE)
    if each.resource_version is not None and each.facts is not None and each.change is not Change.DELETED
]
SECOND = 1_000_000


def watched(logged: Iterable[Entry], seed: int = 0) -> list[Observation]:
    """Return what a watch shows of the writes of a log, some of it late, after marks that begin the watch."""
    late = random.Random(seed)
    shown: list[Observation] = []
    for each in logged:
        second = each.received // SECOND * SECOND
        arrived = each.staged + late.choice((1_000, 20_000, 900_000))
        shown.append(
            replace(
                each,
                clock=Clock.OBJECT,
                received=second,
                staged=FOREVER,
                replaces=None,
                identity="",
                actor="",
                user_agent=each.user_agent.partition("/")[0],
                client=None,
                place=None,
                arrived=arrived,
            )
        )
    kinds = sorted({(each.ref.group, each.ref.kind) for each in shown if isinstance(each, Entry)})
    start = min(each.received for each in LOGGED) - SECOND
    marks: list[Observation] = []
    for group, kind in kinds:
        marks += [Mark(group, "v1", kind, MarkType.TOGETHER, start + n, other="Pod") for n in range(PASSES)]
        marks.append(Mark(group, "v1", kind, MarkType.LISTED, start + 9, 1))
    return [*marks, *shown]


def drawn(world: World) -> dict[object, list[tuple[int, int]]]:
    return {track.key: [moment.at for moment in track.moments] for track in world.tracks()}


def learned(batches: Iterable[Sequence[Observation]]) -> World:
    return world_of(*batches, world=World(followed=True))


@pytest.mark.parametrize("seed", range(4))
def test_drawn_times_do_not_depend_on_the_batches(seed: int) -> None:
    chance = random.Random(seed)
    logged = [replace(each, place=None) for each in LOGGED]
    shown = watched(logged, seed)
    both: list[Observation] = [*shown[40:], *logged]
    chance.shuffle(both)
    batches = [shown[:40]]
    while both:
        size = chance.choice((1, 7, 60))
        batches.append(both[:size])
        both = both[size:]
    once = learned([[*shown, *logged]])
    assert drawn(learned(batches)) == drawn(once)


def test_small_batches_do_not_build_the_clocks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    rebuild = Clocks.rebuild

    def counted(self: Clocks, *args: Any, **more: Any) -> None:
        built.append(1)
        rebuild(self, *args, **more)

    monkeypatch.setattr(Clocks, "rebuild", counted)
    logged: list[Observation] = [replace(each, place=None) for each in LOGGED]
    shown = watched(LOGGED)
    world = learned([shown])
    before = len(built)
    for at in range(0, len(logged), 20):
        for _ in world.learn(logged[at : at + 20]):
            pass
        world.settle()
    assert len(built) == before
    assert all(moment.entry.clock is Clock.AUDIT for track in world.tracks() for moment in track.moments)
