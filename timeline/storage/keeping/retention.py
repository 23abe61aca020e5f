"""Delete the data of live sources that is too old or takes too much space: entries, lanes and findings.

`timeline.storage.keeping.periods` says how long recordings are kept.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from psycopg import sql

from timeline.core.entries import microseconds
from timeline.history.freed import Span
from timeline.models import Cluster, Finding, Gap, IntentChange, LogPage, ObjectView, Source, Track
from timeline.storage import notify, store
from timeline.storage.entries import tables
from timeline.storage.judged import findings, incidents
from timeline.storage.keeping import freed, holds, thinning

_PATIENCE = 10  # the most seconds to wait for a lock; a later call tries again
_LATE = timedelta(minutes=1)  # how long after an entry was received a watch may have reported it


class Dropped(NamedTuple):
    """The numbers of tables, tracks and findings of one source that were deleted, and of tables thinned."""

    tables: int
    tracks: int
    findings: int
    thinned: int  # tables from which everything away from incidents was deleted


class Foreseen(NamedTuple):
    """What retention will delete of one source."""

    source: int
    held: bool  # whether a legal hold keeps all of it
    entries: int  # stored observations
    bytes: int  # of whole tables, which are freed at once; single rows free theirs for other rows
    tracks: int
    findings: int
    incidents: int  # that are left without a finding
    oldest: datetime | None  # the end of the oldest chunk of them
    away: int = 0  # how many of the entries are away from incidents, in tables whose other entries stay
    at_most: bool = False  # whether `entries` and `away` were not counted exactly, but are not exceeded


def days(cluster: Cluster) -> int:
    """Return for how many days the entries of a cluster are kept. PostgreSQL checks the range of the column."""
    return settings.KEEP_DAYS if cluster.keep_days is None else cluster.keep_days


def incident_days(cluster: Cluster) -> int:
    """Return for how many days what is near incidents of a cluster is kept: at least for those of everything."""
    own = settings.KEEP_INCIDENT_DAYS if cluster.keep_incident_days is None else cluster.keep_incident_days
    return max(days(cluster), own)


def incident_margin(cluster: Cluster) -> timedelta:
    """Return how long before and after an incident of a cluster everything is near it."""
    own = cluster.keep_incident_minutes
    return timedelta(minutes=settings.KEEP_INCIDENT_MINUTES if own is None else own)


def limit(cluster: Cluster) -> int:
    """Return how many bytes the entries of a cluster may take; 0 means no limit."""
    return settings.KEEP_BYTES if cluster.keep_bytes is None else cluster.keep_bytes


def keep(cluster: Cluster, now: datetime) -> list[Dropped]:
    """Delete the data of a cluster's sources that is no longer to be kept; return what was deleted of each source.

    Of a source that is under a legal hold, nothing is deleted; what it takes counts among the bytes of the cluster.
    What is near incidents may be kept for longer than the rest (see `timeline.storage.keeping.thinning`). Raises
    OperationalError if a lock was not free in time.
    """
    before = now - timedelta(days=incident_days(cluster))
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
            near = _near(cluster, source, now, since)
            rows = _drop_rows(source, since, near)
            notify.notify(source=source.pk)
        dropped.append(Dropped(len(old), *rows, thinning.thin(source, near) if _thins(cluster) else 0))
    return dropped


def foresee(cluster: Cluster, now: datetime, most: int | None = None) -> list[Foreseen]:
    """Return what `keep` would delete at this time of what is stored now, the newest source first. Nothing changes.

    If more entries than `most` have to be read to count those that are away from incidents, all of them are counted.
    """
    before = now - timedelta(days=incident_days(cluster))
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
        near = _near(cluster, source, now, since)
        entries, oldest = tables.entries_of(source, [table.name for table in old], before)
        away, at_most = _away(source, near, {table.name for table in old}, most) if _thins(cluster) else (0, False)
        going = Finding.objects.filter(source=source, last__lt=since)
        staying = Finding.objects.filter(source=source, last__gte=since)
        incidents_lost = going.exclude(incident__in=staying.values("incident")).values("incident").distinct().count()
        with connection.cursor() as cursor:
            cursor.execute(
                sql.SQL("SELECT count(*) FROM {0} WHERE {1}").format(store.track_table(source), _over(source)),
                [since, near.before, near.ranges],
            )
            (tracks,) = cursor.fetchone()
        size = sum(table.bytes for table in old)
        found.append(
            Foreseen(
                source.pk,
                held,
                entries + away,
                size,
                tracks,
                going.count(),
                incidents_lost,
                oldest,
                away,
                at_most,
            )
        )
    return found


def _thins(cluster: Cluster) -> bool:
    """Return whether what is near incidents is kept for longer than the rest."""
    return incident_days(cluster) > days(cluster)


def _near(cluster: Cluster, source: Source, now: datetime, since: datetime) -> thinning.Incidents:
    """Return what is near incidents, of what is not deleted as a whole because it is from before `since`."""
    if not _thins(cluster):
        return thinning.Incidents([], since)
    margin = incident_margin(cluster)
    whole = max(timedelta(days=days(cluster)), margin)  # an incident that happens now is as near what was so long ago
    return thinning.incidents_of(source, max(since, now - whole), margin, since)


def _away(source: Source, near: thinning.Incidents, old: Collection[str], most: int | None) -> tuple[int, bool]:
    """Return how many entries are away from incidents in tables that are not dropped, and whether that was not counted
    exactly, but is not exceeded."""
    waiting = [table for table in thinning.waiting(source, near.before) if table.name not in old]
    stored = sum(table.end - table.first for table in waiting)
    if most is not None and stored > most:
        return stored, True
    return sum(thinning.planned(source, table, near.windows).going for table in waiting), False


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
    """Return the condition for tracks whose lanes ended before a time, or before a later one and away from incidents.
    Its values are the two times and the windows of the incidents."""
    return sql.SQL(
        "(lane, root) IN (SELECT lane, root FROM {} WHERE upper(span) < %s"
        " OR (upper(span) < %s AND NOT span && %s::tstzmultirange))"
    ).format(store.track_table(source))


def _drop_rows(source: Source, before: datetime, near: thinning.Incidents) -> tuple[int, int]:
    """Delete lanes and findings that ended before a time, and what is away from incidents; return the numbers of
    deleted tracks and findings."""
    Source.objects.select_for_update(no_key=True).get(pk=source.pk)  # a worker writes incidents, too
    away: tuple[datetime, datetime, str] = (before, near.before, near.ranges)
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DELETE FROM {0} WHERE {1}").format(store.track_table(source), _over(source)), away)
        tracks = cursor.rowcount
        for model, time in ((IntentChange, "tstzrange(at, at, '[]')"), (LogPage, "tstzrange(first, last, '[]')")):
            cursor.execute(
                sql.SQL(
                    "DELETE FROM {0} WHERE source_id = %s AND (upper({1}) < %s"
                    " OR (upper({1}) < %s AND NOT {1} && %s::tstzmultirange))"
                ).format(sql.Identifier(model._meta.db_table), sql.SQL(time)),
                [source.pk, *away],
            )
    old = Finding.objects.filter(source=source, last__lt=before)
    touched = {
        place for first, others in old.values_list("incident", "incidents") for place in others or [first] if place
    }
    deleted, _ = old.delete()
    incidents.write(source, touched)
    findings.drop_occurrences(source, before)
    if source.views:
        kept = Track.objects.filter(source=source).values("id")
        ObjectView.objects.filter(source=source).exclude(track__in=kept).delete()
    Gap.objects.filter(source=source, until__lt=before).delete()
    Source.objects.filter(pk=source.pk, first__lt=before).update(first=before)
    return tracks, deleted
