"""Streams arrive side by side: whichever comes first, and however late another one is, the result is the same in the
end.

services  ─────────────S created 11─────────────▶
pods      ───P created 10───────────P deleted 12─▶     each by itself in order, in any order to each other"""

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.inputs.live import batches
from tests.inputs.recordings import findings_of, world_of
from tests.properties import examples
from tests.unit.history.live_worlds import WATCHES, Judged, T, entry, mark, observations_of, started
from timeline.core.entries import FOREVER, Change, Entry, LogLine, Mark, MarkType, ObjectRef, Observation
from timeline.core.order import SECOND
from timeline.history.lifelines import Name
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judge import horizons, rulebook
from timeline.judging.findings import Finding, Status
from timeline.kinds.pod import PodFacts
from timeline.kinds.service import ServiceFacts
from timeline.payloads import documents


def side_by_side(observed: Sequence[Observation], chance: random.Random) -> list[Observation]:
    """Return the observations in another order, in which each kind by itself stays in order."""
    streams: dict[tuple[str, str], list[Observation]] = defaultdict(list)
    for each in observed:
        assert not isinstance(each, LogLine)  # no watch shows one
        streams[(each.group, each.kind) if isinstance(each, Mark) else (each.ref.group, each.ref.kind)].append(each)
    waiting = [list(reversed(stream)) for stream in streams.values()]
    mixed = []
    while waiting:
        stream = chance.choice(waiting)
        for _ in range(min(len(stream), chance.randint(1, 40))):
            mixed.append(stream.pop())
        if not stream:
            waiting.remove(stream)
    return mixed


def known(observed: Sequence[Observation], size: int) -> tuple[list[object], dict[str, object]]:
    """Return the lives and the findings of a world that learned batch after batch and judged what each affected."""
    live = Judged()
    for batch in [*batches(observed, size), []]:
        live.commit(batch)
    lives: list[object] = [
        (track.key, [(each.time, each.entry.resource_version) for each in track.moments])
        for track in live.world.tracks()
    ]
    return lives, {key: documents.finding(each) for key, each in live.settled().items()}


@examples(3)
@given(name=st.sampled_from(WATCHES), seed=st.integers(0, 2**32), size=st.integers(20, 900))
def test_whichever_stream_comes_first_the_same_is_known(name: str, seed: int, size: int) -> None:
    observed = observations_of(name)
    assert known(side_by_side(observed, random.Random(seed)), size) == known(observed, 100_000)


def test_what_is_observed_twice_changes_nothing() -> None:
    observed = observations_of("jobs-watch")
    assert known([each for each in observed for _ in range(2)], 100) == known(observed, 100)


def pod(revision: int, second: float, change: Change = Change.CREATED, **facts: str) -> Entry:
    return entry("Pod", "p", revision, second, change, PodFacts(subdomain="s", hostname="p", **facts))  # type: ignore[arg-type]


def service(revision: int, second: float, change: Change = Change.CREATED) -> Entry:
    return entry("Service", "s", revision, second, change, ServiceFacts(headless=True, selects=True))


def learned(*observed: Observation) -> World:
    return world_of(observed, world=RecordingWorld())


def found_in(*observed: Observation) -> list[Finding]:
    world = learned(*started("Pod", "Service"), *observed)
    return [each for each in findings_of(world) if each.rule == "pod-before-service"]


def bookmark(second: float, revision: int) -> Mark:
    return mark("Pod", MarkType.BOOKMARK, second, revision)


def gap(kind: str, since: float, revision: int, until: float, end: int) -> Mark:
    more: dict[str, Any] = {
        "since": T + round(since * SECOND),
        "since_revision": revision,
        "reason": "the server was away",
    }
    return mark(kind, MarkType.GAP, until, end, **more)


def test_it_is_suspected_until_every_stream_has_come_as_far() -> None:
    (finding,) = found_in(pod(10, 1), service(11, 2))
    assert finding.status is Status.SUSPECTED
    assert "pods up to revision 11 may still be on their way" in finding.status_reason


@pytest.mark.parametrize(
    "later",
    [
        [bookmark(3, 11)],
        [replace(pod(12, 2.5), ref=ObjectRef("", "v1", "Pod", "n", "q", "q"))],
        [gap("Service", 20, 31, 30, 32), bookmark(40, 40)],
    ],
    ids=["a bookmark", "any later change of the kind", "a bookmark after a gap that began later"],
)
def test_what_shows_that_the_stream_has_come_as_far_confirms_it(later: list[Observation]) -> None:
    (finding,) = (each for each in found_in(pod(10, 1), service(11, 2), *later) if each.subject.name == "p")
    assert (finding.status, finding.status_reason) == (Status.CONFIRMED, "")


def test_a_horizon_is_the_least_of_two_kinds_of_one_name() -> None:
    kinds = [("apps", "Deployment"), ("extensions", "Deployment")]
    for ahead, _ in kinds:
        begun = [each for group, kind in kinds for each in started(kind, group=group)]
        world = learned(*begun, mark("Deployment", MarkType.BOOKMARK, 9, 50, ahead))
        least = min(world.reached([kind]) for kind in kinds)
        assert least < world.reached([(ahead, "Deployment")])
        assert {horizons(world)[rule.id] for rule in rulebook() if "Deployment" in rule.kinds} == {least}


def test_what_comes_late_takes_it_back() -> None:
    late = pod(9, 0.5)
    assert found_in(service(8, 0.2), late) == found_in(late, service(8, 0.2)) == []


def test_in_a_gap_nothing_is_said_to_have_been_absent() -> None:
    shown = gap("Service", 0.5, 6, 3, 12), mark("Service", MarkType.LISTED, 3, 12), service(13, 4)
    assert all(each.severity == "info" for each in found_in(pod(10, 1), *shown, bookmark(5, 14)))


def test_who_stands_unchanged_after_a_gap_stood_in_it_and_who_changed_may_have_done_so_at_any_time() -> None:
    """Pods were not observed while the Service was created; the next list shows the Pod."""
    before, listed = (pod(10, 1), service(11, 2), gap("Pod", 1.5, 10, 30, 32)), mark("Pod", MarkType.LISTED, 30, 32)
    (finding,) = found_in(*before, listed)
    assert (finding.verdict.value, finding.status) == ("exact", Status.CONFIRMED)
    changed = pod(31, 29, Change.OBSERVED, phase="Succeeded")
    assert {each.verdict.value for each in found_in(*before, changed, listed)} <= {"inconclusive"}


@pytest.mark.parametrize("off", [-3600, 0, 3600])
def test_a_change_lies_in_the_second_that_it_tells_wherever_the_collectors_clock_is(off: int) -> None:
    """Within that second, its moment is that of its arrival."""
    changes = pod(10, 1.4), pod(12, 3.2, Change.MODIFIED)
    shifted = [replace(each, arrived=each.arrived + off * SECOND) for each in changes]
    (track,) = learned(*started("Pod"), *shifted).tracks()
    times = [each.time - T for each in track.moments]
    assert [each // SECOND for each in times] == [1, 3]
    assert off or times[0] == 1_400_100


@given(st.lists(st.tuples(*[st.integers(0, 1500)] * 6), min_size=2, max_size=5), st.randoms(use_true_random=False))
@examples(6)
def test_no_life_of_a_name_begins_before_the_one_before_it_has_ended(
    lives: list[tuple[int, ...]], chance: random.Random
) -> None:
    """Whatever the delays, "deleted …31.381, created again …30.999" is an order that nobody observed."""
    batch, at, revision, arrived = started("Pod"), T, 10, T
    for number, delays in enumerate(lives):
        born = 0
        changes = Change.CREATED, Change.MODIFIED, Change.DELETED
        for change, committed, late in zip(changes, delays[:3], delays[3:], strict=True):
            at += committed * 1000
            revision += 1
            arrived = max(arrived, at + late * 1000)
            born = born or at // SECOND * SECOND
            made = replace(pod(revision, 0, change), received=born, arrived=arrived, user_agent="")
            ref = ObjectRef("", "v1", "Pod", "n", "p", f"p-{number}")
            batch.append(replace(made, ref=ref, facts=PodFacts(created=born)))
    chance.shuffle(batch)
    tracks = learned(*batch).incarnations(Name("", "Pod", "n", "p"))
    assert [track.ref.uid for track in tracks] == [f"p-{number}" for number in range(len(lives))]
    for before, after in pairwise(tracks):
        assert before.until is not None and before.until <= after.first.time
    for track in tracks:
        assert [each.time for each in track.moments] == sorted(each.time for each in track.moments)
        assert all(each.committed[0] <= (each.committed[1] or FOREVER) for each in track.moments)


def test_a_list_that_shows_nothing_shows_which_counter_its_kind_has() -> None:
    """The revision of an empty list of Events says nothing about how far other kinds are complete."""
    world = RecordingWorld()
    world_of([*started("Pod"), pod(10, 1)], [mark("Event", MarkType.LISTED, 0.5, 900)], world=world)
    assert world.own_counters == [("", "Event")]
    assert world.reached([("", "Event")]) == T + SECOND // 2


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
