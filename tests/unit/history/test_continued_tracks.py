"""A followed source adds what has come to the tracks that it has: they equal those that are built of all entries anew.

batch 1   ──P created 10──P changed 14──▶
batch 2   ──────S created 11──S changed 12──▶   committed before what is known, so P may be drawn at another time
"""

import random
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from tests import ENGINE
from tests.live import batches, observations
from tests.properties import examples
from tests.recordings import world_of
from tests.unit.history.test_live_order import T, side_by_side, started
from timeline.core.entries import Change, Clock, Entry, ObjectRef, Observation
from timeline.core.order import SECOND
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.kinds.pod import PodFacts
from timeline.kinds.service import ServiceFacts

KINDS = {"Pod": PodFacts, "Service": ServiceFacts}


@cache
def observations_of(name: str) -> list[Observation]:
    return observations(ENGINE / name)


def known(*batches: list[Observation], followed: bool) -> World:
    return world_of(*batches, world=RecordingWorld(followed=followed))


def lives(world: World) -> list[object]:
    return [(each.key, each.ref, each.owner, each.until, each.moments) for each in world.tracks()]


@examples(4)
@given(name=st.sampled_from(["jobs-watch", "families-watch"]), seed=st.integers(0, 2**32), size=st.integers(20, 900))
def test_batch_after_batch_a_recording_gives_the_same_lives(name: str, seed: int, size: int) -> None:
    observed = side_by_side(observations_of(name), random.Random(seed))
    grown = known(*map(list, batches(observed, size)), followed=True)
    assert lives(grown) == lives(known(observed, followed=True)) == lives(known(observed, followed=False))


# What happens next: to which kind, to which of its names, after how many tenths of a second, how long it is on its way,
# and whether the object says who changed it, and thereby when.
STEPS = st.tuples(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from("ab"),
    st.sampled_from([0, 0, 1, 3, 12]),
    st.sampled_from([0, 2, 9, 30]),
    st.booleans(),
    st.sampled_from([Change.MODIFIED, Change.MODIFIED, Change.MODIFIED, Change.DELETED]),
)


def history(steps: list[tuple[str, str, int, int, bool, Change]]) -> list[Observation]:
    """Return the observations of these changes. An object that does not exist is created."""
    alive: dict[tuple[str, str], tuple[str, int]] = {}  # UID, and the second of the creation
    observed: list[Observation] = []
    now = T
    for revision, (kind, name, later, late, signed, change) in enumerate(steps, start=10):
        now += later * SECOND // 10
        whole = now // SECOND * SECOND
        if (kind, name) not in alive:
            alive[kind, name], change = (f"{kind}-{name}-{revision}", whole), Change.CREATED
        uid, created = alive[kind, name]
        dated = change is Change.CREATED or (signed and change is Change.MODIFIED)
        facts = KINDS[kind](created=created)
        if change is Change.DELETED:
            del alive[kind, name]
        observed.append(
            Entry(
                ObjectRef("", "v1", kind, "n", name, uid),
                change,
                revision,
                Clock.OBJECT,
                whole if dated else created,
                2**62,
                facts,
                user_agent="m" if dated and change is Change.MODIFIED else "",
                arrived=now + late * SECOND // 10,
            )
        )
    return observed


@given(st.lists(STEPS, min_size=1, max_size=25), st.integers(1, 6), st.integers(0, 2**32))
def test_batch_after_batch_any_history_gives_the_same_lives(
    steps: list[tuple[str, str, int, int, bool, Change]], size: int, seed: int
) -> None:
    observed = side_by_side(history(steps), random.Random(seed))
    begun = started(*KINDS)
    for end in range(0, len(observed) + 1, size):
        parts = [list(each) for each in batches(observed[:end], size)]
        whole = [*begun, *observed[:end]]
        expected = lives(known(whole, followed=False))
        assert lives(known(begun, *parts, followed=True)) == expected
        assert lives(known(whole, followed=True)) == expected
