"""The lanes of a log larger than memory are ordered in proportion to its tracks."""

from pathlib import Path

from tests.patience import processor_seconds
from timeline.core.entries import Change, Clock, Entry, ObjectRef, Owner
from timeline.core.machine.spill import Spill, Spilling
from timeline.history.lifelines import Name
from timeline.history.world.world import World
from timeline.layout.arrangement import Arrangement


def created(kind: str, name: str, uid: str, number: int, owner: Owner | None = None) -> Entry:
    ref = ObjectRef("", "v1", kind, "test", name, uid)
    began = 1_700_000_000_000_000 + 1000 * number
    return Entry(ref, Change.CREATED, number + 1, Clock.AUDIT, began, began, owner=owner)


def test_a_name_that_has_another_owner_each_time_takes_no_longer(tmp_path: Path) -> None:
    entries: list[Entry] = []
    for number in range(0, 16_000, 2):
        owner = Owner("", "v1", "ConfigMap", f"owner-{number}", f"owner-{number}")
        entries += [
            created("ConfigMap", owner.name, owner.uid, number),
            created("Pod", "again", f"uid-{number}", number + 1, owner),
        ]
    times: list[float] = []
    for count in (2_000, 16_000):
        with Spill(tmp_path) as spill:
            world = World(spilling=Spilling(spill, 0))
            assert len([*world.learn(entries[:count])]) == count
            world.settle()
            found: list[list[Name]] = []

            def order(world: World = world, found: list[list[Name]] = found) -> None:
                found += [[track.name for track in lane.tracks] for lane in Arrangement(world).lanes()]

            times.append(processor_seconds(order))
        assert [name.kind for (name,) in found] == ["ConfigMap", "Pod"] * (count // 2)
    assert times[1] < 14 * times[0] + 0.1  # of eight times as many; with their square, it would be more than 18
