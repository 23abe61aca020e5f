"""These tests count bars and marks before they are drawn."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from timeline.kinds import Phase
from timeline.layout.density import Density
from timeline.layout.drawing import Drawing
from timeline.layout.lanes import LaneRow
from timeline.layout.phases import Event, Reading, Span

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
