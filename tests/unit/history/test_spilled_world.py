"""A world that keeps its objects and tracks in a file answers like one that has all in memory."""

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bench.larger import repeated
from tests import ENGINE, RULES
from tests.inputs.recordings import SAMPLE, findings_of, observations_of
from tests.patience import processor_seconds
from tests.properties import examples, sampled
from timeline.core.entries import FOREVER, Change, Entry, ObjectRef, Observation, Request
from timeline.core.machine.spill import Spill, Spilling
from timeline.history.lifelines import name_of
from timeline.history.world.in_file import ReadTrack
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.activity import activities
from timeline.layout.arrangement import Arrangement
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
    order = Arrangement(world)
    lanes = [
        (lane.place, lane.strip, lane.root.key, [track.key for track in lane.tracks], lane.numbers)
        for lane in order.lanes()
    ]
    strips = [(strip.place, strip.owner.key, [lane.place for lane in strip.lanes]) for strip in order.strips()]
    return tracks, lanes, strips, findings, document, kept, sorted(world.commits()), world.first, world.last


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_same_is_known_with_nothing_in_memory(path: Path, tmp_path: Path) -> None:
    entries, news, expected = observed(path)
    for most, in_file in [(0, True), (100_000, False)][: 1 + (path == SAMPLE)]:
        with Spill(tmp_path) as spill:
            world, now = learned(World(spilling=Spilling(spill, most)), entries)
            assert (now, isinstance(next(world.tracks()), ReadTrack)) == (news, in_file)
            assert everything(world) == expected
        assert list(tmp_path.iterdir()) == []


@examples(5)
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
        assert isinstance(next(world.tracks()), ReadTrack)
        plain, _ = learned(World(), entries)
        requests, expected_requests = (
            {name: each.requests(name) for name in sorted(each.requested_names())} for each in (world, plain)
        )
        assert requests == expected_requests and sum(map(len, requests.values())) > 1_500
        assert [*world.watches()] == [*plain.watches()]
        active, expected_active = (
            {who: vars(each) for who, each in activities(of, []).items()} for of in (world, plain)
        )
        assert active == expected_active


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what is read of files from now on."""
    found: list[Any] = []
    get = Spill.get

    def noted(spill: Spill, place: int) -> Any:
        found.append(get(spill, place))
        return found[-1]

    monkeypatch.setattr(Spill, "get", noted)
    return found


def first_of(kind: str) -> Entry:
    entries = (each for each in observed(SAMPLE)[0] if isinstance(each, Entry) and each.change is Change.CREATED)
    return next(each for each in entries if each.ref.kind == kind)


def test_an_object_that_is_written_all_the_time_is_not_read_again_for_each_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[Any]
) -> None:
    lease = first_of("Lease")
    refs = [replace(lease.ref, name=f"lease-{number}", uid=f"uid-{number}") for number in range(20)]
    entries: list[Observation] = [
        replace(lease, ref=ref, resource_version=1_000_000 + 20 * turn + number, change=Change.MODIFIED)
        for turn in range(200)
        for number, ref in enumerate(refs)
    ]
    written: list[int] = []  # entries of objects
    put = Spill.put

    def put_noted(spill: Spill, value: Any) -> int:
        if isinstance(value, tuple):
            written.append(len(value[2]))
        return put(spill, value)

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


def test_the_end_of_a_watch_is_found_without_reading_all_requests(tmp_path: Path, read: list[Any]) -> None:
    watch = Request(ObjectRef("", "v1", "Pod", "", "", ""), "watch", 200, 0, FOREVER, user_agent="kubelet")
    begun = [replace(watch, received=number, identity=f"audit-{number}") for number in range(3_000)]
    ended = [replace(each, staged=each.received + 1) for each in begun]
    with Spill(tmp_path) as spill:
        world = World(spilling=Spilling(spill, 400))
        for now in (begun, ended):
            assert [each for _, each in world.learn(now)] == now
        assert sum(map(len, read)) <= 20 * len(ended)
        assert [*world.learn(begun)] == []
        assert [*world.watches()] == ended


@pytest.mark.parametrize("in_memory", [0, 100_000])
def test_names_that_were_created_again_and_again_without_a_deletion_take_no_longer(
    in_memory: int, tmp_path: Path
) -> None:
    pod = first_of("Pod")
    assert pod.facts
    pod = replace(pod, facts=replace(pod.facts, created=0))
    entries: list[Observation] = [
        replace(
            pod, ref=replace(pod.ref, uid=f"uid-{number}"), resource_version=1_000_000 + number,
            received=pod.received + 1000 * number, staged=pod.staged + 1000 * number,
        )
        for number in range(6_000)
    ]  # fmt: skip
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


def test_a_track_is_the_same_as_long_as_somebody_holds_it(tmp_path: Path) -> None:
    with Spill(tmp_path) as spill:
        world, _ = learned(World(spilling=Spilling(spill, 0)), observed(SAMPLE)[0])
        held = next(each for each in world.tracks() if each.ref.kind == "Pod")
        assert isinstance(next(world.tracks()), ReadTrack)
        assert [*world.tracks()]
        assert world.track((name_of(held.ref), held.ref.uid)) is held


def test_incarnations_that_ended_long_ago_are_not_read(tmp_path: Path, read: list[Any]) -> None:
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
        read.clear()
        assert len(world.incarnations(many)) > 2
        assert not read
