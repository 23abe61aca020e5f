"""These tests check what a timeline shows first, and in which range it shows a finding."""

from timeline.layout.opening import first_view
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import FindingGroupPayload, IncidentRowPayload
from timeline.payloads.incidents.ranges import of_incident, ranges

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


def test_an_incident_that_is_shown_alone_is_shown_with_its_finding() -> None:
    incident: IncidentRowPayload = {"ranges": {"time": (2, 15), "order": (3, 14)}}  # type: ignore[typeddict-item]
    assert first_view(None, FINDING, incident) == {"start": 2, "end": 16, "finding": KEY, "follow": False}
    assert first_view(None, FINDING, incident, axis="order")["start"] == 3
    assert first_view((1, 2), FINDING, incident)["end"] == 2
    assert first_view(None, FINDING, incident, live=90_000_000)["follow"] is False


def test_of_an_incident_that_happened_again_much_later_one_time_is_shown() -> None:
    minute = 60_000_000
    times = [each * minute for each in (10, 11, 30, 31, 33, 60)]

    def shown(around: int) -> tuple[int, int]:
        start, end = of_incident(times, 61 * minute, around * minute)["order"]
        return start // minute, end // minute

    assert [shown(around) for around in (10, 11, 31, 60)] == [(10, 11), (10, 11), (30, 33), (60, 61)]
    assert shown(2) == (2, 2)  # an earlier one than the latest, which are known
    assert of_incident(times[:2], 11 * minute, times[0])["time"] == (times[0] - minute // 10, times[1] + minute // 10)


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
    later = first + 17_000_000
    assert ranges(first, later, ())["time"] == (first - 6_250_000, later + 18_500_000)  # a long one fills the view
    assert ranges(5, 6, ())["time"][0] == ranges(5, 6, ())["order"][0] == 0
