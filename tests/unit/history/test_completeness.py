"""These tests check whether missing writes of a log are noticed from the writes that it has."""

import random
from functools import cache

import pytest

from tests.inputs.recordings import SAMPLE, entries_of, world_of
from timeline.core.entries import FOREVER, Change, Clock, Entry, ObjectRef
from timeline.core.order import SECOND
from timeline.history.world.world import World
from timeline.kinds import kind_of


@cache
def sample() -> list[Entry]:
    return sorted(entries_of(SAMPLE), key=lambda entry: entry.staged)


def complete(world: World, kind: str = "Service", start: int | None = None, end: int | None = None) -> bool:
    return world.complete("", kind, world.first if start is None else start, world.last if end is None else end)


def test_nothing_is_missing_from_a_whole_log() -> None:
    world = world_of(sample())
    assert world.completeness.losses == []
    assert complete(world) and complete(world, "Pod")


def test_a_kind_that_was_never_seen_is_never_complete() -> None:
    world = world_of([entry for entry in sample() if entry.ref.kind != "Service"])
    assert not complete(world)
    assert complete(world, "Pod")


@pytest.mark.parametrize("part", [slice(None, 500), slice(200, None), slice(200, 500)])
def test_a_log_that_begins_or_ends_anywhere_is_whole_as_far_as_it_goes(part: slice) -> None:
    assert complete(world_of(sample()[part]))


def test_a_hole_concerns_every_kind_but_only_its_own_time() -> None:
    world = world_of(sample()[:300] + sample()[380:])
    (hole,) = world.completeness.holes
    assert not complete(world) and not complete(world, "Pod", *hole)
    assert complete(world, "Service", world.first, hole[0] - 1)
    assert complete(world, "Service", hole[1] + 1, world.last)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_lines_that_are_lost_all_over_concern_the_whole_log(share: float) -> None:
    chance = random.Random(1)
    world = world_of([entry for entry in sample() if chance.random() > share])
    assert world.completeness.whole_log
    assert not complete(world)


def test_a_lost_creation_tells_on_the_kind() -> None:
    pod = [entry for entry in sample() if entry.ref.kind == "Pod" and entry.change is Change.CREATED][-1]
    (loss,) = world_of(entry for entry in sample() if entry is not pod).completeness.losses
    assert loss.creation and loss.kind == ("", "Pod")


def test_an_update_vouches_for_what_it_replaces() -> None:
    world = world_of(sample())
    lease = next(track for track in world.tracks() if track.ref.kind == "Lease" and track.last.replaces)
    pairs = list(zip(lease.moments, lease.moments[1:], strict=False))
    assert len(pairs) > 2 and all(after.replaces for _, after in pairs)
    assert all(world.unbroken(before, after, lease) for before, after in pairs)
    assert not world.unbroken(lease.moments[0], lease.moments[2], lease)


def watched(kind: str, name: str, change: Change, second: int, revision: int, created: int) -> Entry:
    ref = ObjectRef("", "v1", kind, "n", name, f"uid-{name}")
    time = second * SECOND
    facts = kind_of("", kind).facts_type(created=created * SECOND)
    who = "" if change is Change.DELETED else "kubelet"  # the writer that managedFields name, and its time
    return Entry(ref, change, revision, Clock.OBJECT, time, FOREVER, facts, user_agent=who)


def test_a_watch_that_does_not_tell_of_a_creation_has_lost_it() -> None:
    lines = [
        watched("Pod", "old", Change.MODIFIED, 100, 10, created=50),  # older than the watch
        watched("Pod", "web", Change.MODIFIED, 130, 20, created=120),
        watched("Service", "web", Change.MODIFIED, 101, 11, created=50),
        watched("Service", "web", Change.DELETED, 140, 21, created=50),
    ]
    world = world_of(lines)
    (loss,) = world.completeness.losses
    assert loss.creation and loss.kind == ("", "Pod")
    assert not complete(world, "Pod", end=130 * SECOND)
    assert complete(world, "Service", end=140 * SECOND)


def test_watches_that_lost_several_lines_are_thinned_all_of_them() -> None:
    lost = [watched("Pod", f"web-{n}", Change.MODIFIED, 130 + n, 20 + n, created=120) for n in range(3)]
    services = [watched("Service", "web", Change.MODIFIED, 101 + n, 30 + n, created=50) for n in range(20)]
    world = world_of([watched("Pod", "old", Change.MODIFIED, 100, 10, created=50), *lost, *services])
    assert not complete(world, "Service", end=120 * SECOND)


def test_a_deletion_does_not_tell_since_when_a_watch_follows() -> None:
    lines = [
        watched("Pod", "old", Change.DELETED, 100, 10, created=50),  # its last change was an hour before
        watched("Pod", "web", Change.MODIFIED, 3700, 20, created=1000),
    ]
    assert world_of(lines).completeness.losses == []


def logged(name: str, change: Change, revision: int, received: int, staged: int) -> Entry:
    ref = ObjectRef("", "v1", "Pod", "made", name, f"uid-{name}")
    facts = kind_of("", "Pod").facts_type(created=received if change is Change.CREATED else SECOND)
    return Entry(ref, change, revision, Clock.AUDIT, received, staged, facts, identity=f"{name} {change}")


def batch(deletes: Change) -> World:
    """Return a world of a thousand Pods that are created one after the other, and of which twelve are then written at
    once. The twelve revisions before those writes are missing."""
    #   … 1000 |··· 12 revisions that no response has ···| 1013 … 1024 | 1025 …
    made = [logged(f"p{at}", Change.CREATED, at, at * SECOND, at * SECOND + 500) for at in range(1, 1001)]
    at_once = [logged(f"p{at}", deletes, 1012 + at, 1001 * SECOND, 1003 * SECOND) for at in range(1, 13)]
    after = [logged(f"q{at}", Change.CREATED, at, at * SECOND, at * SECOND + 500) for at in range(1025, 1100)]
    return world_of(made + at_once + after)


def test_pods_that_are_deleted_at_once_were_marked_first_and_no_answer_tells_of_that() -> None:
    assert complete(batch(Change.DELETED), "Pod")
    assert not complete(batch(Change.MODIFIED), "Pod")
