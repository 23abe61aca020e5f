"""These tests check forgetting: everything about objects that ended long ago goes, and the rest stays unchanged.

objects   ──A created──A deleted─────────────────────────▶
                                 forget A        as if A had never been; what holds of B holds on
          ───────────B created──────────────B modified───▶
"""

import gc
import random
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import pytest
from hypothesis import Phase, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.inputs.live import batches
from tests.inputs.recordings import world_of
from tests.properties import examples
from tests.unit.history.live_worlds import WATCHES, Judged, T, entry, mark, observations_of, started, taken_over
from timeline.core.entries import Change, Entry, Mark, MarkType, Observation, Owner
from timeline.core.order import SECOND
from timeline.history.ledger import clocks
from timeline.history.lifelines import Key, Track, name_of
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judge import judged, settled
from timeline.judging.coverage.sources import coverage
from timeline.kinds import Reference
from timeline.kinds.event import EventFacts
from timeline.kinds.pod import PodFacts
from timeline.layout.live_arrangement import LiveArrangement
from timeline.payloads import documents

SPELLS = ("open", "active", "ended", "waiting", "claimed")


class Followed(Judged):
    """This class is what a worker holds of a live source, without database rows."""

    def __init__(self) -> None:
        super().__init__()
        self.order = LiveArrangement(self.world)
        self.gone: set[Key] = set()

    def commit(self, batch: Iterable[Observation]) -> list[Track]:
        changed = super().commit(batch)
        self.order.arrange(changed)
        return changed

    def forget(self, before: int) -> set[str]:
        """Forget what was over before then; return the names of all that was forgotten up to now."""
        over = self.world.expired(before, before)
        for track in over:
            self.order.forget(track)
            self.found.pop(track.key, None)
        self.world.forget(over, before)
        self.gone |= {track.key for track in over}
        return {name.name for name, _ in self.gone}


def lives(world: World) -> list[object]:
    return [
        (each.key, world.number(each), world.lane(each), each.until, [(one.time, one.entry) for one in each.moments])
        for each in world.tracks()
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


def reads_all(live: Followed) -> None:
    world, keys = live.world, [track.key for track in live.world.tracks()]
    assert sorted(by_kind(world), key=repr) == sorted(keys, key=repr)
    assert not live.gone & {*keys}
    assert sorted((track.key for lane in live.order.lanes() for track in lane.tracks), key=repr) == sorted(
        keys, key=repr
    )
    for question in (coverage, relations, findings, World.two_clusters):
        question(world)


@examples(2, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    name=st.sampled_from(WATCHES),
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
            again = taken_over(live.world, RecordingWorld())
            assert lives(again) == lives(live.world)
            assert relations(again) == relations(live.world)
            assert findings(again) == findings(live.world)
            assert reach(again) == reach(live.world)
    live.commit([])
    reads_all(live)
    kept = [each for each in observations_of(name) if isinstance(each, Mark) or not _of(each, live.gone)]
    fresh = world_of(kept, world=RecordingWorld())
    assert by_kind(fresh) == by_kind(live.world)
    assert relations(fresh).keys() == relations(live.world).keys()
    for key, expected in relations(fresh).items():
        assert relations(live.world)[key][:6] == expected[:6]  # type: ignore[index]


def _of(entry: Observation, keys: set[Key]) -> bool:
    return isinstance(entry, Entry) and (name_of(entry.ref), entry.ref.uid) in keys


@examples(2, phases=[Phase.reuse, Phase.generate])
@given(name=st.sampled_from(WATCHES), size=st.integers(20, 300), memory=st.integers(3, 20))
def test_nothing_is_found_because_something_was_forgotten(name: str, size: int, memory: int) -> None:
    """Findings about forgotten objects were made before; forgetting itself must not cause findings."""
    whole, live = Followed(), Followed()
    for batch in batches(observations_of(name), size):
        whole.commit(batch)
        live.commit(batch)
        live.forget(live.world.last - memory * SECOND)
        live.commit([])
    new = live.findings().keys() - whole.findings().keys()
    assert not [each for each in new if live.findings()[each].occurrences[-1].last >= live.world.remembered]


def test_what_stands_can_be_asked_for_when_its_like_was_forgotten() -> None:
    live = Followed()
    live.commit([*started("Event"), *event(1, 10, 20), *event(2, 11, None)])
    live.commit([mark("Event", MarkType.BOOKMARK, 600, 50)])
    live.forget(at(500))
    assert [track.ref.name for track in live.world.of_kind("", "Event")] == ["event-2"]


def test_who_takes_over_knows_the_latest_revision_although_it_was_forgotten() -> None:
    live = Followed()
    live.commit([*started("Pod", "Service"), pod("stays", 10, 20), pod("goes", 11, 10), gone("goes", 12, 10)])
    live.commit([mark("Service", MarkType.BOOKMARK, 500, 11)])  # Services up to revision 12 may still arrive
    assert live.forget(at(400)) == {"goes"}
    assert live.world.reached([("", "Service")]) < at(500)
    again = taken_over(live.world, RecordingWorld())
    assert reach(again) == reach(taken_over(again, RecordingWorld())) == reach(live.world)


def test_an_owner_stays_as_long_as_what_it_owns() -> None:
    live = Followed()
    live.commit([*started("Pod"), pod("boss", 10, 1), gone("boss", 11, 2), pod("child", 12, 3, owner="boss")])
    assert not live.forget(at(500))
    live.commit([pod("child", 13, 600, Change.MODIFIED, "boss"), gone("child", 14, 601, "boss")])
    assert live.forget(at(1000)) == {"boss", "child"}
    assert not list(live.world.tracks())


def test_the_life_before_which_another_is_drawn_to_end_stays_as_long_as_that_one() -> None:
    live = Followed()
    late = replace(gone("boss", 12, 1), arrived=at(9))  # only its arrival shows its time
    second = [replace(each, ref=replace(each.ref, uid="second")) for each in (pod("boss", 13, 5), gone("boss", 14, 20))]
    first = [pod("boss", 10, 1), pod("child", 11, 5, owner="boss"), late]
    live.commit([*started("Pod"), *first, *second, pod("other", 15, 25)])
    assert [life.until for life in live.world.incarnations(name_of(late.ref))] == [at(5) + 100, at(20) + 100]
    assert not live.forget(at(500))
    assert lives(taken_over(live.world, RecordingWorld())) == lives(live.world)
    live.commit([gone("child", 16, 30, "boss")])
    assert live.forget(at(500)) == {"boss", "child"} and len(live.gone) == 3


def test_lives_without_uids_go_together() -> None:
    live = Followed()
    reported = pod("a", 10, 1), gone("a", 11, 2), pod("a", 12, 3), gone("a", 13, 400)
    anonymous = [replace(each, ref=replace(each.ref, uid=""), identity=str(at)) for at, each in enumerate(reported)]
    live.commit([*started("Pod"), *anonymous])
    assert not live.forget(at(300))
    live.forget(at(500))
    assert len(live.gone) == 2
    reads_all(live)


@pytest.mark.parametrize("owned", [True, False])
def test_memory_does_not_grow_with_what_was_forgotten(owned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "RECENT", 20)  # by default they grow to 5000
    live = Followed()
    live.commit([*started("Event", "Pod"), pod("boss", 5, 0)])
    owner = "boss" if owned else ""
    sizes = []
    for lap in range(12):
        for number in range(lap * 20, lap * 20 + 20):
            now, name = 10 + number * 10, f"p-{number}"
            events = *event(number, now + 1, now + 4, name), *event(number + 100_000, now + 1, now + 4, "boss")
            changed = pod(name, now + 5, now + 5, Change.MODIFIED, owner)
            live.commit([pod(name, now, now, owner=owner), *events, changed, gone(name, now + 6, now + 6, owner)])
        live.commit([mark(kind, MarkType.BOOKMARK, now + 9, now + 9) for kind in ("Pod", "Event")])
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


def at(second: int) -> int:
    return T + second * SECOND


def event(number: int, created: int, ended: int | None, about: str = "") -> list[Entry]:
    involved = Reference("", "Pod", about, "involved", "n") if about else None
    facts = EventFacts(reason="FailedScheduling" if about else "", involved=involved)
    times = [(created, Change.CREATED)] + ([(ended, Change.DELETED)] if ended else [])
    return [entry("Event", f"event-{number}", second, second, change, facts) for second, change in times]


def pod(name: str, revision: int, second: int, change: Change = Change.CREATED, owner: str = "") -> Entry:
    facts = PodFacts(generation=1 + (change is Change.MODIFIED))
    owned = Owner("", "v1", "Pod", owner, f"Pod-{owner}") if owner else None
    return entry("Pod", name, revision, second, change, facts, owner=owned)


def gone(name: str, revision: int, second: int, owner: str = "") -> Entry:
    return pod(name, revision, second, Change.DELETED, owner)
