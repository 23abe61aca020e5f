"""These tests check what limited readers see: that the views of the database leave out the rest, and that every table
has such a view."""

import json
from itertools import product
from typing import Any

import pytest
from django.apps import apps
from django.db import ProgrammingError, connection

from collectors.normalise.objects import observed_object
from dashboard.access import limits
from tests.database.storage.sources import again
from tests.rows.following import Followed
from timeline.core.entries import Change, moment
from timeline.layout.places import CROWD
from timeline.models import Finding, Gap, Occurrence, Source, Track
from timeline.queries.window import windows
from timeline.queries.window.overview import overview
from timeline.storage.permitted import views as seen_views
from timeline.storage.permitted.limits import EVERYTHING, Permitted, present, seeing, unlimited

pytestmark = pytest.mark.django_db


def part(source: Source, *names: str) -> Permitted:
    return Permitted(namespaces={source.pk: frozenset(names)})


def namespaces_of(source: Source) -> list[str]:
    tracks = Track.objects.filter(source=source).exclude(kind="Namespace")
    return sorted({*tracks.values_list("namespace", flat=True)})


def test_each_table_says_what_a_limited_reader_sees_of_it() -> None:
    every = apps.get_models(include_auto_created=True)
    own = {each._meta.db_table for each in every if each._meta.app_label in ("timeline", "dashboard")}
    assert own == {*seen_views.VIEWS, *limits.VIEWS}
    with connection.cursor() as cursor:
        cursor.execute("SELECT viewname FROM pg_views WHERE schemaname = 'causeline_seen'")
        assert {name for (name,) in cursor} == {each._meta.db_table for each in every}


def test_a_limited_reader_sees_the_objects_and_lanes_of_the_namespaces(sample: Source) -> None:
    everything = namespaces_of(sample)
    assert "" in everything
    one = next(name for name in everything if name)
    with seeing(part(sample, one)):
        assert namespaces_of(sample) == [one]
        assert {row[0] for row in again(sample).census} == {one}
        assert {lane["namespace"] for lane in windows.window(sample.pk)["lanes"]} == {one}
    with seeing(Permitted(whole=frozenset({sample.pk}))):
        assert namespaces_of(sample) == everything
    with seeing(Permitted()):
        assert namespaces_of(sample) == []
        assert not Source.objects.filter(pk=sample.pk).exists()
        with unlimited():  # what must see everything says so for some time
            assert present() == EVERYTHING
            assert namespaces_of(sample) == everything
        assert namespaces_of(sample) == []
    assert namespaces_of(sample) == everything


def test_a_table_without_a_view_is_not_found(sample: Source) -> None:
    with (
        pytest.raises(ProgrammingError),
        seeing(Permitted(whole=frozenset({sample.pk}))),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT * FROM django_migrations")


def test_a_row_without_namespaces_is_hidden(sample: Source) -> None:
    found = Finding.objects.filter(source=sample).first()
    assert found and found.namespaces
    row, seen = Finding.objects.filter(source=sample, identity=found.identity), part(sample, *found.namespaces)
    with seeing(seen):
        assert row.exists()
    unknown: list[str] | None
    for unknown in (None, []):
        row.update(namespaces=unknown)
        with seeing(seen):
            assert not row.exists()


def test_counts_are_those_of_what_is_seen(sample: Source) -> None:
    rows = Occurrence.objects.filter(source=sample)
    names = {name for each in rows.values_list("namespaces", flat=True) for name in each or ()}
    with seeing(part(sample, *names)):
        assert sum(sum(each) for each in again(sample).row_counts.values()) == len(rows)
    with seeing(part(sample, "another")):
        assert again(sample).row_counts == {}


def test_the_histograms_of_namespaces_add_up_to_that_of_the_source(sample: Source) -> None:
    def read() -> tuple[list[int], int]:
        return overview(sample.pk)["counts"], again(sample).entries

    whole, entries = read()
    parts = []
    for name in namespaces_of(sample):
        with seeing(part(sample, name)):
            parts.append(read())
    assert [sum(slices) for slices in zip(*(counts for counts, _ in parts), strict=True)] == whole
    assert any(whole) and 0 < parts[1][1] < entries


def test_why_there_was_a_gap_is_shown_to_readers_of_the_whole() -> None:
    source = Source.objects.create(name="prod", ready=True)
    Gap.objects.create(source=source, kind="Pod", since=moment(0), until=moment(1), reason="403 in secret")
    for seen, reason in (
        (part(source, "a"), "Those who see all of this source see why."),
        (EVERYTHING, "403 in secret"),
    ):
        with seeing(seen):
            assert Gap.objects.get().reason == reason


def test_a_strip_has_lanes_of_one_namespace() -> None:
    """A strip stands for many objects of one owner. If the owner is a Node, which has no namespace, its objects may be
    in several namespaces, and a reader may see only one of these."""
    live = Followed()
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "uid-node-1", "controller": True}
    abouts: list[dict[str, Any]] = [{"name": "node-1", "uid": "uid-node-1"}]
    for namespace, name in product(("mine", "other"), range(2 * CROWD)):
        about = {"name": f"pod-{name}", "namespace": namespace, "uid": f"{namespace}-{name}"}
        abouts.append({**about, "ownerReferences": [owner]})
    entries = []
    for revision, about in enumerate(abouts, 1):
        metadata = {**about, "resourceVersion": str(revision), "creationTimestamp": "2026-11-23T10:00:00Z"}
        body = {"apiVersion": "v1", "kind": "Node" if revision == 1 else "Pod", "metadata": metadata}
        entries.append(observed_object(json.dumps(body).encode(), Change.OBSERVED, None, bodies=False).entry)
    live.commit(entries)
    with seeing(part(live.source, "mine")):
        (strip,) = live.source.strip_set.all()
    assert (strip.namespace, strip.members) == ("mine", 2 * CROWD)
    assert live.source.strip_set.count() == 2
