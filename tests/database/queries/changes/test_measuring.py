"""These tests measure between two moments: the API and the report give the same result, whichever moment comes
first."""

import json
import re
from collections import Counter
from typing import Any

import pytest
from django.test import Client

from collectors.analysis import analyse
from collectors.formats import Limits
from dashboard.report import page
from dashboard.report.contents import of_analysis
from tests.database.storage.sources import asked
from tests.inputs.recordings import SAMPLE
from timeline.models import Source, Track

pytestmark = pytest.mark.django_db
GAP = (1795247520841106, 1795247520894060)  # the Service ring does not exist, from its deletion to its creation


def between(client: Client, sample: Source, start: int, end: int, **tracks: int) -> Any:
    return asked(client, sample, "measure", start=start, end=end, **tracks)


def drawn(sample: Source) -> list[tuple[int, int, int]]:
    """Return (time, revision, track) of every drawn change of the kinds that share a counter."""
    rows = Track.objects.filter(source=sample).exclude(kind="Event").order_by("id")
    return [(time, int(revision), row.id) for row in rows for time, revision, *_ in row.lifeline if revision]


def test_two_moments_tell_their_changes_and_how_sure_their_order_is(client: Client, sample: Source) -> None:
    measured = between(client, sample, *GAP)
    start, end = measured["start"], measured["end"]
    assert (start["resource_version"], start["change"], start["object"]["kind"]) == ("582", "deleted", "Service")
    assert (start["time"], end["time"]) == GAP
    assert start["earliest"] <= "2026-11-21T07:52:00.841106Z" <= start["latest"]
    assert measured["order"] == "exact"
    assert measured["revisions"] == int(end["resource_version"]) - 582
    assert measured["observations"] > 0
    same = between(client, sample, GAP[1], GAP[1])
    assert same["start"] == same["end"] and same["revisions"] == 0 and same["order"] is None
    early = between(client, sample, 1, 2)
    assert [early[key] for key in ("start", "end", "revisions", "order", "observations")] == [None] * 4 + [0]


def test_each_moment_is_that_of_the_latest_change_up_to_it(client: Client, sample: Source) -> None:
    commits = drawn(sample)
    times = sorted({time for time, *_ in commits})
    for time in [*times[:: len(times) // 15], times[0] - 1, times[-1] + 1, GAP[0] - 1]:
        latest = max((revision for at, revision, _ in commits if at <= time), default=None)
        start = between(client, sample, time, time)["start"]
        assert (start and int(start["resource_version"])) == latest


def test_a_moment_of_an_object_is_that_of_its_own_change_however_many_share_its_time(
    client: Client, sample: Source
) -> None:
    commits = drawn(sample)
    shared = Counter(time for time, *_ in commits)
    moments: dict[tuple[int, int], int] = {}
    for time, revision, track in commits:
        if shared[time] > 1:
            moments.setdefault((track, time), revision)
    assert len(moments) > 5
    for (track, time), revision in sorted(moments.items())[:: len(moments) // 6]:
        answer = between(client, sample, time, time, start_track=track)
        assert (int(answer["start"]["resource_version"]), answer["start"]["track"]) == (revision, track)
        assert int(answer["end"]["resource_version"]) >= revision


def test_a_moment_at_which_the_object_did_not_change_is_that_of_all(client: Client, sample: Source) -> None:
    service = Track.objects.filter(source=sample, kind="Service", name="ring").order_by("life")[0]
    plain = between(client, sample, GAP[0] + 1, GAP[1])
    assert between(client, sample, GAP[0] + 1, GAP[1], start_track=service.id, end_track=service.id) == plain


def test_moments_that_are_not_there_or_in_the_wrong_order_are_refused(client: Client, sample: Source) -> None:
    for query in ({"start": 2, "end": 1}, {"start": -1, "end": 1}, {"start": 1}):
        asked(client, sample, "measure", 422, **query)
    asked(client, sample, "measure", 404, start=1, end=2, end_track=99999999)
    assert client.get("/api/sources/999999/measure?start=1&end=2").status_code == 404


def test_reports_hold_the_same_as_the_server(client: Client, sample: Source) -> None:
    def steps_of(html: str) -> dict[str, Any]:
        (held,) = re.findall(r'<script id="held" type="application/json">(.*?)</script>', html, re.DOTALL)
        steps: dict[str, Any] = json.loads(held)["steps"]
        return steps

    steps = steps_of(client.get(f"/sources/{sample.pk}/report").content.decode())
    commits = drawn(sample)
    assert steps["time"] == sorted(steps["time"])
    for time, revision in zip(steps["time"], steps["resource_version"], strict=True):
        assert int(revision) == max(each for at, each, _ in commits if at <= time)
    assert steps == steps_of(page.rendered(of_analysis(analyse([(SAMPLE, SAMPLE.name)], Limits()))))
