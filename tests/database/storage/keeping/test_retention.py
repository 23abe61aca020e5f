"""These tests check what is kept of live sources, and what is deleted."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection

from collectors.tasks import keep
from tests import ENGINE
from tests.database.storage.keeping.families import counts, watched
from tests.inputs.live import batches, observations
from tests.rows.stored import entries_in
from timeline.models import Chunk, Cluster, Finding, IntentChange, Occurrence, Source, Track
from timeline.pipeline import follow
from timeline.queries.window import windows
from timeline.storage import live
from timeline.storage.entries import chunks, tables
from timeline.storage.entries.repacking import repack
from timeline.storage.keeping import holds, retention

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_too_old_goes_and_what_lives_stays() -> None:
    source = watched(keep_days=10)
    assert source.last
    before, cluster = counts(source), Cluster.objects.get()
    retention.keep(cluster, source.last + timedelta(days=9))
    assert counts(source) == before
    living = set(Track.objects.filter(source=source, life__endswith=None).values_list("id", flat=True))
    assert IntentChange.objects.filter(source=source).exists()
    (dropped,) = retention.keep(cluster, source.last + timedelta(days=11))
    assert dropped.tables and dropped.tracks and dropped.findings
    for model in (IntentChange, Finding, Occurrence, Chunk):
        assert not model._default_manager.filter(source=source).exists(), model
    assert Source.objects.get(pk=source.pk).row_counts == {}
    assert living <= set(Track.objects.filter(source=source).values_list("id", flat=True))


def test_nothing_goes_that_a_hold_of_the_source_or_of_its_cluster_keeps() -> None:
    source = watched(keep_days=1, keep_bytes=1)
    assert source.last
    before, cluster, long_after = counts(source), Cluster.objects.get(), source.last + timedelta(days=100)
    for kept in ({"source": source.pk}, {"cluster": cluster.pk}):
        holds.place("Case 22", "", **kept)
        assert retention.keep(cluster, long_after) == []
        (foreseen,) = retention.foresee(cluster, long_after)
        assert foreseen == retention.Foreseen(source.pk, True, 0, 0, 0, 0, 0, None)
        assert counts(source) == before
        holds.lift(**kept)
    assert retention.keep(cluster, long_after)[0].findings
    assert not entries_in(source)


def test_the_oldest_tables_go_where_there_are_too_many_bytes_and_the_source_goes_on() -> None:
    source = watched(keep_days=10_000)
    before = tables.size_of(source)
    first = min(Chunk.objects.filter(source=source).values_list("sequence", flat=True))
    Cluster.objects.update(keep_bytes=before // 2)
    keep()
    assert tables.size_of(source) <= before // 2
    assert min(Chunk.objects.filter(source=source).values_list("sequence", flat=True)) > first
    assert windows.window(source.pk, 0, 2**50)["lanes"] is not None
    Cluster.objects.update(keep_bytes=1)
    keep()
    assert follow(live.open_again(source), observations(ENGINE / "jobs-watch")).entries


def test_a_closed_table_is_packed_anew_and_tells_the_same() -> None:
    source = live.begin(Cluster.objects.create(name="prod", keep_days=10_000))
    held = live.open_again(source)
    observed = observations(ENGINE / "families-watch")
    for batch in batches(observed[:400], 8):
        follow(held, batch)
    tables.renew(source, 1)
    follow(held, observed[400:])
    before, size = sorted(chunks.lines(source.pk)), tables.size_of(source)
    rows = Chunk.objects.filter(source=source).count()
    keep()
    assert sorted(chunks.lines(source.pk)) == before
    assert Chunk.objects.filter(source=source).count() < rows / 4
    assert tables.size_of(source) < size
    assert repack(source) == 0
    source.refresh_from_db()
    assert live.open_again(source).world.seen.keys() == held.world.seen.keys()


def test_the_database_holds_no_cluster_that_keeps_nothing_or_for_ever() -> None:
    for kept in ({"keep_days": 0}, {"keep_days": -3}, {"keep_days": 10**9}, {"keep_bytes": -1}):
        with pytest.raises(IntegrityError):
            Cluster.objects.create(name="prod", **kept)


def test_one_bad_cluster_does_not_keep_the_others_from_their_turn(caplog: pytest.LogCaptureFixture) -> None:
    broken = live.begin(Cluster.objects.create(name="bad", keep_days=10_000))
    with connection.cursor() as cursor:  # as if the disk had lost the table
        cursor.execute("ALTER TABLE timeline_track_%s RENAME TO elsewhere", [broken.pk])
    source = watched(keep_bytes=1)
    before = tables.size_of(source)
    try:
        keep()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO timeline_track_%s", [broken.pk])
    assert tables.size_of(source) < before
    assert "what bad is not to keep could not be dropped or packed" in caplog.text
