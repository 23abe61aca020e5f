"""This module deletes the data of live sources that is too old or takes too much space: entries, lanes and findings.

Recordings are kept until somebody deletes them.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from psycopg import sql

from timeline.models import Cluster, Finding, Gap, IntentChange, LogPage, ObjectView, Source, Track
from timeline.storage import findings, holds, incidents, notify, store, tables

_PATIENCE = 10  # the most seconds to wait for a lock; a later call tries again


class Dropped(NamedTuple):
    """These are the numbers of tables, tracks and findings of one source that were deleted."""

    tables: int
    tracks: int
    findings: int


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
            closed = tables.closed_tables(source)
            old = [table for table in closed if table.last < before]
            if room:
                sizes = tables.size_of(source)
                for table in closed:
                    if sizes > room and table not in old:
                        old.append(table)
                    sizes -= table.bytes
                room = max(1, room - tables.size_of(source))
            for table in old:
                cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(table.name)))
            tables.drop_older(source, before)
            since = max([before, *(table.last for table in old)])
            dropped.append(Dropped(len(old), *_drop_rows(source, since)))
            notify.notify(source=source.pk)
    return dropped


def _drop_rows(source: Source, before: datetime) -> tuple[int, int]:
    """Delete lanes and findings that ended before a time; return the numbers of deleted tracks and findings."""
    Source.objects.select_for_update().get(pk=source.pk)  # a worker that commits meanwhile writes incidents, too
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("DELETE FROM {0} WHERE (lane, root) IN (SELECT lane, root FROM {0} WHERE upper(span) < %s)").format(
                store.track_table(source)
            ),
            [before],
        )
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
