"""Streams arrive side by side: whichever comes first, and however late another one is, the result is the same in the
end.

services  ─────────────S created 11─────────────▶
pods      ───P created 10───────────P deleted 12─▶     each by itself in order, in any order to each other
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import ENGINE
from tests.live import batches, observations
from tests.properties import examples
from timeline.core.entries import FOREVER, Change, Clock, Entry, Facts, LogLine, Mark, MarkType, ObjectRef, Observation
from timeline.history.lifelines import Name
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judge import horizons, judge, judged_again, settled, touched
from timeline.judging.findings import Finding, Status
from timeline.kinds.pod import PodFacts
from timeline.kinds.service import ServiceFacts
from timeline.payloads import documents

if TYPE_CHECKING:
    from timeline.history.lifelines import Key

SECOND = 1_000_000
T = 1_795_000_000 * SECOND


@cache
def observations_of(name: str) -> list[Observation]:
    return observations(ENGINE / name)


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


def known(observed: Sequence[Observation], size: int) -> tuple[World, dict[str, Finding]]:
    """Return the world that learned batch after batch, and the findings about what each batch affected."""
    world = RecordingWorld()
    found: dict[Key, list[Finding]] = {}
    for batch in [*batches(observed, size), []]:
        for _ in world.learn(batch):
            pass
        changed = world.settle()
        subjects = touched(world, changed, horizons(world))
        found.update(judged_again(world, subjects, lambda key: found.get(key, ())))
    every = [settled(each, world) for of_track in found.values() for each in of_track]
    return world, {each.id: each for each in every}


def lives(world: World) -> list[object]:
    return [
        (track.key, [(each.time, each.entry.resource_version) for each in track.moments]) for track in world.tracks()
    ]


def payloads(found: dict[str, Finding]) -> dict[str, object]:
    return {key: documents.finding(each) for key, each in found.items()}


@examples(3)
@given(name=st.sampled_from(["jobs-watch", "families-watch"]), seed=st.integers(0, 2**32), size=st.integers(20, 900))
def test_whichever_stream_comes_first_the_same_is_known(name: str, seed: int, size: int) -> None:
    world, found = known(observations_of(name), 100_000)
    again, also = known(side_by_side(observations_of(name), random.Random(seed)), size)
    assert lives(again) == lives(world)
    assert payloads(also) == payloads(found)


def test_what_is_told_twice_changes_nothing() -> None:
    world, found = known(observations_of("jobs-watch"), 100)
    again, also = known([each for each in observations_of("jobs-watch") for _ in range(2)], 100)
    assert lives(again) == lives(world)
    assert payloads(also) == payloads(found)


def mark(kind: str, what: MarkType, second: float, revision: int, **more: object) -> Mark:
    return Mark("", "v1", kind, what, T + round(second * SECOND), revision, **more)  # type: ignore[arg-type]


def started(*kinds: str) -> list[Observation]:
    """Return the marks of streams that were compared and listed."""
    compared = [mark(kind, MarkType.TOGETHER, -9 + n, 1, other="Pod") for kind in kinds for n in range(3)]
    return [*compared, *(mark(kind, MarkType.LISTED, 0, 5) for kind in kinds)]


def pod(revision: int, second: float, change: Change = Change.CREATED, **facts: object) -> Entry:
    return entry("Pod", "p", revision, second, change, PodFacts(subdomain="s", hostname="p", **facts))  # type: ignore[arg-type]


def service(revision: int, second: float, change: Change = Change.CREATED) -> Entry:
    return entry("Service", "s", revision, second, change, ServiceFacts(headless=True, selects=True))


def entry(kind: str, name: str, revision: int, second: float, change: Change, facts: Facts) -> Entry:
    whole = T + int(second) * SECOND
    return Entry(
        ObjectRef("", "v1", kind, "n", name, f"{kind}-{name}"),
        change,
        revision,
        Clock.OBJECT,
        whole,
        2**62,
        replace(facts, created=whole),
        user_agent="m" if change is Change.MODIFIED else "",
        arrived=T + round(second * SECOND) + 100,
    )


def found_in(*observed: Observation) -> list[Finding]:
    world = RecordingWorld()
    for _ in world.learn(observed):
        pass
    world.settle()
    return [each for each in judge(world, world.tracks()) if each.rule == "pod-before-service"]


KINDS = ("Pod", "Service")


def test_it_is_suspected_until_every_stream_has_come_as_far() -> None:
    (finding,) = found_in(*started(*KINDS), pod(10, 1), service(11, 2))
    assert finding.status is Status.SUSPECTED
    assert "pods up to revision 11 may still be on their way" in finding.status_reason


def test_a_bookmark_confirms_it() -> None:
    (finding,) = found_in(*started(*KINDS), pod(10, 1), service(11, 2), mark("Pod", MarkType.BOOKMARK, 3, 11))
    assert (finding.status, finding.status_reason) == (Status.CONFIRMED, "")


def test_any_later_change_of_the_kind_confirms_it() -> None:
    other = replace(pod(12, 2.5), ref=ObjectRef("", "v1", "Pod", "n", "q", "q"))
    found = found_in(*started(*KINDS), pod(10, 1), service(11, 2), other)
    assert {each.status for each in found if each.subject.name == "p"} == {Status.CONFIRMED}


def test_what_comes_late_takes_it_back() -> None:
    late = pod(9, 0.5)
    assert found_in(*started(*KINDS), service(8, 0.2), late) == []
    assert found_in(*started(*KINDS), late, service(8, 0.2)) == []


def test_in_a_gap_nothing_is_said_to_have_been_absent() -> None:
    gap = mark("Service", MarkType.GAP, 3, 12, since=T + SECOND // 2, since_revision=6, reason="nobody watched")
    observed = [*started(*KINDS), pod(10, 1), gap, mark("Service", MarkType.LISTED, 3, 12), service(13, 4)]
    assert all(each.severity == "info" for each in found_in(*observed, mark("Pod", MarkType.BOOKMARK, 5, 14)))


def test_outside_of_a_gap_it_is_said() -> None:
    gap = mark("Service", MarkType.GAP, 30, 32, since=T + 20 * SECOND, since_revision=31, reason="nobody watched")
    observed = [*started(*KINDS), pod(10, 1), service(11, 2), gap, mark("Pod", MarkType.BOOKMARK, 40, 40)]
    (finding,) = found_in(*observed)
    assert finding.status is Status.CONFIRMED


def test_a_change_lies_in_the_second_that_it_tells_wherever_the_collectors_clock_is() -> None:
    for off in (-3600, 0, 3600):
        observed = [
            replace(each, arrived=each.arrived + off * SECOND) for each in (pod(10, 1.4), pod(12, 3.2, Change.MODIFIED))
        ]
        world = RecordingWorld()
        for _ in world.learn([*started("Pod"), *observed]):
            pass
        world.settle()
        (track,) = world.tracks()
        assert [each.time // SECOND - T // SECOND for each in track.moments] == [1, 3]


def test_the_moment_of_a_change_is_that_of_its_arrival_within_its_second() -> None:
    world = RecordingWorld()
    for _ in world.learn([*started("Pod"), pod(10, 1.4)]):
        pass
    (track,) = world.settle()
    assert track.first.time == T + 1_400_100


@given(st.lists(st.tuples(*[st.integers(0, 1500)] * 6), min_size=2, max_size=5), st.randoms(use_true_random=False))
@examples(6)
def test_no_life_of_a_name_begins_before_the_one_before_it_has_ended(
    lives: list[tuple[int, ...]], chance: random.Random
) -> None:
    """Whatever the delays, "deleted …31.381, created again …30.999" is an order that nobody observed."""
    observed, at, revision, arrived = [], T, 10, T
    for number, delays in enumerate(lives):
        born = 0
        for change, committed, late in zip(
            (Change.CREATED, Change.MODIFIED, Change.DELETED), delays[:3], delays[3:], strict=True
        ):
            at += committed * 1000
            revision += 1
            arrived = max(arrived, at + late * 1000)
            born = born or at // SECOND * SECOND
            made = replace(pod(revision, 0, change), received=born, arrived=arrived, user_agent="")
            ref = ObjectRef("", "v1", "Pod", "n", "p", f"p-{number}")
            observed.append(replace(made, ref=ref, facts=PodFacts(created=born)))
    batch: list[Observation] = [*started("Pod"), *observed]
    chance.shuffle(batch)
    world = RecordingWorld()
    for _ in world.learn(batch):
        pass
    world.settle()
    tracks = world.incarnations(Name("", "Pod", "n", "p"))
    assert [track.ref.uid for track in tracks] == [f"p-{number}" for number in range(len(lives))]
    for before, after in pairwise(tracks):
        assert before.until is not None and before.until <= after.first.time
    for track in tracks:
        assert [each.time for each in track.moments] == sorted(each.time for each in track.moments)
        assert all(each.committed[0] <= (each.committed[1] or FOREVER) for each in track.moments)


def test_a_list_that_shows_nothing_shows_which_counter_its_kind_has() -> None:
    """The revision of an empty list of Events says nothing about how far other kinds are complete."""
    world = RecordingWorld()
    for batch in ([*started("Pod"), pod(10, 1)], [mark("Event", MarkType.LISTED, 0.5, 900)]):
        for _ in world.learn(batch):
            pass
        world.settle()
    assert world.own_counters == [("", "Event")]
    assert world.reached([("", "Event")]) == T + SECOND // 2


def test_who_stands_unchanged_after_a_gap_stood_in_it() -> None:
    """Pods were not observed while the Service was created; the next list shows the Pod unchanged."""
    gap = mark(
        "Pod", MarkType.GAP, 30, 32, since=T + SECOND + SECOND // 2, since_revision=10, reason="the server was away"
    )
    observed = [*started(*KINDS), pod(10, 1), service(11, 2), gap, mark("Pod", MarkType.LISTED, 30, 32)]
    (finding,) = found_in(*observed)
    assert (finding.verdict.value, finding.status) == ("exact", Status.CONFIRMED)


def test_who_changed_in_a_gap_may_have_done_so_at_any_time_of_it() -> None:
    gap = mark(
        "Pod", MarkType.GAP, 30, 32, since=T + SECOND + SECOND // 2, since_revision=10, reason="the server was away"
    )
    seen = pod(31, 29, Change.OBSERVED, phase="Succeeded")
    observed = [*started(*KINDS), pod(10, 1), service(11, 2), gap, seen, mark("Pod", MarkType.LISTED, 30, 32)]
    assert {each.verdict.value for each in found_in(*observed)} <= {"inconclusive"}
