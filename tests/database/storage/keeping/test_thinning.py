"""These tests check that what is near incidents of live sources is kept for longer, and the rest freed."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterable
from datetime import datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from psycopg import sql
from pytest_django import Settings

from tests import ENGINE, ROOT
from tests.database.storage.keeping.families import counts, watched
from tests.inputs.live import batches, observations
from tests.inputs.recordings import findings_of, world_of
from tests.patience import eventually
from timeline import pipeline
from timeline.core.entries import Entry, Mark, MarkType, Observation, microseconds, moment
from timeline.history.freed import Span
from timeline.models import Chunk, Cluster, Finding, IntentChange, Source
from timeline.queries.sources import live as live_sources
from timeline.storage import live
from timeline.storage.entries import chunks, repacking, tables
from timeline.storage.keeping import freed, holds, retention, thinning

LATER = timedelta(days=5)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def source(settings: Settings) -> Source:
    """Return a source with a closed table for each of a few batches, of which most is away from three incidents."""
    settings.KEEP_INCIDENT_MINUTES = 0.02
    source = watched(keep_days=3, keep_incident_days=30)
    tables.renew(source, 1)
    chosen = ("job-excess-pods", "endpoints-before-service")
    Finding.objects.filter(source=source).exclude(rule__in=chosen).delete()
    return source


def last(source: Source) -> datetime:
    assert source.last
    return source.last


def cluster() -> Cluster:
    return Cluster.objects.get()


def test_what_is_near_incidents_stays_and_what_was_foreseen_is_freed(source: Source) -> None:
    at = last(source) + LATER
    before, kept = counts(source), list(Finding.objects.order_by("identity").values())
    near = retention._near(cluster(), source, at, at - timedelta(days=30))
    everything = list(chunks.observations(source.pk))
    (foreseen,) = retention.foresee(cluster(), at)
    (rough,) = retention.foresee(cluster(), at, most=10)
    assert counts(source) == before and rough.at_most and rough.entries >= foreseen.entries and not foreseen.at_most
    (dropped,) = retention.keep(cluster(), at)
    assert dropped.thinned and not dropped.tables
    after = counts(source)
    freed_now = tuple(was - now for was, now in zip(before, after, strict=True))
    assert (foreseen.entries, foreseen.tracks, foreseen.findings, foreseen.incidents) == freed_now
    assert foreseen.away == foreseen.entries > before[0] / 3 and foreseen.bytes == 0
    assert list(Finding.objects.order_by("identity").values()) == kept
    observed = list(chunks.observations(source.pk))
    left = {(each.ref, each.received) for each in observed if isinstance(each, Entry)}
    for each in everything:
        begins, over = thinning._time(each)
        if isinstance(each, Entry) and any(window.since <= over and begins <= window.until for window in near.windows):
            assert (each.ref, each.received) in left
    spans = freed.spans(source.pk)
    assert spans and not any(
        span.since < window.until and window.since < span.until for span in spans for window in near.windows
    )
    assert live_sources.gap_count(source.pk) == live_sources.live_health([source.pk])[source.pk]["gaps"] == len(spans)
    (nothing,) = retention.foresee(cluster(), at)
    assert (nothing.entries, nothing.tracks, nothing.findings) == (0, 0, 0)
    assert retention.keep(cluster(), at)[0] == (0, 0, 0, 0) and counts(source) == after
    changes = IntentChange.objects.filter(source=source).values_list("at", flat=True)
    assert all(any(window.since <= microseconds(at) <= window.until for window in near.windows) for at in changes)
    the_state_at_the_beginning_of_each_window_stayed(everything, observed, near.windows)


def the_state_at_the_beginning_of_each_window_stayed(
    everything: Iterable[Observation], observed: Iterable[Observation], windows: Iterable[Span]
) -> None:
    before, after = world_of(everything), world_of(observed)
    for window in windows:
        for track in before.tracks():
            known = [each for each in track.moments if each.time <= window.since]
            if known and (track.until is None or track.until >= window.since):
                again = after.track(track.key)
                assert again, track.key
                assert [each for each in again.moments if each.time <= window.since][-1].facts == known[-1].facts


@pytest.mark.parametrize("margin", [0, 5])
def test_an_export_shows_no_finding_that_there_was_not_before(source: Source, margin: int) -> None:
    everything = list(chunks.observations(source.pk))
    found = {each.id for each in findings_of(world_of(everything))}
    stored = set(Finding.objects.values_list("identity", flat=True))
    near = thinning.incidents_of(source, last(source) + LATER, timedelta(seconds=margin), last(source) - LATER)
    assert thinning.thin(source, near)
    observed = list(chunks.observations(source.pk))
    assert len(observed) < len(everything)
    again = {each.id for each in findings_of(world_of(observed))}
    assert again <= found
    assert margin == 0 or stored <= again
    for seed in range(3):
        mixed = random.Random(seed).sample(observed, len(observed))
        assert {each.id for each in findings_of(world_of(*batches(mixed, 50)))} == again


def test_a_worker_that_reads_everything_again_judges_nothing_across_freed_spans(source: Source) -> None:
    retention.keep(cluster(), last(source) + LATER)
    before = set(Finding.objects.filter(withdrawn=False).values_list("identity", flat=True))
    held = live.open_again(Source.objects.get())
    assert held.world.freed.spans == freed.spans(source.pk)
    known = Finding.objects.filter(withdrawn=False)
    assert before <= set(known.values_list("identity", flat=True))
    for occurrence in (each for finding in known for each in finding.occurrences):
        assert not held.world.freed.overlaps(occurrence["first"], occurrence["last"])
    assert held.world.snapshot().marks[0].what is MarkType.FREED
    later = microseconds(moment(held.world.last) + LATER)
    pipeline.follow(held, [Mark("", "v1", "Pod", MarkType.BOOKMARK, later, 10**6)])


def test_holds_and_locks_keep_tables_from_being_thinned(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure in the middle leaves each table as it was or thinned, and a later call does the rest."""
    at = last(source) + LATER
    before, waiting = counts(source), len(thinning.waiting(source, at))
    holds.place("Case 7", "", source=source.pk)
    assert retention.keep(cluster(), at) == [] and counts(source) == before
    holds.lift(source=source.pk)
    write, calls = repacking.write, list[str]()

    def failing(source: Source, table: tables.Table, *rest: object) -> None:
        calls.append(table.name)
        write(source, table, *rest)  # type: ignore[arg-type]
        if len(calls) == 3:
            raise OperationalError("the server was lost")

    monkeypatch.setattr(repacking, "write", failing)
    with pytest.raises(OperationalError):
        retention.keep(cluster(), at)
    monkeypatch.undo()
    assert len(thinning.waiting(source, at)) == waiting - 2
    retention.keep(cluster(), at)
    assert not thinning.waiting(source, at - timedelta(days=3))
    assert repacking.repack(source) == 0
    assert Chunk.objects.filter(source=source).exists()


def test_a_killed_run_of_retention_beside_a_live_worker_loses_nothing(source: Source) -> None:
    Finding.objects.all().delete()  # so that everything is away from incidents, whatever the minutes
    Cluster.objects.update(keep_days=1, keep_incident_days=36_500)
    worker = live.open_again(source)
    before, waiting = counts(source), thinning.waiting(source, timezone.now())
    third = sql.Identifier(waiting[2].name)
    address = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}"))
    with psycopg.connect(address) as other:
        other.execute(sql.SQL("LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE").format(third))
        run = subprocess.Popen(
            [sys.executable, ROOT / "manage.py", "causeline", "retention"],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": address},
            stderr=subprocess.DEVNULL,
        )
        try:
            eventually(lambda: run.poll() is not None or _waits_for(waiting[2].name), 30)
            committed = pipeline.follow(worker, observations(ENGINE / "jobs-watch"))
        finally:
            run.kill()
            assert run.wait() == -signal.SIGKILL
    eventually(lambda: len(thinning.waiting(source, timezone.now())) == len(waiting) - 2, 10)
    assert committed.entries and counts(source)[0] > before[0] / 2
    source.refresh_from_db()
    (foreseen,) = retention.foresee(cluster(), timezone.now())
    stored = counts(source)[0]
    (dropped,) = retention.keep(cluster(), timezone.now())
    assert dropped.thinned == len(waiting) - 2 and counts(source)[0] == stored - foreseen.entries
    assert pipeline.follow(worker, [Mark("", "v1", "Pod", MarkType.BOOKMARK, worker.world.last + 1, 10**6)])
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'timeline_chunk_%%_packed'")
        assert cursor.fetchone() == (0,)
    worlds = worker.world, world_of(chunks.observations(source.pk))
    facts, again = ({track.key: track.last.facts for track in world.tracks()} for world in worlds)
    assert facts == again


def _waits_for(table: str) -> bool:
    query = "SELECT FROM pg_locks WHERE NOT granted AND relation = to_regclass(%s)"
    with connection.cursor() as cursor:
        cursor.execute(query, [table])
        return cursor.fetchone() is not None


def test_near_incidents_is_dropped_when_its_own_days_are_over(source: Source) -> None:
    retention.keep(cluster(), last(source) + LATER)
    (foreseen,) = retention.foresee(cluster(), last(source) + timedelta(days=31))
    before = counts(source)
    retention.keep(cluster(), last(source) + timedelta(days=31))
    assert foreseen.entries == before[0] and foreseen.findings == before[2] and not foreseen.away
    assert counts(source)[0] == 0 and not Finding.objects.exists()
    assert len(freed.spans(source.pk)) == 1


def test_what_may_yet_be_near_an_incident_is_not_thinned(source: Source) -> None:
    """An incident that happens now is near what was up to so many minutes ago, also if that is longer than the days."""
    Cluster.objects.update(keep_days=1, keep_incident_days=30, keep_incident_minutes=2 * 24 * 60)
    Finding.objects.all().delete()
    at = last(source) + timedelta(days=1, hours=12)
    (foreseen,) = retention.foresee(cluster(), at)
    (dropped,) = retention.keep(cluster(), at)
    assert not dropped.thinned and not foreseen.entries and not freed.spans(source.pk)
    assert retention.keep(cluster(), last(source) + timedelta(days=2, hours=1))[0].thinned
