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
from tests.following import Followed
from timeline.core.entries import Change, moment
from timeline.layout.places import CROWD
from timeline.models import Finding, Gap, Occurrence, Source, Track
from timeline.queries.window import windows
from timeline.queries.window.overview import overview
from timeline.storage.seen import views as seen_views
from timeline.storage.seen.limits import EVERYTHING, Seen, present, seeing, unlimited

pytestmark = pytest.mark.django_db


def test_each_table_says_what_a_limited_reader_sees_of_it() -> None:
    own = [
        each for each in apps.get_models(include_auto_created=True) if each._meta.app_label in ("timeline", "dashboard")
    ]
    assert {each._meta.db_table for each in own} == {*seen_views.VIEWS, *limits.VIEWS}
    with connection.cursor() as cursor:
        cursor.execute("SELECT viewname FROM pg_views WHERE schemaname = 'causeline_seen'")
        views = {name for (name,) in cursor}
    assert views == {each._meta.db_table for each in apps.get_models(include_auto_created=True)}


def namespaces_of(source: Source) -> list[str]:
    tracks = Track.objects.filter(source=source).exclude(kind="Namespace")
    return sorted({*tracks.values_list("namespace", flat=True)})


def test_a_limited_reader_sees_the_objects_of_the_namespaces(sample: Source) -> None:
    everything = namespaces_of(sample)
    assert "" in everything
    one = next(name for name in everything if name)
    with seeing(Seen(namespaces={sample.pk: frozenset({one})})):
        assert namespaces_of(sample) == [one]
        assert {row[0] for row in Source.objects.get(pk=sample.pk).census} == {one}
    with seeing(Seen(whole=frozenset({sample.pk}))):
        assert namespaces_of(sample) == everything
    with seeing(Seen()):
        assert namespaces_of(sample) == []
        assert not Source.objects.filter(pk=sample.pk).exists()
    assert namespaces_of(sample) == everything


def test_what_must_see_everything_says_so_for_some_time(sample: Source) -> None:
    with seeing(Seen()):
        with unlimited():
            assert present() == EVERYTHING
            assert namespaces_of(sample)
        assert namespaces_of(sample) == []


def test_a_table_without_a_view_is_not_found(sample: Source) -> None:
    with pytest.raises(ProgrammingError), seeing(Seen(whole=frozenset({sample.pk}))), connection.cursor() as cursor:
        cursor.execute("SELECT * FROM django_migrations")


def test_a_row_without_namespaces_is_hidden(sample: Source) -> None:
    found = Finding.objects.filter(source=sample).first()
    assert found and found.namespaces
    seen = Seen(namespaces={sample.pk: frozenset(found.namespaces)})
    with seeing(seen):
        assert Finding.objects.filter(source=sample, identity=found.identity).exists()
    unknown: list[str] | None
    for unknown in (None, []):
        Finding.objects.filter(source=sample, identity=found.identity).update(namespaces=unknown)
        with seeing(seen):
            assert not Finding.objects.filter(source=sample, identity=found.identity).exists()


def test_counts_are_those_of_what_is_seen(sample: Source) -> None:
    rows = Occurrence.objects.filter(source=sample)
    names = {name for each in rows.values_list("namespaces", flat=True) for name in each or ()}
    with seeing(Seen(namespaces={sample.pk: frozenset(names)})):
        assert Source.objects.get(pk=sample.pk).row_counts == Source.objects.get(pk=sample.pk).row_counts
        assert sum(sum(each) for each in Source.objects.get(pk=sample.pk).row_counts.values()) == len(rows)
    with seeing(Seen(namespaces={sample.pk: frozenset({"another"})})):
        assert Source.objects.get(pk=sample.pk).row_counts == {}


def test_the_histograms_of_namespaces_add_up_to_that_of_the_source(sample: Source) -> None:
    def read() -> tuple[list[int], int]:
        source = Source.objects.get(pk=sample.pk)
        return overview(sample.pk)["counts"], source.entries

    whole, entries = read()
    parts = []
    for name in namespaces_of(sample):
        with seeing(Seen(namespaces={sample.pk: frozenset({name})})):
            parts.append(read())
    assert [sum(slices) for slices in zip(*(counts for counts, _ in parts), strict=True)] == whole
    assert any(whole) and 0 < parts[1][1] < entries


def test_a_window_of_a_limited_reader_has_only_their_lanes(sample: Source) -> None:
    one = next(name for name in namespaces_of(sample) if name)
    with seeing(Seen(namespaces={sample.pk: frozenset({one})})):
        window = windows.window(sample.pk)
    assert window["lanes"]
    assert {lane["namespace"] for lane in window["lanes"]} == {one}


def test_why_there_was_a_gap_is_shown_to_readers_of_the_whole() -> None:
    source = Source.objects.create(name="prod", ready=True)
    Gap.objects.create(source=source, kind="Pod", since=moment(0), until=moment(1), reason="403 in secret")
    why = {}
    for name, seen in (("part", Seen(namespaces={source.pk: frozenset({"a"})})), ("all", EVERYTHING)):
        with seeing(seen):
            why[name] = Gap.objects.get().reason
    assert why == {"part": "Those who see all of this source see why.", "all": "403 in secret"}


def test_a_strip_has_lanes_of_one_namespace(db: None) -> None:
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
    with seeing(Seen(namespaces={live.source.pk: frozenset({"mine"})})):
        (strip,) = live.source.strip_set.all()
    assert (strip.namespace, strip.members) == ("mine", 2 * CROWD)
    assert live.source.strip_set.count() == 2
