"""This module makes what the watches of a live source show, and worlds that learn it batch after batch."""

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

from msgspec.structs import replace

from tests import ENGINE
from tests.inputs.live import observations
from timeline.core.entries import FOREVER, Change, Clock, Entry, Facts, Mark, MarkType, ObjectRef, Observation
from timeline.core.order import SECOND
from timeline.history.lifelines import Key, Track
from timeline.history.snapshot import lines_of, snapshot_of
from timeline.history.streams import PASSES
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World
from timeline.judge import horizons, judged_again, settled, touched
from timeline.judging.findings import Finding

T = 1_795_000_000 * SECOND
WATCHES = ["jobs-watch", "families-watch"]
AnyWorld = TypeVar("AnyWorld", bound=World)


@cache
def observations_of(name: str) -> list[Observation]:
    return observations(ENGINE / name)


def mark(kind: str, what: MarkType, second: float, revision: int, group: str = "", **more: Any) -> Mark:
    return Mark(group, "v1", kind, what, T + round(second * SECOND), revision, **more)


def started(*kinds: str, group: str = "") -> list[Observation]:
    """Return the marks of streams that were compared and listed."""
    compared = [mark(kind, MarkType.TOGETHER, n - 9, 1, group, other="Pod") for kind in kinds for n in range(PASSES)]
    return [*compared, *(mark(kind, MarkType.LISTED, 0, 5, group) for kind in kinds)]


def entry(
    kind: str, name: str, revision: int, second: float, change: Change, facts: Facts, group: str = "", **more: Any
) -> Entry:
    """Return a change of a whole second after T as a watch shows it, which arrives at once."""
    whole = T + int(second) * SECOND
    made = Entry(
        ObjectRef(group, "v1", kind, "n", name, f"{kind}-{name}"), change, revision, Clock.OBJECT, whole, FOREVER,
        replace(facts, created=whole), user_agent="m" if change is Change.MODIFIED else "",
        arrived=T + round(second * SECOND) + 100,
    )  # fmt: skip
    return replace(made, **more)


def taken_over(world: World, again: AnyWorld) -> AnyWorld:
    """Return the other world after it has learned what is stored of the first one, as a worker that takes over does."""
    snapshot = snapshot_of([*lines_of(world.snapshot())])
    assert snapshot is not None
    again.restore(snapshot)
    again.settle()
    return again


class Judged:
    """This class keeps the findings of a live world, as `pipeline.follow` does."""

    def __init__(self, followed: bool = False) -> None:
        self.world = RecordingWorld(followed=followed)
        self.found: dict[Key, list[Finding]] = {}

    def commit(self, batch: Iterable[Observation]) -> list[Track]:
        """Learn and judge a batch; return the tracks that have changed."""
        for _ in self.world.learn(batch):
            pass
        changed = self.world.settle()
        subjects = touched(self.world, changed, horizons(self.world))
        self.found |= judged_again(self.world, subjects, lambda key: self.found.get(key, ()))
        return changed

    def findings(self) -> dict[str, Finding]:
        """Return the findings by identity."""
        return {each.id: each for of_it in self.found.values() for each in of_it}

    def settled(self) -> dict[str, Finding]:
        """Return the findings by identity, with their status in a live source."""
        return {key: settled(each, self.world) for key, each in self.findings().items()}
