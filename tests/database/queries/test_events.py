"""These tests check the changes in a time, listed one by one in commit order."""

import sys
from datetime import datetime

import pytest
from django.test import Client

from timeline.core.entries import microseconds
from timeline.models import Source, Track
from timeline.queries.changes import events as events_queries

pytestmark = pytest.mark.django_db


def at(iso: str) -> int:
    return microseconds(datetime.fromisoformat(iso))


def test_changes_come_in_the_order_of_their_revisions_with_bounds_and_writers(sample: Source) -> None:
    found = events_queries.events(sample.pk, namespace="vol-restart", limit=500)
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
    whole = events_queries.events(sample.pk, namespace="vol-restart", every=True, limit=500)["events"]
    pages, cursor = [], ""
    while True:
        page = events_queries.events(sample.pk, namespace="vol-restart", every=True, after=cursor, limit=7)
        pages += page["events"]
        if page["next"] is None:
            break
        cursor = page["next"]
    assert pages == whole


def test_what_the_timeline_does_not_draw_is_counted_and_listed_on_request(sample: Source) -> None:
    drawn = events_queries.events(sample.pk, namespace="vol-restart", limit=1)
    every = events_queries.events(sample.pk, namespace="vol-restart", every=True, limit=1)
    assert drawn["undrawn"] > 0
    assert (every["total"], every["undrawn"]) == (drawn["total"] + drawn["undrawn"], 0)


def test_a_time_a_kind_and_a_root_owner_narrow_the_list(sample: Source, client: Client) -> None:
    job = Track.objects.filter(source=sample, kind="Job", group="batch.volcano.sh", name="ring").earliest("id")
    of_job = events_queries.events(sample.pk, root=job.root, limit=500)["events"]
    first, last = at(of_job[3]["time"]), at(of_job[-4]["time"])
    asked = f"scope={job.root}&start={first}&end={last}&limit=500"
    within = client.get(f"/api/sources/{sample.pk}/events?{asked}").json()["events"]
    assert within == [each for each in of_job if first <= at(each["time"]) <= last]
    pods = client.get(f"/api/sources/{sample.pk}/events?{asked}&kind=po").json()["events"]
    assert pods == [each for each in within if each["kind"] == "Pod"] != []
    assert client.get(f"/api/sources/{sample.pk}/events?start=2&end=1").status_code == 422
    assert client.get(f"/api/sources/{sample.pk}/events?cursor=x").status_code == 422


def test_more_objects_than_are_read_are_said(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["timeline.queries.changes.events"], "OBJECTS", 2)
    found = events_queries.events(sample.pk)
    assert (found["objects"], found["complete"]) == (2, False)
