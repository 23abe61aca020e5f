"""Measure how much room each source takes in the database, and keep one measurement for each day."""

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import connection, models
from psycopg import sql

from timeline.models import (
    ActorRow,
    BaselineIncident,
    Finding,
    Gap,
    Incident,
    IntentChange,
    Log,
    LogPage,
    NoticedIncident,
    ObjectView,
    Occurrence,
    SnapshotPart,
    Source,
    Strip,
    Usage,
)
from timeline.storage import store
from timeline.storage.entries import tables

_ROW = 28  # the bytes of a row's header and of the pointer to it
_FINDINGS = (Finding, Occurrence, Incident, NoticedIncident, BaselineIncident)
_LOGS = (Log, LogPage)
_EVIDENCE = (IntentChange, ObjectView, ActorRow, SnapshotPart, Gap)


def measure(source: Source, now: datetime) -> Usage:
    """Return what a source takes now, without storing it.

    The tables of its entries and of its objects are its own, and count with their indexes. In the tables that all
    sources share, its rows count, without indexes.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(pg_total_relation_size(to_regclass(%s)), 0)", [store.track_table(source).as_string(None)]
        )
        (tracks,) = cursor.fetchone()
    return Usage(
        source=source,
        day=now.astimezone(UTC).date(),
        at=now,
        entries=source.entries,
        chunks=tables.size_of(source),
        tracks=tracks + _rows(source, [Strip]),
        findings=_rows(source, _FINDINGS),
        logs=_rows(source, _LOGS),
        evidence=_rows(source, _EVIDENCE),
    )


def record(now: datetime) -> int:
    """Measure all sources, and store that as the measurement of the day; return their number."""
    sources = Source.objects.filter(ready=True).only("entries")
    values = ["at", "entries", "chunks", "tracks", "findings", "logs", "evidence"]
    count = 0
    for source in sources.order_by("pk"):
        row = measure(source, now)
        kept = {name: getattr(row, name) for name in values}
        if Source.objects.filter(pk=source.pk).exists():  # it was not deleted meanwhile
            Usage.objects.update_or_create(source_id=source.pk, day=row.day, defaults=kept)
        count += 1
    return count


def _rows(source: Source, shared: Iterable[type[models.Model]]) -> int:
    """Return the bytes of the rows that a source has in these tables, as they are stored: compressed."""
    taken = 0
    for model in shared:
        columns = [
            sql.SQL("coalesce(pg_column_size({}), 0)").format(sql.Identifier(field.column))
            for field in model._meta.concrete_fields
            if field.column
        ]
        with connection.cursor() as cursor:
            cursor.execute(
                sql.SQL("SELECT coalesce(sum({} + {}), 0)::bigint FROM {} WHERE source_id = %s").format(
                    sql.Literal(_ROW), sql.SQL(" + ").join(columns), sql.Identifier(model._meta.db_table)
                ),
                [source.pk],
            )
            taken += cursor.fetchone()[0]
    return taken
