"""These tests check what lifelines keep of a track: facts only where what is drawn of them changes; and how many bars
and marks that are."""

from functools import cache
from itertools import pairwise

import msgspec
import orjson
from hypothesis import given
from hypothesis import strategies as st

from tests.inputs import recordings
from timeline.history.world.world import World
from timeline.kinds import Phase
from timeline.layout import outline
from timeline.layout.density import Density
from timeline.layout.drawing import Drawing
from timeline.layout.lanes import LaneRow
from timeline.layout.phases import Event, Reading, Span, lifeline_of, spans_and_events, thinned


@cache
def sample() -> World:
    return recordings.world_of(recordings.observations_of(recordings.SAMPLE))


def test_what_is_drawn_of_a_lifeline_is_what_its_moments_say() -> None:
    renewals = 0
    world = sample()
    for track in world.tracks():
        short = outline.lifeline(track)
        facts = [msgspec.to_builtins(moment.facts) for moment in track.moments]
        full = [[*row[:-1], each] for row, each in zip(short, facts, strict=True)]
        drawn, expected = (spans_and_events(track.kind, rows, track.until, world.last) for rows in (short, full))
        assert drawn[:2] == expected[:2]
        if track.ref.kind == "Lease":
            renewals += sum(row[-1] is None for row in short)
    assert renewals > 20


def test_a_stored_lifeline_is_drawn_as_the_one_that_was_stored() -> None:
    world = sample()
    for track in world.tracks():
        rows = outline.lifeline(track)
        without_writers = [[*row[:5], row[-1]] for row in rows]
        oldest = [[*row[:4], row[-1]] for row in rows]
        for written in (rows, without_writers, oldest):
            stored = lifeline_of(track.kind, orjson.dumps(written))
            drawn, expected = (
                spans_and_events(track.kind, each, track.until, world.last) for each in (stored, written)
            )
            assert drawn == expected


def test_of_long_lifelines_one_change_in_each_pixel_is_read_and_both_ends() -> None:
    world = sample()
    fewer = 0
    for track in world.tracks():
        stored = orjson.dumps(outline.lifeline(track))
        rows = lifeline_of(track.kind, stored)
        whole = spans_and_events(track.kind, rows, track.until, world.last)
        at_once = len({row[0] for row in rows}) == len(rows)
        if at_once:
            drawn = spans_and_events(track.kind, thinned(track.kind, stored, 1), track.until, world.last)
            assert drawn == whole
        for pixel in (1_000, 1_000_000, 3_600_000_000):
            kept = thinned(track.kind, stored, pixel)
            fewer += len(rows) - len(kept)
            assert [row[:-1] for row in (kept[0], kept[-1])] == [row[:-1] for row in (rows[0], rows[-1])]
            spans, events, facts = spans_and_events(track.kind, kept, track.until, world.last)
            assert facts == whole[2]
            assert [(each.start, each.phase) for each in spans[:1]] == [
                (each.start, each.phase) for each in whole[0][:1]
            ]
            assert [(each.end, each.phase) for each in spans[-1:]] == [(each.end, each.phase) for each in whole[0][-1:]]
            assert len(events) <= len(whole[1])
            assert {row[0] for row in kept} <= {row[0] for row in rows}
    assert fewer > 100


SPAN = (100, 900)
TIMES = st.lists(st.integers(0, 1000), max_size=12).map(sorted)
LIVES = st.lists(st.tuples(TIMES, TIMES, st.booleans(), st.booleans()), max_size=5)
ROW = LaneRow(1, 1, "1", 1, "", "Pod", "default", "web", "Pods")


def reading(bounds: list[int], times: list[int], is_open: bool) -> Reading:
    pairs = list(pairwise(bounds))
    spans = [
        Span(start, end, Phase("Running", "strong"), is_open and number == len(pairs), None, None)
        for number, (start, end) in enumerate(pairs, 1)
    ]
    events = [Event(time, "deleted" if time % 7 == 0 else "ready", "", None, None) for time in times]
    return spans, events, None


@given(LIVES, st.integers(1, 400))
def test_the_count_is_that_of_what_is_drawn(lives: list[tuple[list[int], list[int], bool, bool]], pixel: int) -> None:
    density = Density(SPAN)
    readings: dict[int, Reading] = {}
    drawing = Drawing([ROW], SPAN, 1000, pixel, readings)
    for track, (bounds, times, is_open, is_created) in enumerate(lives, 1):
        readings[track] = reading(bounds, times, is_open)
        born = bounds[0] if bounds and is_created else None
        lifeline = [[born or 0, None, "created" if born is not None else "updated", "", None]]
        density.add(readings[track], born)
        drawing.add_track(track, 1, 1, track, None, lifeline)
    assert density.size(pixel) == drawing.size
