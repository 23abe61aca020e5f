"""These tests read times as they never come from a cluster: each is read within the bounds, or refused with one error,
and costs no more than the line in which it stands."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from collectors.formats import Limits, Skipped, own, read
from collectors.normalise.log_lines import log_text
from collectors.stores.times import instant, nanoseconds
from collectors.watch.server.clock import ServerClock
from dashboard.web.timestamps import parsed
from tests.inputs import events, objects
from tests.inputs.events import event, pod
from timeline.core import times
from timeline.core.bounds import NAMES
from timeline.core.entries import FOREVER, Entry, LogLine, moment
from timeline.kinds import seconds, time_of

LAST = "9999-12-31T23:59:59.999999Z"
IMPOSSIBLE = [
    "9999-12-31T23:59:59-14:00",  # the year 10000 in UTC
    "10000-01-01T00:00:00Z",
    "+292277-01-01T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "1677-09-21T00:12:43Z",
    "1969-12-31T23:59:59.999999Z",
    "2016-12-31T23:59:60Z",
    "2026-11-21T24:00:00Z",
    "2026-11-21T07:52:00.١٢٣٤٥٦Z",
    "2026-11-21T07:52",
    "NaN",
    "",
    "9" * 400,
]


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_what_is_no_time_is_refused_by_every_reader(text: str) -> None:
    with pytest.raises(times.NoTime):
        times.instant(text)
    with pytest.raises(ValueError, match=r"no time such as|1970 to 9999"):
        seconds(text)
    assert time_of(text) == 0
    for field in ("requestReceivedTimestamp", "stageTimestamp"):
        (reason,) = events.reasons_of(event(**{field: text}))
        assert "timestamp" in reason.lower() or "no time such as" in reason or "1970 to 9999" in reason
    (reason,) = objects.reasons_of(objects.documents(pod(creationTimestamp=text)))
    assert "no time such as" in reason or "1970 to 9999" in reason or "no creationTimestamp" in reason
    clock = ServerClock()
    before = clock.at(0)
    clock.learn(text, 0, 0)
    assert clock.at(0) == before


def test_the_bounds_themselves_are_times() -> None:
    assert times.instant("1970-01-01T00:00:00Z") == 0
    assert times.instant(LAST) == times.in_utc(LAST) == parsed(LAST) == times.LATEST
    assert moment(times.LATEST).isoformat() == "9999-12-31T23:59:59.999999+00:00"
    assert times.instant(f"2026-11-21T07:52:00.{'1' * 30}-14:00") == 1_795_297_920_111_111


def test_sums_of_times_stay_within_the_bounds() -> None:
    assert moment(times.LATEST + 10**18) == moment(times.LATEST)
    assert moment(-(10**30)) == moment(0)
    assert instant(10**25).startswith("9999-12-31T23:59:59")


def test_the_zero_time_of_go_is_a_time_that_is_not_set() -> None:
    assert seconds("0001-01-01T00:00:00Z") == 0
    assert "1970 to 9999" in events.reasons_of(event(requestReceivedTimestamp="0001-01-01T00:00:00Z"))[0]


def test_an_answer_before_its_request_is_no_range_that_runs_backwards() -> None:
    (entry,) = events.entries_of(event(stageTimestamp="1971-01-01T00:00:00Z"))
    assert entry.staged == entry.received


@pytest.mark.parametrize("number", [-1, "-1", 10**30, "9" * 21, "١٢٣", "1_000", " 1", "1.5", "", True, 1.5, None])
def test_what_is_no_number_of_nanoseconds_is_refused(number: object) -> None:
    with pytest.raises(times.NoTime):
        times.counted_in_nanoseconds(number)


def test_a_record_of_opentelemetry_with_an_impossible_time_costs_only_itself() -> None:
    def record(time: object) -> dict[str, Any]:
        return {"timeUnixNano": time, "body": {"stringValue": "reconciled"}}

    records = [record(each) for each in ("1795247520000000000", "-1", 10**30, "9" * 21, True, "1795247521000000000")]
    scopes = [{"scopeLogs": [{"logRecords": [each]}]} for each in records]
    items = _read(json.dumps({"resourceLogs": scopes}).encode())
    times_read = [each.time for each in items if isinstance(each, LogLine)]
    assert times_read == [1_795_247_520_000_000, 1_795_247_521_000_000]
    assert sum(isinstance(each, Skipped) for each in items) == 4


def _read(content: bytes) -> list[object]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        return [*read([(path, "file")], bodies=False, limits=Limits())]


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59+99:99", "1e400", "nan", "inf", "-1", "9" * 39])
def test_a_line_of_a_log_with_an_impossible_time_has_none(text: str) -> None:
    assert log_text(f'time={text} level=info msg="hello"') is None
    assert log_text(json.dumps({"ts": text, "level": "info", "msg": "hello"})) is None


def test_log_stores_have_the_same_bounds() -> None:
    assert nanoseconds("2026-11-21T07:52:00.123456789Z") == 1_795_247_520_123_456_789
    for text in ("9999-12-31T23:59:59-14:00", "1969-12-31T23:59:59Z", "2026-11-21T07:52:00.١Z"):
        with pytest.raises(ValueError):
            nanoseconds(text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"received": times.LATEST + 1},
        {"staged": FOREVER - 1},
        {"arrived": times.LATEST + 1},
        {"ref": {"name": "a\0b"}},
        {"ref": {"uid": "x" * (NAMES + 1)}},
    ],
)
def test_a_line_of_a_recording_that_cannot_be_stored_costs_only_itself(wrong: dict[str, Any]) -> None:
    (entry,) = events.entries_of(event())
    good = b"".join(own.write([entry]))
    fields = json.loads(good.splitlines()[1])
    for name, value in wrong.items():
        fields[name] = {**fields[name], **value} if isinstance(value, dict) else value
    items = _read(good + json.dumps(fields).encode() + b"\n" + good.splitlines()[1])
    assert [type(each) for each in items] == [Entry, Skipped, Entry]


@pytest.mark.parametrize("names", [{"name": "x" * 2_000_000}, {"uid": "é" * 600}, {"name": "a\0b"}])
def test_names_that_no_index_holds_cost_only_their_line(names: dict[str, str]) -> None:
    assert len(events.reasons_of(event(objectRef={"resource": "pods"}, responseObject=pod(**names)))) == 1


@pytest.mark.parametrize("text", ["9" * 5000, "9" * 40, "-5", "١٢٣", "0", "007", ""])
def test_a_revision_that_is_none_is_not_known(text: str) -> None:
    (entry,) = events.entries_of(event(responseObject=pod(resourceVersion=text)))
    assert entry.resource_version is None
