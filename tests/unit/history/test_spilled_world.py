"""A world that keeps its objects and tracks in a file answers like one that has all in memory."""

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bench.larger import repeated
from tests import ENGINE, RULES
from tests.patience import processor_seconds
from tests.properties import examples, sampled
from tests.recordings import SAMPLE, findings_of, observations_of
from timeline.core.entries import FOREVER, Change, Entry, ObjectRef, Observation, Request
from timeline.core.machine.columns import in_order
from timeline.core.machine.spill import Spill, Spilling
from timeline.core.order import CommitClock
from timeline.history.lifelines import name_of
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.activity import activities
from timeline.layout.arrangement import Arrangement
from timeline.layout.large_arrangement import LargeArrangement
from timeline.payloads import documents

REAL = [SAMPLE, *sorted(each for each in ENGINE.iterdir() if each.suffix != ".md")]
RECORDINGS = [*REAL, *sorted(RULES.glob("*/*.jsonl"))]


@cache
def observed(path: Path) -> tuple[list[Observation], object, object]:
    entries: list[Observation] = [*observations_of(path)]
    world, news = learned(World(), entries)
    return entries, news, everything(world)


def learned(world: World, entries: Sequence[Observation]) -> tuple[World, object]:
    news = [*world.learn(entries)]
    assert world.two_clusters() is None
    world.settle()
    return world, news


def everything(world: World) -> object:
    tracks = [
        (
            *(track.key, track.ref, track.owner, track.moments, track.gone_by, world.number(track), world.lane(track)),
            (owner.key if (owner := world.owner_of(track)) else None, world.root(track).key),
            ([child.key for child in world.children(track)], [each.key for each in world.referrers(track.name)]),
        )
        for track in world.tracks()
    ]
    findings = findings_of(world)
    document = documents.source_document(world, rulebook())
    kept = world.completeness.losses, world.completeness.holes, world.offsets, world.own_counters
    order = LargeArrangement(world) if world.is_in_file else Arrangement.of(world)
    lanes = [
        (lane.place, lane.strip, [(track.key, order.number(track), order.root(track).key) for track in lane.tracks])
        for lane in order.each_lane()
    ]
    strips = [(strip.place, strip.owner.key, [lane.place for lane in strip.lanes]) for strip in order.strips()]
    return tracks, lanes, strips, findings, document, kept, sorted(world.commits()), world.first, world.last


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_same_is_known_with_nothing_in_memory(path: Path, tmp_path: Path) -> None:
    entries, news, expected = observed(path)
    with Spill(tmp_path) as spill:
        world, now = learned(World(spilling=Spilling(spill, 0)), entries)
        assert now == news
        assert everything(world) == expected
    assert list(tmp_path.iterdir()) == []


@examples(8)
@given(
    path=st.sampled_from(RECORDINGS),
    seed=st.integers(0, 2**32),
    most=st.integers(0, 300),
    long=st.sampled_from([1, 32]),
)
def test_late_and_repeated_lines_find_their_objects(
    path: Path, seed: int, most: int, long: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entries, _, _ = observed(path)
    chance = random.Random(seed)
    shuffled = entries + chance.sample(entries, len(entries) // 3)
    chance.shuffle(shuffled)
    plain, news = learned(World(), shuffled)
    with Spill(tmp_path_factory.mktemp("spilled")) as spill, pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeline.history.ledger.spilled_objects._LONG", long)
        world, now = learned(World(spilling=Spilling(spill, most)), shuffled)
        assert now == news
        assert everything(world) == everything(plain)


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log that creates and deletes the objects of the sample again and again, under the same names."""
    path = tmp_path_factory.mktemp("turns") / "turns.jsonl"
    path.write_bytes(b"\n".join(repeated(SAMPLE, 4)))
    return path


@pytest.mark.parametrize("most", sampled([60, 0, 2_000], 1))
def test_the_same_is_known_of_names_with_many_incarnations(turns: Path, most: int, tmp_path: Path) -> None:
    entries, news, expected = observed(turns)
    with Spill(tmp_path) as spill:
        world, now = learned(World(spilling=Spilling(spill, most)), entries)
        assert now == news
        assert everything(world) == expected
        assert world.is_in_file
        requests = {name: world.requests(name) for name in sorted(world.requested_names())}
        plain, _ = learned(World(), entries)
        assert requests == {name: plain.requests(name) for name in sorted(plain.requested_names())}
        assert sum(map(len, requests.values())) > 1_500
        assert [*world.watches()] == [*plain.watches()]
        assert activities(world, []).keys() == activities(plain, []).keys()
        assert [vars(each) for each in activities(world, []).values()] == [
            vars(each) for each in activities(plain, []).values()
        ]


def test_an_object_that_is_written_all_the_time_is_not_read_again_for_each_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = next(each for each in observed(SAMPLE)[0] if isinstance(each, Entry) and each.ref.kind == "Lease")
    entries: list[Observation] = [
        replace(
            lease,
            ref=replace(lease.ref, name=f"lease-{number}", uid=f"uid-{number}"),
            resource_version=1_000_000 + 20 * turn + number,
        )
        for turn in range(200)
        for number in range(20)
    ]
    read: list[int] = []
    get = Spill.get

    def noted(spill: Spill, place: int) -> object:
        read.append(place)
        return get(spill, place)

    written: list[int] = []  # entries of objects
    put = Spill.put

    def put_noted(spill: Spill, value: Any) -> int:
        if isinstance(value, tuple):
            written.append(len(value[2]))
        return put(spill, value)

    monkeypatch.setattr(Spill, "get", noted)
    monkeypatch.setattr(Spill, "put", put_noted)
    with Spill(tmp_path) as spill:
        world = World(spilling=Spilling(spill, 1600))
        assert len([*world.learn(entries)]) == len(entries)
        assert len(read) <= 40  # each object may be read once or twice while it has few entries
        first = sum(written)
        assert [*world.learn(entries)] == []  # as of two files that overlap
        assert len(read) <= 40 + len(entries)
        assert sum(written) <= 3 * first
        world.settle()
        assert {len(track.moments) for track in world.tracks()} == {200}


def test_the_end_of_a_watch_is_found_without_reading_all_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = ObjectRef("", "v1", "Pod", "", "", "")
    begun = [
        Request(pods, "watch", 200, number, FOREVER, identity=f"audit-{number}", user_agent="kubelet")
        for number in range(3_000)
    ]
    ended = [replace(each, staged=each.received + 1) for each in begun]
    read: list[int] = []
    get = Spill.get

    def noted(spill: Spill, place: int) -> Any:
        found = get(spill, place)
        read.append(len(found))
        return found

    monkeypatch.setattr(Spill, "get", noted)
    with Spill(tmp_path) as spill:
        world = World(spilling=Spilling(spill, 400))
        for now in (begun, ended):
            assert [each for _, each in world.learn(now)] == now
        assert sum(read) <= 20 * len(ended)
        assert [*world.learn(begun)] == []
        assert [*world.watches()] == ended


@pytest.mark.parametrize("in_memory", [0, 100_000])
def test_names_that_were_created_again_and_again_without_a_deletion_take_no_longer(
    in_memory: int, tmp_path: Path
) -> None:
    pod = next(
        each
        for each in observed(SAMPLE)[0]
        if isinstance(each, Entry) and each.ref.kind == "Pod" and each.change is Change.CREATED
    )
    entries: list[Observation] = [
        replace(
            pod,
            ref=replace(pod.ref, uid=f"uid-{number}"),
            resource_version=1_000_000 + number,
            received=pod.received + 1000 * number,
            staged=pod.staged + 1000 * number,
            facts=replace(pod.facts, created=0) if pod.facts else None,
        )
        for number in range(6_000)
    ]
    times: list[float] = []
    for count in (1_500, 6_000):
        with Spill(tmp_path) as spill:
            world = World(spilling=Spilling(spill, in_memory))
            learned = [*world.learn(entries[:count])]
            times.append(processor_seconds(world.settle))
            tracks = [(track.first.time, track.gone_by) for track in world.tracks()]
        assert len(learned) == len(tracks) == count
        assert [gone for _, gone in tracks] == [*(first for first, _ in tracks[1:]), None]
    assert times[1] < 8 * times[0] + 0.1  # with the square of their number, it would be 16 times as long


def test_a_world_below_the_limit_uses_no_file(tmp_path: Path) -> None:
    entries, _, expected = observed(SAMPLE)
    with Spill(tmp_path) as spill:
        world, _ = learned(World(spilling=Spilling(spill, 100_000)), entries)
        assert not world.is_in_file
        assert everything(world) == expected


def test_a_track_is_the_same_as_long_as_somebody_holds_it(tmp_path: Path) -> None:
    with Spill(tmp_path) as spill:
        world, _ = learned(World(spilling=Spilling(spill, 0)), observed(SAMPLE)[0])
        held = next(each for each in world.tracks() if each.ref.kind == "Pod")
        assert world.is_in_file
        assert [*world.tracks()]
        assert world.track((name_of(held.ref), held.ref.uid)) is held


def test_incarnations_that_ended_long_ago_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Spill(tmp_path) as spill:
        world, _ = learned(World(spilling=Spilling(spill, 0)), observed(SAMPLE)[0])
        names = {track.name for track in world.tracks()}
        over = 0
        for lives in map(world.incarnations, names):
            for life in lives[2:]:
                late = world.incarnations(life.name, after=life.first)
                left_out = len(lives) - len(late)
                assert [*late] == [*lives[left_out:]]
                ended = lives[: left_out + 1] if left_out else []
                assert all(each.ended and each.ended.time < life.first.time for each in ended)
                over += left_out
        assert over
        many = next(name for name in names if len(world.incarnations(name)) > 2)
        read: list[int] = []
        monkeypatch.setattr(spill, "get", read.append)
        assert len(world.incarnations(many)) > 2
        assert not read


stamps = st.tuples(st.integers(1, 40) | st.integers(2**64, 2**64 + 3), st.integers(0, 50), st.integers(0, 60))


@examples(50)
@given(st.lists(stamps))
def test_a_clock_of_many_commits_draws_like_any_other(commits: list[tuple[int, int, int]]) -> None:
    one, many = CommitClock(commits), CommitClock.of_many(commits)
    assert ([*one.steps()], one.last) == ([*many.steps()], many.last)


@examples(12)
@given(st.lists(stamps, max_size=50))
def test_rows_that_are_sorted_in_parts_are_in_order(rows: list[tuple[int, int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeline.core.machine.columns._RUN", 7)
        assert [*in_order(rows)] == sorted(rows)


@examples(5)
@given(st.lists(st.binary(max_size=9000), max_size=300))
def test_what_was_put_into_a_file_is_read_again(values: list[bytes]) -> None:
    with Spill(Path(gettempdir())) as spill:
        places = [spill.put(value) for value in values]
        assert [spill.get(place) for place in places] == values
