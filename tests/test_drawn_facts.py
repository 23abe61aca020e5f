"""These tests check what lifelines keep of a track: facts only where what is drawn of them changes."""

import msgspec

from tests import recordings
from timeline.layout import outline
from timeline.layout.phases import spans_and_events


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
