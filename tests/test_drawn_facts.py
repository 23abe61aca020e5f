"""These tests check what lifelines keep of a track: facts only where what is drawn of them changes."""

import msgspec
import orjson

from tests import recordings
from timeline.layout import outline
from timeline.layout.phases import lifeline_of, spans_and_events


def test_what_is_drawn_of_a_lifeline_is_what_its_moments_say() -> None:
    renewals = 0
    world = recordings.world_of(recordings.observations_of(recordings.SAMPLE))
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
    world = recordings.world_of(recordings.observations_of(recordings.SAMPLE))
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
