"""If a cluster is watched in some namespaces only, rules conclude from absence only where something is watched."""

import random
from collections import defaultdict
from collections.abc import Collection, Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.inputs import recordings
from tests.inputs.live import verdicts
from tests.properties import examples
from tests.unit.history.live_worlds import WATCHES, observations_of, taken_over
from timeline.core.entries import Entry, Mark, MarkType, ObjectRef, Observation
from timeline.core.order import SECOND
from timeline.history.codec import line_of, observation_of
from timeline.history.streams import Stream
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judge import judged
from timeline.judging.coverage.sources import coverage
from timeline.payloads import documents

JOBS = "jobs-watch"
_LIMITED = {MarkType.LISTED, MarkType.BOOKMARK, MarkType.GAP}


def of(each: Observation) -> tuple[str, str]:
    assert isinstance(each, Entry | Mark)
    return (each.group, each.kind) if isinstance(each, Mark) else (each.ref.group, each.ref.kind)


def by_namespace(observed: Sequence[Observation], wanted: Collection[str] | None = None) -> list[Observation]:
    """Return what watches of single namespaces would have shown: of all namespaces, or of those that are wanted."""
    namespaces: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in observed:
        if isinstance(each, Entry):
            namespaces[of(each)].add(each.ref.namespace)
    every = set().union(*namespaces.values()) - {""}
    watched = every if wanted is None else set(wanted)
    seen: list[Observation] = []
    for each in observed:
        namespaced = namespaces[of(each)] != {""}
        if isinstance(each, Entry) and namespaced and each.ref.namespace not in watched:
            continue
        if isinstance(each, Mark) and namespaced and each.what in _LIMITED:
            seen += [replace(each, namespace=namespace) for namespace in sorted(watched)]
        else:
            seen.append(each)
    return seen


def world_of(observed: Sequence[Observation]) -> World:
    return recordings.world_of(observed, world=RecordingWorld(followed=True))


def found(world: World) -> set[tuple[str, ...]]:
    return verdicts(documents.finding(each) for each in recordings.findings_of(world))


def namespaces_of(observed: Sequence[Observation]) -> list[str]:
    return sorted({each.ref.namespace for each in observed if isinstance(each, Entry)} - {""})


def test_all_namespaces_one_by_one_give_what_a_watch_of_the_whole_cluster_gives() -> None:
    for name in WATCHES:
        whole = observations_of(name)
        assert found(world_of(by_namespace(whole))) == found(world_of(whole)) != set()


@examples(4)
@given(name=st.sampled_from(WATCHES), seed=st.integers(0, 2**32))
def test_some_namespaces_give_a_part_of_it_and_nothing_else(name: str, seed: int) -> None:
    whole = observations_of(name)
    chance = random.Random(seed)
    every = namespaces_of(whole)
    wanted = chance.sample(every, chance.randint(1, len(every)))
    assert found(world_of(by_namespace(whole, wanted))) <= found(world_of(whole))


def test_the_order_of_arrival_does_not_matter() -> None:
    observed = by_namespace(observations_of(JOBS))
    one, other = (
        {
            kind: [(each, stream.reach_in(each).revision) for each in stream.namespaces]
            for kind, stream in world_of(order).streams.items()
        }
        for order in (observed, random.Random(4).sample(observed, len(observed)))
    )
    assert one == other


def pods(*marks: Mark) -> Stream:
    stream = Stream()
    for each in marks:
        stream.learn(each)
    return stream


def mark(what: MarkType, second: int, revision: int, namespace: str = "", **more: int) -> Mark:
    return Mark("", "v1", "Pod", what, second * SECOND, revision, namespace=namespace, **more)  # type: ignore[arg-type]


def test_each_namespace_is_complete_as_far_as_its_own_watch() -> None:
    stream = pods(mark(MarkType.LISTED, 10, 5, "a"), mark(MarkType.LISTED, 10, 5, "b"))
    stream.show("a", 9, 14 * SECOND)
    assert (stream.reach_in("a").revision, stream.reach_in("b").revision, stream.reached) == (9, 5, 5)
    assert stream.covers("a") and not stream.covers("c") and not stream.covers("") and not stream.covers(None)


def test_a_gap_of_one_namespace_is_none_of_another() -> None:
    stream = pods(mark(MarkType.GAP, 20, 5, "a", since=10 * SECOND))
    assert stream.blind(12 * SECOND, 13 * SECOND, "a") and stream.blind(12 * SECOND, 13 * SECOND)
    assert not stream.blind(12 * SECOND, 13 * SECOND, "b")


def test_a_watch_of_everything_covers_everything() -> None:
    stream = pods(mark(MarkType.LISTED, 10, 5))
    stream.show("a", 9, 14 * SECOND)
    assert stream.covers("a") and stream.covers(None) and stream.reached == 9 and stream.namespaces == []


def test_a_snapshot_remembers_which_namespaces_are_watched() -> None:
    world = world_of(by_namespace(observations_of(JOBS)))
    again = taken_over(world, RecordingWorld(followed=True))
    assert again.streams["", "Pod"].namespaces == world.streams["", "Pod"].namespaces != []
    judged(again, again.tracks())
    assert found(again) == found(world)


def test_a_mark_without_a_namespace_is_of_the_whole_cluster() -> None:
    old = line_of(mark(MarkType.LISTED, 10, 5))
    assert b"namespace" not in old and observation_of(old, {}) == mark(MarkType.LISTED, 10, 5)


def test_coverage_names_the_namespaces() -> None:
    whole = observations_of(JOBS)
    wanted = sorted(["nobody-is-here", *namespaces_of(whole)[:1]])
    row = next(each for each in coverage(world_of(by_namespace(whole, wanted))) if each.kind == "Pod")
    assert row.namespaces == tuple(wanted)
    assert row.followed == f"complete, in {' and '.join(wanted)} only"


def test_an_object_elsewhere_is_not_said_to_be_missing() -> None:
    pods = (each for each in observations_of(JOBS) if isinstance(each, Entry) and each.ref.kind == "Pod")
    ref, at = ObjectRef("", "v1", "Pod", "a", "p", "uid-p"), 12 * SECOND
    first = next(each for each in pods if each.change.value == "created")
    pod = replace(first, ref=ref, received=at, arrived=at, resource_version=7)
    world = world_of([mark(MarkType.LISTED, 10, 5, "a"), pod, mark(MarkType.BOOKMARK, 40, 30, "a")])
    asked = "", "Pod", 11 * SECOND, 20 * SECOND
    assert world.complete(*asked, "a") and not world.complete(*asked, "b") and not world.complete(*asked)
