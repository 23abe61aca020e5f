"""These tests check filters: how parameters of addresses are read and written, and which incidents match."""

import re
from typing import Any
from urllib.parse import parse_qsl

import pytest
from pydantic import ValidationError

from collectors.analysis import analyse
from collectors.formats import Limits
from tests import ROOT
from tests.inputs.recordings import SAMPLE
from timeline.layout import lists
from timeline.payloads.findings import IncidentRowPayload
from timeline.queries.filters import NOT_KNOWN, IncidentFilter, ObjectFilter, SourceIncidentFilter

STORE = ROOT / "dashboard/static/dashboard/js/state/store.js"


def incidents() -> list[IncidentRowPayload]:
    analysis = analyse([(SAMPLE, SAMPLE.name)], Limits())
    rows = lists.rows(lists.stored(analysis.world, analysis.findings, analysis.world.number, analysis.places))
    return [each.incident for each in lists.incidents(analysis.incidents(), rows)]


def test_an_address_is_written_as_it_is_read() -> None:
    wanted = SourceIncidentFilter.model_validate({"kinds": "Pods,,Jobs", "actor": "a&b", "root": "7", "silenced": "1"})
    assert wanted.kinds == ("Pods", "Jobs")
    assert wanted.query(at=0, lane="", focus=None) == "?at=0&actor=a%26b&kinds=Pods%2CJobs&silenced=1&root=7"
    assert wanted.query(silenced=False).count("silenced") == 1
    assert SourceIncidentFilter.model_validate(dict(parse_qsl(wanted.query()[1:]))) == wanted
    assert IncidentFilter(acknowledged=False).query() == "?acknowledged=0"
    assert ObjectFilter().query() == "" and ObjectFilter().narrowing().keys() == ObjectFilter.model_fields.keys()


@pytest.mark.parametrize(
    "wrong",
    [
        {"family": "Pods"},
        {"severity": "bad"},
        {"name": "a\0"},
        {"name": "x" * 1001},
        {"kinds": "a,\0"},
        {"kinds": "x" * 1001},
    ],
)
def test_what_no_filter_has_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as error:
        ObjectFilter.model_validate(wrong)
    assert error.value.errors()[0]["loc"] == tuple(wrong)


def test_the_scripts_of_the_pages_narrow_by_the_same_names() -> None:
    found = re.search(r"^const NARROWING = \[(.+)\];", STORE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found and set(re.findall(r"\w+", found[1])) == set(ObjectFilter.model_fields)


def test_an_incident_matches_by_each_field() -> None:
    rows = incidents()
    gap = next(row for row in rows if row["rule"] == "service-gap")
    for named, value in (("severity", gap["severity"]), ("rule", "service-gap"), ("namespace", "vol-restart")):
        assert IncidentFilter.model_validate({named: value}).matches(gap)
    assert not IncidentFilter(rule="lease-stolen").matches(gap)
    assert IncidentFilter(state=gap["state"], actor=gap["actors"][0], q=f"{gap['names'][0].upper()} ring").matches(gap)
    assert not IncidentFilter(q="ring no-such-word").matches(gap)
    assert [row for row in rows if IncidentFilter(actor=NOT_KNOWN).matches(row)] == [
        row for row in rows if not row["actors"]
    ]
    assert IncidentFilter(start=gap["end"], end=gap["end"]).matches(gap)
    assert not IncidentFilter(start=gap["end"] + 1).matches(gap)
    assert not IncidentFilter(end=gap["start"] - 1).matches(gap)
