"""These tests check clocks of whole seconds: no picture, page or command shows more digits than such a clock has."""

from typing import Any

import pytest

from dashboard.drawing.pictures import Picture
from dashboard.presentation import wording
from tests.drawn import boxes
from timeline.layout.drawing import Drawing
from timeline.layout.lanes import LaneRow
from timeline.payloads.incidents.ranges import bounds

DAY = "2026-11-21T"
SECOND = 1_000_000
AT = 1795247551 * SECOND  # 07:52:31


@pytest.mark.parametrize(
    ("time", "earliest", "latest", "words"),
    [
        ("07:52:31.000000Z", "07:52:31.000000Z", "07:52:32.000000Z", "07:52:31"),
        ("07:52:31.384112Z", "07:52:31.000000Z", "07:52:32.000000Z", "07:52:31"),
        ("07:52:31.384112Z", "07:52:30.384112Z", "07:52:31.384112Z", "07:52:30–07:52:32"),
        ("07:52:31.000000Z", "07:52:31.000000Z", None, "07:52:31"),
        ("07:52:31.384112Z", "07:52:31.384112Z", "07:52:31.392012Z", "07:52:31.384112"),
    ],
)
def test_a_change_tells_its_time_with_the_digits_of_its_clock(
    time: str, earliest: str, latest: str | None, words: str
) -> None:
    assert wording.instant(DAY + time, DAY + earliest, latest and DAY + latest) == words


def test_an_interval_of_whole_seconds_has_no_fraction() -> None:
    assert wording.interval(f"{DAY}07:52:31.000000Z", f"{DAY}07:52:32.000000Z") == "07:52:31 – 07:52:32"
    assert wording.interval(f"{DAY}07:52:00.841106Z", f"{DAY}07:52:00.849006Z") == "07:52:00.841106 – .849006"


def proof(second: int, microsecond: int = 0, *, until: int = 1, track: int) -> dict[str, Any]:
    start = f"{DAY}07:52:{second}"
    return {
        "time": f"{start}.{microsecond:06}Z",
        "at": AT + (second - 31) * SECOND + microsecond,
        "earliest": f"{start}.000000Z",
        "latest": f"{DAY}07:52:{second + until}.000000Z",
        "track": track,
    }


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (proof(31, track=1), proof(35, track=2), (0, SECOND, 4 * SECOND, 5 * SECOND)),
        (proof(31, track=1), proof(31, 755, track=2), (0, SECOND // 2, SECOND // 2, SECOND)),
        (proof(31, track=1), proof(31, track=2), (0, SECOND // 2, SECOND // 2, SECOND)),
    ],
)
def test_what_is_drawn_of_a_finding_lies_within_its_bounds(
    one: dict[str, Any], other: dict[str, Any], expected: tuple[int, ...]
) -> None:
    assert tuple(each - AT for each in bounds(one["at"], other["at"], [one, other])) == expected


def test_a_hole_and_an_arrow_within_a_second_have_a_length_and_soft_ends() -> None:
    rows = [
        LaneRow(number, 1, "1", number, "", kind, "ns", "ring", f"{kind}s")
        for number, kind in enumerate(("Service", "Pod"), 1)
    ]
    drawing = Drawing(rows, (AT - SECOND, AT + 3 * SECOND), AT + 3 * SECOND, 1)
    for number in (1, 2):
        drawing.add_track(number, number, 1, number, None, [[AT, "7", "created", "", [0, SECOND], {}]])
    gone, back = proof(31, track=1), proof(31, track=2)
    words = {"hole": "none · ≤ 1 s", "arrow": "≤ 1 s late"}
    times = {"group": "key", "first": AT, "last": AT, "proof": [gone, back], **words}
    drawing.add_findings([(2, "error", [times])])
    columns = drawing.columns()
    holes, arrows = columns["holes"], columns["arrows"]
    assert columns["dots"] == {"lane": [0], "time": [AT], "severity": ["error"], "finding": ["key"]}
    assert (holes["start"], holes["end"]) == ([AT], [AT + SECOND])
    assert arrows["to_time"][0] - arrows["from_time"][0] == SECOND
    assert arrows["from_within"] == [(0, SECOND)] and arrows["to_within"] == [(SECOND, 0)]
    drawn = Picture(columns, AT - SECOND, AT + 3 * SECOND, finding="key")
    assert boxes(drawn, "hole") == [("25.000%", "25.000%")]
    assert boxes(drawn, "unsure") == [
        ("25.000%", "12.500%"), ("37.500%", "12.500%"), ("25.000%", "25.000%"), ("25.000%", "25.000%")
    ]  # fmt: skip
    assert columns["births"]["within"] == columns["bars"]["start_within"] == [(0, SECOND)] * 2
