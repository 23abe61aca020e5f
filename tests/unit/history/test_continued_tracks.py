"""A followed source adds what has come to the tracks that it has: they equal those that are built of all entries anew.

batch 1   ──P created 10──P changed 14──▶
batch 2   ──────S created 11──S changed 12──▶   committed before what is known, so P may be drawn at another time
"""

import random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.live import batches
from tests.properties import examples
from tests.recordings import world_of
from tests.unit.history.live_worlds import WATCHES, T, entry, observations_of, started
from tests.unit.history.test_live_order import side_by_side
from timeline.core.entries import Change, ObjectRef, Observation
from timeline.core.order import SECOND
from timeline.history.world.recording import RecordingWorld
from timeline.kinds.pod import PodFacts
from timeline.kinds.service import ServiceFacts

KINDS = {"Pod": PodFacts, "Service": ServiceFacts}
Step = tuple[str, str, int, int, bool, Change]


def lives(*parts: list[Observation], followed: bool) -> list[object]:
    """Return the lives that a world knows that has learned these parts one after the other."""
    world = world_of(*parts, world=RecordingWorld(followed=followed))
    return [(each.key, each.ref, each.owner, each.until, each.moments) for each in world.tracks()]


@examples(4)
@given(name=st.sampled_from(WATCHES), seed=st.integers(0, 2**32), size=st.integers(20, 900))
def test_batch_after_batch_a_recording_gives_the_same_lives(name: str, seed: int, size: int) -> None:
    observed = side_by_side(observations_of(name), random.Random(seed))
    grown = lives(*map(list, batches(observed, size)), followed=True)
    assert grown == lives(observed, followed=True) == lives(observed, followed=False)


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


def history(steps: list[Step]) -> list[Observation]:
    """Return the observations of these changes. An object that does not exist is created."""
    alive: dict[tuple[str, str], tuple[str, int]] = {}  # UID, and the second of the creation
    observed: list[Observation] = []
    now = 0
    for revision, (kind, name, later, late, signed, change) in enumerate(steps, start=10):
        now += later
        if (kind, name) not in alive:
            alive[kind, name], change = (f"{kind}-{name}-{revision}", now // 10), Change.CREATED
        uid, born = alive[kind, name]
        dated = change is Change.CREATED or (signed and change is Change.MODIFIED)
        if change is Change.DELETED:
            del alive[kind, name]
        made = entry(kind, name, revision, now / 10 if dated else born, change, KINDS[kind]())
        ref, facts = ObjectRef("", "v1", kind, "n", name, uid), KINDS[kind](created=T + born * SECOND)
        agent, arrived = made.user_agent if dated else "", T + (now + late) * SECOND // 10
        observed.append(replace(made, ref=ref, facts=facts, user_agent=agent, arrived=arrived))
    return observed


@given(st.lists(STEPS, min_size=1, max_size=25), st.integers(1, 6), st.integers(0, 2**32))
def test_batch_after_batch_any_history_gives_the_same_lives(steps: list[Step], size: int, seed: int) -> None:
    observed = side_by_side(history(steps), random.Random(seed))
    begun = started(*KINDS)
    for end in range(0, len(observed) + 1, size):
        parts = [list(each) for each in batches(observed[:end], size)]
        whole = [*begun, *observed[:end]]
        expected = lives(whole, followed=False)
        assert lives(begun, *parts, followed=True) == lives(whole, followed=True) == expected
