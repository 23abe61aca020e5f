"""These tests check what a timeline shows first, and in which range it shows a finding."""

from timeline.layout.opening import first_view
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.incidents.ranges import ranges

FINDING: FindingGroupPayload = {"key": "a" * 16, "ranges": {"time": (10, 20), "order": (14, 16)}}  # type: ignore[typeddict-item]
KEY = FINDING["key"]


def test_a_recording_opens_around_a_finding_on_either_axis() -> None:
    assert first_view(None, FINDING) == {"start": 10, "end": 20, "finding": KEY, "follow": False}
    assert first_view(None, FINDING, named=KEY, axis="order") == {
        "start": 14,
        "end": 16,
        "finding": KEY,
        "follow": False,
    }
    assert first_view(None, None) == {"start": None, "end": None, "finding": "", "follow": False}
    assert first_view(None, None, named=KEY) == {"start": None, "end": None, "finding": KEY, "follow": False}


def test_a_range_that_is_asked_for_is_kept() -> None:
    assert first_view((1, 2), None) == {"start": 1, "end": 2, "finding": "", "follow": False}
    assert first_view((1, 2), FINDING, named=KEY, live=500) == {"start": 1, "end": 2, "finding": KEY, "follow": False}


def test_a_live_source_is_followed_unless_something_else_is_asked_for() -> None:
    last = 90_000_000
    assert first_view(None, None, live=last) == {
        "start": 36_000_000,
        "end": 96_000_000,
        "finding": "",
        "follow": True,
    }
    assert first_view((0, 1000), FINDING, named=KEY, follow=True, live=last) == {
        "start": last - 900,
        "end": last + 100,
        "finding": KEY,
        "follow": True,
    }
    assert first_view(None, FINDING, named=KEY, live=last)["start"] == 10
    fresh = first_view(None, FINDING, named=KEY, live=12)
    assert (fresh["start"], fresh["end"]) == (3, 13)  # as wide, without time that has not come
    assert first_view((1, 2), None, live=last)["follow"] is False


def test_a_finding_is_shown_with_all_times_at_which_its_events_may_have_happened() -> None:
    first, last = 1_000_000_000, 1_000_100_000
    exact = ranges(first, last, ())
    assert exact == {"time": (first - 190_000, last + 580_000), "order": (first - 50_000, last + 50_000)}
    proof = [
        {"time": timestamp(first), "earliest": timestamp(first - 100_000), "latest": None},
        {"time": timestamp(last), "earliest": None, "latest": timestamp(last + 100_000)},
    ]
    known = ranges(first, last, proof)
    assert known["time"] == (first - 100_000 - 570_000, last + 100_000 + 1_740_000)
    assert ranges(first, first, ())["time"] == (first - 38_000, first + 1 + 116_000)  # 20 ms at least
    assert ranges(5, 6, ())["time"][0] == ranges(5, 6, ())["order"][0] == 0
