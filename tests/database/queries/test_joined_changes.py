"""These tests store a log of level Metadata and the watches of the same cluster: each object and each change is shown
once, in whatever order they come."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client

from tests import mutations
from tests.stored import told_tracks
from tests.unit.history.test_joins import bare, log, read, shown
from timeline.core.entries import Observation
from timeline.history.world.world import World
from timeline.models import Source, Track
from timeline.pipeline import ingest
from timeline.storage import store

pytestmark = pytest.mark.django_db
ACCOUNTS = "admin", "system:"  # as whom the programs of the recordings write


def recorded(*parts: Sequence[Observation]) -> Source:
    """Store parts one after the other, each as an import of its own."""
    source = store.open_source("joined")
    ingest(source, World(), parts[0])
    store.show_source(source)
    for part in parts[1:]:
        ingest(source, store.open_again(source), part)
        store.show_source(source)
    source.refresh_from_db()
    return source


def asked(client: Client, source: Source, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/sources/{source.pk}/{path}", query)
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


def revisions(client: Client, life: Track) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked(client, life.source, f"tracks/{life.id}/revisions", limit=100)["revisions"]
    return found


def test_one_upload_two_uploads_and_the_other_order_are_stored_alike() -> None:
    log, watch = bare("orders"), shown("orders")
    together, added, before = recorded([*log, *watch]), recorded(watch, log), recorded(log, watch)
    assert told_tracks(together) == told_tracks(added) == told_tracks(before)
    assert together.entries == added.entries == before.entries
    assert not Track.objects.filter(source=before, kind="widgets").exists()


def test_each_entry_is_of_a_track_and_each_change_is_listed_once(client: Client) -> None:
    source = recorded(bare("orders"), shown("orders"))
    cursor: str | None = ""
    while cursor is not None:
        page = asked(client, source, "entries", limit=500, cursor=cursor)
        assert all(each["track"] for each in page["entries"])
        cursor = page["next"]
    for kind in ("Deployment", "Widget", "Lease", "EndpointSlice", "Pod"):
        for life in Track.objects.filter(source=source, kind=kind):
            listed, drawn = revisions(client, life), life.lifeline[:100]
            changes = [(each["resource_version"], each["change"]) for each in listed]
            assert changes == [(revision, change) for _, revision, change, *_ in drawn], life
            writers = [(each["actor"], moment[5]) for each, moment in zip(listed, drawn, strict=True)]
            assert all(actor == writer for actor, writer in writers if actor or writer.startswith(ACCOUNTS)), life


def test_a_change_has_the_content_of_the_watch_and_the_writer_of_the_log(client: Client) -> None:
    source = recorded(bare("orders"), shown("orders"))
    life = Track.objects.get(source=source, kind="Deployment", name="cart-blue")
    created, one, *_ = revisions(client, life)
    assert created["change"] == "created" and created["actor"] and created["audit_id"] and created["resource_version"]
    assert one["clock"] == "audit" and one["actor"] == "system:kube-controller-manager" and one["resource_version"]
    assert one["audit_id"] and one["attribution"] == "uid" and one["writers"] == []


def test_logs_of_api_servers_with_different_clocks_are_joined_as_the_timeline_joins_them(client: Client) -> None:
    logs = mutations.over_servers(log("stale-jobs"), random.Random(1), 2)
    first, second = (
        read(mutations.shifted(each, ahead), "RequestResponse", f"{ahead}.jsonl")
        for each, ahead in zip(logs, (0, 2.4), strict=True)
    )
    source = recorded([*shown("stale-jobs"), *first, *second])
    assert source.document["offsets"] and source.document["clocks"]
    for life in Track.objects.filter(source=source, kind__in=["Job", "Lease", "Pod"], life__endswith=None):
        listed = [each["resource_version"] for each in revisions(client, life)]
        assert listed == [revision for _, revision, *_ in life.lifeline][:100], life


def test_where_several_writes_may_have_made_a_change_it_says_which(client: Client) -> None:
    source = recorded(bare("orders"), shown("orders"))
    open_ones = [
        (life, each)
        for life in Track.objects.filter(source=source, kind="Pod")
        for each in revisions(client, life)
        if each["writers"]
    ]
    assert 0 < len(open_ones) < 20
    life, change = open_ones[0]
    assert change["clock"] == "object" and all(write["user_agent"] for write in change["writers"])
    page = client.get(f"/sources/{source.pk}/objects/{life.id}/").content.decode()
    assert "The audit log shows" in page and change["writers"][0]["controller"] in page
