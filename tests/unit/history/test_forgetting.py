"""These tests check forgetting: everything about objects that ended long ago goes, and the rest stays unchanged.

objects   ──A created──A deleted─────────────────────────▶
                                 forget A        as if A had never been; what holds of B holds on
          ───────────B created──────────────B modified───▶
"""

import gc
import random
from collections.abc import Iterable, Sequence
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import ENGINE
from tests.live import batches, observations
from tests.properties import examples
from timeline.core.entries import Change, Clock, Entry, Facts, Mark, MarkType, ObjectRef, Observation, Owner
from timeline.history.ledger import clocks
from timeline.history.lifelines import Key, name_of
from timeline.history.snapshot import lines_of, snapshot_of
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judge import horizons, judged, judged_again, settled, touched
from timeline.judging.coverage.sources import coverage
from timeline.kinds import Reference
from timeline.kinds.event import EventFacts
from timeline.kinds.pod import PodFacts
from timeline.layout.arrangement import Arrangement
from timeline.payloads import documents

if TYPE_CHECKING:
    from timeline.judging.findings import Finding

SECOND = 1_000_000
T = 1_795_000_000 * SECOND
SPELLS = ("open", "active", "ended", "waiting", "claimed")


@cache
def observations_of(name: str) -> list[Observation]:
    return observations(ENGINE / name)


class Followed:
    """This class is what a worker holds of a live source, without database rows."""

    def __init__(self) -> None:
        self.world = RecordingWorld()
        self.order = Arrangement(self.world)
        self.found: dict[Key, list[Finding]] = {}
        self.gone: set[Key] = set()

    def commit(self, batch: Iterable[Observation]) -> None:
        for _ in self.world.learn(batch):
            pass
        changed = self.world.settle()
        subjects = touched(self.world, changed, horizons(self.world))
        self.found.update(judged_again(self.world, subjects, lambda key: self.found.get(key, ())))
        for lane in self.order.arrange(changed).lanes:
            for track in lane.tracks:
                self.order.root(track)
                self.order.number(track)

    def forget(self, before: int) -> None:
        over = self.world.expired(before, before)
        for track in over:
            self.order.forget(track)
            self.found.pop(track.key, None)
        self.world.forget(over, before)
        self.gone |= {track.key for track in over}


def lives(world: World) -> list[object]:
    return [
        (
            track.key,
            world.number(track),
            world.lane(track),
            track.until,
            [(each.time, each.entry) for each in track.moments],
        )
        for track in world.tracks()
    ]


def relations(world: World) -> dict[Key, object]:
    """Return what each method of the world returns for each life."""
    ends = [track.last.at for track in world.tracks()]
    return {
        track.key: (
            [life.key for life in world.incarnations(track.name)],
            sorted(child.key for child in world.children(track)),
            sorted(user.key for user in world.referrers(track.name)),
            (life := world.of_uid(track.ref.uid)) and life.key,
            (owner := world.owner_of(track)) and owner.key,
            world.root(track).key,
            [world.tally(track.ref.uid, spell, at) for spell in SPELLS for at in ends[:5]],
        )
        for track in world.tracks()
    }  # fmt: skip


def reach(world: World) -> object:
    """Return how far the watches are complete, and what that means for the rules."""
    return {kind: world.reached([kind]) for kind in world.streams}, coverage(world), world.own_counters


def by_kind(world: World) -> list[Key]:
    return [track.key for kind in sorted(world.seen) for track in world.of_kind(*kind)]


def findings(world: World) -> dict[str, object]:
    """Return the findings of all subjects as payloads."""
    found = judged(world, world.tracks())
    every = [settled(each, world) for of_track in found.values() for each in of_track]
    return {each.id: documents.finding(each) for each in every}


def taken_over(world: World) -> World:
    again = RecordingWorld()
    snapshot = snapshot_of(lines_of(world.snapshot()))
    assert snapshot is not None
    again.restore(snapshot)
    again.settle()
    return again


def reads_all(live: Followed) -> None:
    world = live.world
    assert sorted(by_kind(world), key=repr) == sorted((track.key for track in world.tracks()), key=repr)
    assert not live.gone & {track.key for track in world.tracks()}
    coverage(world)
    relations(world)
    findings(world)
    world.two_clusters()
    assert sorted((track.key for lane in live.order.lanes() for track in lane.tracks), key=repr) == sorted(
        (track.key for track in world.tracks()), key=repr
    )


@examples(2, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    name=st.sampled_from(["jobs-watch", "families-watch"]),
    seed=st.integers(0, 2**32),
    size=st.integers(20, 300),
    memory=st.integers(0, 20),
)
@example("families-watch", 59382, 21, 17)  # a list with a revision above all others and an earlier time
def test_what_stays_is_as_it_was(name: str, seed: int, size: int, memory: int) -> None:
    """Forget between batches of one source; then do the same after another worker took over from what was stored."""
    chance = random.Random(seed)
    live = Followed()
    for batch in batches(observations_of(name), size):
        live.commit(batch)
        if chance.random() < 0.4:
            before = lives(live.world)
            live.forget(live.world.last - memory * SECOND)
            stay = {track.key for track in live.world.tracks()}
            assert lives(live.world) == [life for life in before if life[0] in stay]  # type: ignore[index]
            reads_all(live)
            again = taken_over(live.world)
            assert lives(again) == lives(live.world)
            assert relations(again) == relations(live.world)
            assert findings(again) == findings(live.world)
            assert reach(again) == reach(live.world)
    live.commit([])
    reads_all(live)
    kept = [each for each in observations_of(name) if isinstance(each, Mark) or not _of(each, live.gone)]
    fresh = RecordingWorld()
    for _ in fresh.learn(kept):
        pass
    fresh.settle()
    assert by_kind(fresh) == by_kind(live.world)
    assert relations(fresh).keys() == relations(live.world).keys()
    for key, expected in relations(fresh).items():
        assert relations(live.world)[key][:6] == expected[:6]  # type: ignore[index]


def _of(entry: Observation, keys: set[Key]) -> bool:
    return isinstance(entry, Entry) and (name_of(entry.ref), entry.ref.uid) in keys


@examples(2, phases=[Phase.reuse, Phase.generate])
@given(name=st.sampled_from(["jobs-watch", "families-watch"]), size=st.integers(20, 300), memory=st.integers(3, 20))
def test_nothing_is_found_because_something_was_forgotten(name: str, size: int, memory: int) -> None:
    """Findings about forgotten objects were made before; forgetting itself must not cause findings."""
    whole, live = Followed(), Followed()
    for batch in batches(observations_of(name), size):
        whole.commit(batch)
        live.commit(batch)
        live.forget(live.world.last - memory * SECOND)
        live.commit([])
    known = {each.id: each for found in whole.found.values() for each in found}
    for found in live.found.values():
        for each in found:
            if each.occurrences[-1].last >= live.world.remembered:
                assert each.id in known


def test_what_stands_can_be_asked_for_when_its_like_was_forgotten() -> None:
    live = Followed()
    live.commit([*started("Event"), *event(1, 10, 20), *event(2, 11, None)])
    live.commit([reached("Event", 600, 50)])
    live.forget(T + 500 * SECOND)
    assert [track.ref.name for track in live.world.of_kind("", "Event")] == ["event-2"]


def test_who_takes_over_knows_the_latest_revision_although_it_was_forgotten() -> None:
    live = Followed()
    live.commit([*started("Pod", "Service"), pod("stays", 10, 20, change=Change.CREATED)])
    live.commit([pod("goes", 11, 10, change=Change.CREATED), pod("goes", 12, 10, change=Change.DELETED)])
    live.commit([reached("Service", 500, 11)])  # Services up to revision 12 may still arrive
    live.forget(T + 400 * SECOND)
    assert [name.name for name, _ in live.gone] == ["goes"]
    assert live.world.reached([("", "Service")]) < T + 500 * SECOND
    again = taken_over(live.world)
    assert reach(again) == reach(live.world)
    assert reach(taken_over(again)) == reach(live.world)


def test_an_owner_stays_as_long_as_what_it_owns() -> None:
    live = Followed()
    boss = pod("boss", 10, 1, change=Change.CREATED), pod("boss", 11, 2, change=Change.DELETED)
    child = pod("child", 12, 3, change=Change.CREATED, owner="boss")
    live.commit([*started("Pod"), *boss, child])
    live.forget(T + 500 * SECOND)
    assert not live.gone
    live.commit([pod("child", 13, 600, change=Change.MODIFIED, owner="boss")])
    live.commit([pod("child", 14, 601, change=Change.DELETED, owner="boss")])
    live.forget(T + 1000 * SECOND)
    assert {name.name for name, _ in live.gone} == {"boss", "child"}
    assert not list(live.world.tracks())


def test_the_life_before_which_another_is_drawn_to_end_stays_as_long_as_that_one() -> None:
    live = Followed()
    boss = pod("boss", 10, 1, change=Change.CREATED)
    child = pod("child", 11, 5, change=Change.CREATED, owner="boss")
    late = replace(pod("boss", 12, 1, change=Change.DELETED), arrived=T + 9 * SECOND)  # only its arrival shows its time
    second = [
        replace(each, ref=replace(each.ref, uid="second"))
        for each in (pod("boss", 13, 5, change=Change.CREATED), pod("boss", 14, 20, change=Change.DELETED))
    ]
    live.commit([*started("Pod"), boss, child, late, *second, pod("other", 15, 25, change=Change.CREATED)])
    ends = [life.until for life in live.world.incarnations(name_of(boss.ref))]
    assert ends == [T + 5 * SECOND + 100, T + 20 * SECOND + 100]
    live.forget(T + 500 * SECOND)
    assert not live.gone
    assert lives(taken_over(live.world)) == lives(live.world)
    live.commit([pod("child", 16, 30, change=Change.DELETED, owner="boss")])
    live.forget(T + 500 * SECOND)
    assert {name.name for name, _ in live.gone} == {"boss", "child"}
    assert len(live.gone) == 3


def test_lives_without_uids_go_together() -> None:
    live = Followed()
    anonymous = [
        replace(each, ref=replace(each.ref, uid=""), identity=str(number))
        for number, each in enumerate([
            pod("a", 10, 1, change=Change.CREATED), pod("a", 11, 2, change=Change.DELETED),
            pod("a", 12, 3, change=Change.CREATED), pod("a", 13, 400, change=Change.DELETED),
        ])
    ]  # fmt: skip
    live.commit([*started("Pod"), *anonymous])
    live.forget(T + 300 * SECOND)
    assert not live.gone
    live.forget(T + 500 * SECOND)
    assert len(live.gone) == 2
    reads_all(live)


@pytest.mark.parametrize("owned", [True, False])
def test_memory_does_not_grow_with_what_was_forgotten(owned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "RECENT", 20)  # by default they grow to 5000
    live = Followed()
    live.commit([*started("Event", "Pod"), pod("boss", 5, 0, change=Change.CREATED)])
    sizes = []
    for lap in range(12):
        for number in range(lap * 20, lap * 20 + 20):
            at, name = 10 + number * 10, f"p-{number}"
            owner = "boss" if owned else ""
            live.commit([
                pod(name, at, at, change=Change.CREATED, owner=owner),
                *event(number, at + 1, at + 4, about=name),
                *event(number + 100_000, at + 1, at + 4, about="boss"),
                pod(name, at + 5, at + 5, change=Change.MODIFIED, owner=owner),
                pod(name, at + 6, at + 6, change=Change.DELETED, owner=owner),
            ])  # fmt: skip
        live.commit([reached("Pod", at + 9, at + 9), reached("Event", at + 9, at + 9)])
        live.forget(live.world.last - 2 * SECOND)
        sizes.append(held(live.world) + held(live.order) + len(live.found))
    assert sizes[-1] <= sizes[3], sizes


def held(root: object) -> int:
    """Return how many entries all containers have that can be reached from an object."""
    count, seen, waiting = 0, set[int](), [root]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType | MethodType | BuiltinFunctionType):
            continue
        seen.add(id(each))
        if isinstance(each, dict | list | set | tuple | frozenset):
            count += len(each)
        waiting += gc.get_referents(each)
    return count


def started(*kinds: str) -> list[Observation]:
    compared = [Mark("", "v1", kind, MarkType.TOGETHER, T - 9 + n, 1, other="Pod") for kind in kinds for n in range(3)]
    return [*compared, *(Mark("", "v1", kind, MarkType.LISTED, T, 4) for kind in kinds)]


def reached(kind: str, second: int, revision: int) -> Mark:
    return Mark("", "v1", kind, MarkType.BOOKMARK, T + second * SECOND, revision)


def event(number: int, created: int, ended: int | None, about: str = "") -> Sequence[Entry]:
    involved = Reference("", "Pod", about, "involved", "n") if about else None
    facts = EventFacts(reason="FailedScheduling" if about else "", involved=involved)
    observed = [entry("Event", f"event-{number}", created, created, Change.CREATED, facts)]
    return (
        observed
        if ended is None
        else [*observed, entry("Event", f"event-{number}", ended, ended, Change.DELETED, facts)]
    )


def pod(name: str, revision: int, second: int, *, change: Change, owner: str = "") -> Entry:
    made = entry("Pod", name, revision, second, change, PodFacts(generation=1 + (change is Change.MODIFIED)))
    return replace(made, owner=Owner("", "v1", "Pod", owner, f"Pod-{owner}") if owner else None)


def entry(kind: str, name: str, revision: int, second: int, change: Change, facts: Facts) -> Entry:
    at = T + second * SECOND
    ref = ObjectRef("", "v1", kind, "n", name, f"{kind}-{name}")
    agent = "m" if change is Change.MODIFIED else ""
    return Entry(
        ref, change, revision, Clock.OBJECT, at, 2**62, replace(facts, created=at), user_agent=agent, arrived=at + 100
    )
