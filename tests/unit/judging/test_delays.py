"""These tests check what is said about the time between two events: it is never more exact than their clocks."""

from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from collectors.analysis import analyse
from collectors.formats import Limits
from tests import DATA
from tests.inputs.recordings import SAMPLE
from timeline.judging.findings import Finding
from timeline.layout.drawing import Drawing
from timeline.layout.lanes import LaneRow
from timeline.payloads import documents
from timeline.payloads.incidents import occurrences

WATCH = DATA / "objects/watch"


@cache
def findings(path: Path) -> list[Finding]:
    return analyse([(path, path.name)], Limits()).findings


@pytest.mark.parametrize("path", [SAMPLE, WATCH])
def test_the_delay_that_is_reported_lies_where_it_is_known_to_lie(path: Path) -> None:
    bounded = [found for found in findings(path) if found.bounds and found.delay is not None]
    assert bounded
    for each in bounded:
        assert each.bounds and each.delay is not None and each.bounds[0] <= each.delay / 1e6 <= each.bounds[1]


@cache
def gaps() -> list[Finding]:
    found = [each for each in findings(WATCH) if each.rule == "service-gap"]
    assert found
    return found


def test_a_deletion_that_only_a_watch_tells_is_not_dated_by_the_object_that_it_carries() -> None:
    # The audit log shows 53 and 52 ms; the watch shows the creation of the Service 7 s before.
    assert {found.bounds for found in gaps()} == {(0.0, 1.0)}
    assert all("for ≤ 1 s each, under Pod" in found.summary for found in gaps())
    assert all("The delay is ≤ 1 s." in found.worst.why for found in gaps())


def test_nothing_took_no_time() -> None:
    texts = [text for found in findings(WATCH) for text in (found.summary, found.worst.headline, found.worst.why)]
    assert texts and not [text for text in texts if "0 µs" in text]


def test_a_hole_between_whole_seconds_is_drawn_between_its_bounds() -> None:
    found = gaps()[0]
    drawn = occurrences.occurrence(found, found.occurrences[0], lambda ref: 1)
    drawn["last"] = drawn["first"]
    row = LaneRow(1, 1, "1", 1, "", "Service", "vol-restart", "ring", "Services")
    drawing = Drawing([row], (0, 2**53), 2**53, 1)
    drawing.add_track(1, 1, 1, 1, None, [[drawn["first"], "1", "created", "", {}]])
    drawing.add_findings([(1, found.severity, [drawn])])
    holes = drawing.columns()["holes"]
    assert 0 < holes["end"][0] - holes["start"][0] <= 1_000_000


def test_no_event_is_reported_behind_one_that_followed_it() -> None:
    found = gaps()[0].occurrences[0]
    went, back = found.proof
    arrived = back.moment.time + 382_000
    watched = replace(went.moment.entry, arrived=arrived)
    late = replace(went, moment=replace(went.moment, time=arrived, entry=watched))
    (_, deleted), (_, created) = documents.proofs(replace(found, proof=(late, back)))
    assert deleted <= created == back.moment.time
    assert documents.proofs(found) == [(each, each.moment.time) for each in found.proof]
