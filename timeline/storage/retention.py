"""This module deletes the data of live sources that is too old or takes too much space: entries, lanes and findings.

`timeline.storage.keeping` says how long recordings are kept.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from psycopg import sql

from timeline.core.entries import microseconds
from timeline.history.freed import Span
from timeline.models import Cluster, Finding, Gap, IntentChange, LogPage, ObjectView, Source, Track
from timeline.storage import findings, freed, holds, incidents, notify, store, tables

_PATIENCE = 10  # the most seconds to wait for a lock; a later call tries again
_LATE = timedelta(minutes=1)  # how long after an entry was received a watch may have reported it


class Dropped(NamedTuple):
    """These are the numbers of tables, tracks and findings of one source that were deleted."""

    tables: int
    tracks: int
    findings: int


class Foreseen(NamedTuple):
    """This is what retention will delete of one source."""

    source: int
    held: bool  # whether a legal hold keeps all of it
    entries: int  # stored observations
    bytes: int  # of whole tables, which are freed at once; single rows free theirs for other rows
    tracks: int
    findings: int
    incidents: int  # of which no finding is left
    oldest: datetime | None  # the end of the oldest chunk of them


def days(cluster: Cluster) -> int:
    """Return for how many days the entries of a cluster are kept. PostgreSQL checks the range of the column."""
    return settings.KEEP_DAYS if cluster.keep_days is None else cluster.keep_days


def limit(cluster: Cluster) -> int:
    """Return how many bytes the entries of a cluster may take; 0 means no limit."""
    return settings.KEEP_BYTES if cluster.keep_bytes is None else cluster.keep_bytes


def keep(cluster: Cluster, now: datetime) -> list[Dropped]:
    """Delete the data of a cluster's sources that is no longer to be kept; return what was deleted of each source.

    Of a source that is under a legal hold, nothing is deleted; what it takes counts among the bytes of the cluster.
    Raises OperationalError if a lock was not free in time.
    """
    before = now - timedelta(days=days(cluster))
    room = limit(cluster)
    dropped = []
    for source in cluster.sources.order_by("-pk"):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{_PATIENCE}s"])
            if holds.held([source.pk]):
                room = max(1, room - tables.size_of(source)) if room else 0
                continue
            old = _old_tables(source, before, room)
            if room:
                room = max(1, room - tables.size_of(source))
            for table in old:
                cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(table.name)))
            lost = [*tables.drop_older(source, before), *(table.last for table in old)]
            if lost:
                _note_lost_beginning(source, max(lost))
            since = max([before, *(table.last for table in old)])
            dropped.append(Dropped(len(old), *_drop_rows(source, since)))
            notify.notify(source=source.pk)
    return dropped


def foresee(cluster: Cluster, now: datetime) -> list[Foreseen]:
    """Return what `keep` would delete at this time of what is stored now, the newest source first. Nothing changes."""
    before = now - timedelta(days=days(cluster))
    room = limit(cluster)
    found = []
    for source in cluster.sources.order_by("-pk"):
        held = holds.of_source(source.pk) is not None
        old = [] if held else _old_tables(source, before, room)
        if room:
            room = max(1, room - tables.size_of(source))
        if held:
            found.append(Foreseen(source.pk, held, 0, 0, 0, 0, 0, None))
            continue
        since = max([before, *(table.last for table in old)])
        entries, oldest = tables.entries_of(source, [table.name for table in old], before)
        going = Finding.objects.filter(source=source, last__lt=since)
        staying = Finding.objects.filter(source=source, last__gte=since)
        incidents_lost = going.exclude(incident__in=staying.values("incident")).values("incident").distinct().count()
        with connection.cursor() as cursor:
            cursor.execute(
                sql.SQL("SELECT count(*) FROM {0} WHERE {1}").format(store.track_table(source), _over(source)), [since]
            )
            (tracks,) = cursor.fetchone()
        size = sum(table.bytes for table in old)
        found.append(Foreseen(source.pk, held, entries, size, tracks, going.count(), incidents_lost, oldest))
    return found


def _old_tables(source: Source, before: datetime, room: int) -> list[tables.Table]:
    """Return the closed tables that have only old entries, and the oldest that do not fit into `room` bytes (0 for no
    limit)."""
    closed = tables.closed_tables(source)
    old = [table for table in closed if table.last < before]
    if room:
        sizes = tables.size_of(source)
        for table in closed:
            if sizes > room and table not in old:
                old.append(table)
            sizes -= table.bytes
    return old


def _note_lost_beginning(source: Source, last: datetime) -> None:
    """Store that everything up to `last` was deleted, when the latest deleted entry was received. A watch may have
    reported it a little later."""
    if source.first:
        begun = min([microseconds(source.first) - 1, *(span.since for span in freed.spans(source.pk)[:1])])
        freed.add(source, [Span(begun, microseconds(last + _LATE))])


def _over(source: Source) -> sql.Composed:
    """Return the condition for tracks whose lanes ended before a time."""
    return sql.SQL("(lane, root) IN (SELECT lane, root FROM {} WHERE upper(span) < %s)").format(
        store.track_table(source)
    )


def _drop_rows(source: Source, before: datetime) -> tuple[int, int]:
    """Delete lanes and findings that ended before a time; return the numbers of deleted tracks and findings."""
    Source.objects.select_for_update().get(pk=source.pk)  # a worker that commits meanwhile writes incidents, too
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DELETE FROM {0} WHERE {1}").format(store.track_table(source), _over(source)), [before])
        tracks = cursor.rowcount
    old = Finding.objects.filter(source=source, last__lt=before)
    touched = set(old.values_list("incident", flat=True))
    deleted, _ = old.delete()
    incidents.write(source, touched)
    findings.drop_occurrences(source, before)
    IntentChange.objects.filter(source=source, at__lt=before).delete()
    LogPage.objects.filter(source=source, last__lt=before).delete()
    if source.views:
        kept = Track.objects.filter(source=source).values("id")
        ObjectView.objects.filter(source=source).exclude(track__in=kept).delete()
    Gap.objects.filter(source=source, until__lt=before).delete()
    Source.objects.filter(pk=source.pk, first__lt=before).update(first=before)
    return tracks, deleted
