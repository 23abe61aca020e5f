"""These tests check the changes in a time, listed one by one in commit order."""

from typing import Any

import pytest
from django.test import Client

from tests.database.storage.sources import asked
from timeline.kinds import seconds
from timeline.models import Source, Track
from timeline.queries.changes import events as events_queries

pytestmark = pytest.mark.django_db


def listed(source: Source, **query: Any) -> Any:
    return events_queries.events(source.pk, **{"namespace": "vol-restart", "limit": 500, **query})


def test_changes_come_in_the_order_of_their_revisions_with_bounds_and_writers(sample: Source) -> None:
    found = listed(sample)
    events = found["events"]
    assert (found["complete"], found["next"], found["total"]) == (True, None, len(events))
    revisions = [int(each["resource_version"]) for each in events if each["resource_version"]]
    assert revisions == sorted(revisions)
    assert len(revisions) > 30
    assert all(each["earliest"] and each["earliest"] <= each["time"] for each in events)
    assert all(each["latest"] is None or each["time"] <= each["latest"] for each in events)
    gone = next(each for each in events if each["kind"] == "Service" and each["change"] == "deleted")
    assert (gone["text"], gone["name"]) == ("deleted", "ring")
    assert gone["writer"]
    assert gone["url"].startswith(f"/sources/{sample.pk}/objects/{gone['track']}/?at=")


def test_pages_follow_each_other_without_a_gap(sample: Source) -> None:
    pages, cursor = [], ""
    while cursor is not None:
        page = listed(sample, every=True, after=cursor, limit=7)
        pages += page["events"]
        cursor = page["next"]
    assert pages == listed(sample, every=True)["events"]


def test_what_the_timeline_does_not_draw_is_counted_and_listed_on_request(sample: Source) -> None:
    drawn, every = listed(sample, limit=1), listed(sample, every=True, limit=1)
    assert drawn["undrawn"] > 0
    assert (every["total"], every["undrawn"]) == (drawn["total"] + drawn["undrawn"], 0)


def test_a_time_a_kind_and_a_root_owner_narrow_the_list(sample: Source, client: Client) -> None:
    job = Track.objects.filter(source=sample, kind="Job", group="batch.volcano.sh", name="ring").earliest("id")
    of_job = events_queries.events(sample.pk, root=job.root, limit=500)["events"]
    first, last = seconds(of_job[3]["time"]), seconds(of_job[-4]["time"])
    scope = {"scope": job.root, "start": first, "end": last, "limit": 500}
    within = asked(client, sample, "events", **scope)["events"]
    assert within == [each for each in of_job if first <= seconds(each["time"]) <= last]
    pods = asked(client, sample, "events", **scope, kind="po")["events"]
    assert pods == [each for each in within if each["kind"] == "Pod"] != []
    asked(client, sample, "events", 422, start=2, end=1)
    asked(client, sample, "events", 422, cursor="x")


def test_more_objects_than_are_read_are_said(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_queries, "OBJECTS", 2)
    found = events_queries.events(sample.pk)
    assert (found["objects"], found["complete"]) == (2, False)
