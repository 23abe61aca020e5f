"""These tests store a log of level Metadata and the watches of the same cluster: each object and each change is shown
once, in whatever order they come."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.database.storage.sources import asked, ingested, lasting
from tests.inputs import mutations
from tests.rows.stored import stored_tracks
from tests.unit.history.test_joins import bare, log, read, shown
from timeline.core.entries import Observation
from timeline.models import Source, Track
from timeline.pipeline import ingest
from timeline.storage import store

pytestmark = pytest.mark.django_db
ACCOUNTS = "admin", "system:"  # as whom the programs of the recordings write


@pytest.fixture(scope="module")
def orders(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    with lasting(django_db_blocker, [*bare("orders"), *shown("orders")], "orders") as source:
        yield source


def recorded(first: Sequence[Observation], second: Sequence[Observation]) -> Source:
    """Store two parts one after the other, each as an import of its own."""
    source = ingested(first)
    ingest(source, store.open_again(source), second)
    store.show_source(source)
    source.refresh_from_db()
    return source


def revisions(client: Client, life: Track) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked(client, life.source, f"tracks/{life.id}/revisions", limit=100)["revisions"]
    return found


def test_one_upload_two_uploads_and_the_other_order_are_stored_alike(orders: Source) -> None:
    log, watch = bare("orders"), shown("orders")
    orders.refresh_from_db()
    for first, second in ((watch, log), (log, watch)):
        source = recorded(first, second)
        assert stored_tracks(source) == stored_tracks(orders)
        assert source.entries == orders.entries
        assert not Track.objects.filter(source=source, kind="widgets").exists()


def test_each_entry_is_of_a_track_and_each_change_is_listed_once(client: Client, orders: Source) -> None:
    cursor: str | None = ""
    while cursor is not None:
        page = asked(client, orders, "entries", limit=500, cursor=cursor)
        assert all(each["track"] for each in page["entries"])
        cursor = page["next"]
    for life in Track.objects.filter(source=orders, kind__in=["Deployment", "Widget", "Lease", "EndpointSlice", "Pod"]):
        listed, drawn = revisions(client, life), life.lifeline[:100]
        changes = [(each["resource_version"], each["change"]) for each in listed]
        assert changes == [(revision, change) for _, revision, change, *_ in drawn], life
        writers = [(each["actor"], moment[5]) for each, moment in zip(listed, drawn, strict=True)]
        assert all(actor == writer for actor, writer in writers if actor or writer.startswith(ACCOUNTS)), life


def test_a_change_has_the_content_of_the_watch_and_the_writer_of_the_log(client: Client, orders: Source) -> None:
    life = Track.objects.get(source=orders, kind="Deployment", name="cart-blue")
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
    source = ingested([*shown("stale-jobs"), *first, *second])
    source.refresh_from_db()
    assert source.document["offsets"] and source.document["clocks"]
    for life in Track.objects.filter(source=source, kind__in=["Job", "Lease", "Pod"], life__endswith=None):
        listed = [each["resource_version"] for each in revisions(client, life)]
        assert listed == [revision for _, revision, *_ in life.lifeline][:100], life


def test_where_several_writes_may_have_made_a_change_it_says_which(client: Client, orders: Source) -> None:
    pods = Track.objects.filter(source=orders, kind="Pod")
    open_ones = [(life, each) for life in pods for each in revisions(client, life) if each["writers"]]
    assert 0 < len(open_ones) < 20
    life, change = open_ones[0]
    assert change["clock"] == "object" and all(write["user_agent"] for write in change["writers"])
    page = client.get(f"/sources/{orders.pk}/objects/{life.id}/").content.decode()
    assert "The audit log shows" in page and change["writers"][0]["controller"] in page
