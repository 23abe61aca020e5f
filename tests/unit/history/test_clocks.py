"""These tests draw real recordings: times follow the revisions, whichever clocks told them."""

import random

import pytest

from tests import mutations
from tests.mutations import resource
from tests.recordings import findings_of
from tests.unit.judging.test_engine import entries, log, read_logs, recordings, watched, world_of
from timeline.core.entries import Clock
from timeline.judging.verdicts import Verdict


@recordings
def test_drawn_times_follow_the_revisions_of_real_lines_and_stay_in_their_brackets(name: str) -> None:
    world = world_of(entries(name))
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
    for track in world_of(entries("jobs") + entries("families")).tracks():
        ended = track.ended
        if ended and len(track.moments) > 1 and ended.entry.resource_version is not None:
            before = [moment.entry.resource_version or 0 for moment in track.moments[:-1]]
            assert ended.entry.resource_version > max(before), track


def test_writes_without_revision_are_ordered_by_their_times_alone_and_raise_no_alarm_about_order() -> None:
    bare = [mutations.told_at("Metadata", event) for event in log("families")]
    world = world_of(read_logs([bare]))
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
    true, seen = world_of(read_logs(files)), world_of(read_logs([files[0], ahead]))
    services = [name for name in {track.name for track in true.tracks()} if name.kind == "Service"]
    for name in services:
        for real, drawn in zip(true.incarnations(name), seen.incarnations(name), strict=True):
            assert abs(real.first.time - drawn.first.time) < 1_000_000, name


def test_of_a_log_and_a_watch_that_tell_one_write_the_logs_clock_is_taken() -> None:
    world = world_of(entries("jobs") + watched("jobs"))
    moments = [moment for track in world.tracks() if track.ref.kind == "Job" for moment in track.moments]
    assert moments and all(moment.clock is Clock.AUDIT for moment in moments)


@pytest.mark.parametrize("field", ["resourceVersion", "uid"])
def test_a_log_without_revisions_is_one_with_the_watch_that_has_them(field: str) -> None:
    """Each state counts once: with the watch's revision, and with the log's time where both have the state."""
    cut = mutations.stripped(log("jobs"), field)
    world = world_of([*read_logs([cut]), *watched("jobs")])
    alone = world_of(watched("jobs"))
    for track in alone.tracks():
        if track.ref.kind == "Job":
            incarnation = next(each for each in world.incarnations(track.name) if each.ref.uid == track.ref.uid)
            states = [moment.facts for moment in incarnation.moments if moment.entry.facts is not None]
            assert states == [moment.facts for moment in track.moments]
