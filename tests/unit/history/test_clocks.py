"""These tests draw real recordings: times follow the revisions, whichever clocks showed them, and do not depend on the
batches in which an audit log arrives while its cluster is watched."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.inputs import mutations
from tests.inputs.live import batches
from tests.inputs.mutations import resource
from tests.inputs.recordings import SAMPLE, entries_of, findings_of, world_of
from tests.unit.judging.test_engine import entries, log, read_logs, recordings, watched
from tests.unit.judging.test_engine import world_of as known
from tests.unit.judging.test_live_causes import watched as watched_at_once
from timeline.core.entries import Change, Clock, Entry, Observation
from timeline.history.ledger.clocks import Clocks
from timeline.history.world.world import World
from timeline.judging.verdicts import Verdict


@recordings
def test_drawn_times_follow_the_revisions_of_real_lines_and_stay_in_their_brackets(name: str) -> None:
    world = known(entries(name))
    drawn = [
        (moment.entry.resource_version, moment.time, moment.entry)
        for track in world.tracks()
        for moment in track.moments
        if moment.entry.resource_version is not None and moment.space == "" and moment.clock is Clock.AUDIT
    ]
    drawn.sort(key=lambda each: each[0] or 0)
    times = [time for _, time, _ in drawn]
    assert len(times) > 100 and times == sorted(times)
    read = [entry.resource_version for entry in entries(name) if entry.resource_version is not None]
    assert read != sorted(read) or name != "restart"  # the lines of a log are not in the order of commits
    assert all(entry.received <= time <= entry.staged for _, time, entry in drawn)


def test_a_deletion_that_repeats_the_old_revision_has_none_of_its_own() -> None:
    for track in known(entries("jobs") + entries("families")).tracks():
        ended = track.ended
        if ended and len(track.moments) > 1 and ended.entry.resource_version is not None:
            before = [moment.entry.resource_version or 0 for moment in track.moments[:-1]]
            assert ended.entry.resource_version > max(before), track


def test_writes_without_revision_are_ordered_by_their_times_alone_and_raise_no_alarm_about_order() -> None:
    bare = [mutations.logged_at("Metadata", event) for event in log("families")]
    world = known(read_logs([bare]))
    assert all(moment.entry.resource_version is None for track in world.tracks() for moment in track.moments)
    for found in findings_of(world):
        if found.verdict is Verdict.EXACT:
            first, last = found.occurrences[0].proof[0].moment, found.occurrences[0].proof[-1].moment
            assert first is last or first.entry.staged < last.entry.received


def test_a_time_that_lost_its_fraction_bounds_the_commit_by_the_whole_of_its_second() -> None:
    event = next(event for event in log("families") if resource(event) == "services")
    (exact,), (second,), (milli,) = (list(read_logs([mutations.rounded([event], digits)])) for digits in (6, 0, 3))
    assert (
        second.received <= exact.received <= exact.staged <= second.staged == second.staged // 10**6 * 10**6 + 999_999
    )
    assert milli.received <= exact.received and exact.staged <= milli.staged == milli.staged // 1000 * 1000 + 999


def test_servers_whose_clocks_differ_are_drawn_as_if_they_agreed() -> None:
    files = mutations.over_servers(log("families"), random.Random(2), servers=2)
    files.sort(key=len, reverse=True)  # the clock of the file with most lines is taken as the right one
    ahead = mutations.shifted(files[1], 40)
    true, seen = known(read_logs(files)), known(read_logs([files[0], ahead]))
    services = [name for name in {track.name for track in true.tracks()} if name.kind == "Service"]
    for name in services:
        for real, drawn in zip(true.incarnations(name), seen.incarnations(name), strict=True):
            assert abs(real.first.time - drawn.first.time) < 1_000_000, name


def test_of_a_log_and_a_watch_that_tell_one_write_the_logs_clock_is_taken() -> None:
    world = known(entries("jobs") + watched("jobs"))
    moments = [moment for track in world.tracks() if track.ref.kind == "Job" for moment in track.moments]
    assert moments and all(moment.clock is Clock.AUDIT for moment in moments)


@pytest.mark.parametrize("field", ["resourceVersion", "uid"])
def test_a_log_without_revisions_is_one_with_the_watch_that_has_them(field: str) -> None:
    """Each state counts once: with the watch's revision, and with the log's time where both have the state."""
    cut = mutations.stripped(log("jobs"), field)
    world = known([*read_logs([cut]), *watched("jobs")])
    alone = known(watched("jobs"))
    for track in alone.tracks():
        if track.ref.kind == "Job":
            incarnation = next(each for each in world.incarnations(track.name) if each.ref.uid == track.ref.uid)
            states = [moment.facts for moment in incarnation.moments if moment.entry.facts is not None]
            assert states == [moment.facts for moment in track.moments]


LOGGED = [
    replace(each, place=None)
    for each in entries_of(SAMPLE)
    if each.resource_version is not None and each.facts is not None and each.change is not Change.DELETED
]


def watched_late(seed: int = 0) -> list[Observation]:
    """Return what a watch shows of the writes of a log, some of it late, after marks that begin the watch."""
    late = random.Random(seed)
    logged = {each.resource_version: each for each in LOGGED}
    return [
        replace(each, arrived=logged[each.resource_version].staged + late.choice((1_000, 20_000, 900_000)))
        if isinstance(each, Entry)
        else each
        for each in watched_at_once(LOGGED)
    ]


def drawn(world: World) -> dict[object, list[tuple[int, int]]]:
    return {track.key: [moment.at for moment in track.moments] for track in world.tracks()}


def learned(batches: Iterable[Sequence[Observation]]) -> World:
    return world_of(*batches, world=World(followed=True))


@pytest.mark.parametrize("seed", range(2))
def test_drawn_times_do_not_depend_on_the_batches(seed: int) -> None:
    chance = random.Random(seed)
    shown = watched_late(seed)
    rest = chance.sample([*shown[40:], *LOGGED], len(shown) - 40 + len(LOGGED))
    parts = [shown[:40]]
    while rest:
        size = chance.choice((1, 7, 60))
        parts.append(rest[:size])
        rest = rest[size:]
    assert drawn(learned(parts)) == drawn(learned([[*shown, *LOGGED]]))


def test_small_batches_do_not_build_the_clocks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    rebuild = Clocks.rebuild

    def counted(self: Clocks, *args: Any, **more: Any) -> None:
        built.append(1)
        rebuild(self, *args, **more)

    monkeypatch.setattr(Clocks, "rebuild", counted)
    world = learned([watched_late()])
    before = len(built)
    world_of(*batches(LOGGED, 20), world=world)
    assert len(built) == before
    assert all(moment.entry.clock is Clock.AUDIT for track in world.tracks() for moment in track.moments)
