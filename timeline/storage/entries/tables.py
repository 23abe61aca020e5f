"""Manage the tables of chunks: each import writes one, which becomes a partition at the end of the import.

A live source begins a new table from time to time, so that old data can be dropped table by table.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import OperationalError, connection, transaction
from django.utils import timezone
from psycopg import sql

from timeline.models import Source

if TYPE_CHECKING:
    import psycopg

_AGE = timedelta(days=1)  # the greatest age of the open table of a live source
_PARTS = 10  # the open table of a live source may have 1/10 of the bytes that are to be kept


def open_table(source: Source) -> None:
    """Create a table to which all new entries of a source are written; `attach` makes it a partition."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('timeline_chunk_table')")
        (source.table,) = cursor.fetchone()
        cursor.execute(
            sql.SQL("CREATE TABLE {} (LIKE timeline_chunk INCLUDING STORAGE, CHECK (source_id = {}))").format(
                current(source), sql.Literal(source.pk)
            )
        )
        began = sql.Literal(timezone.now().isoformat())  # PostgreSQL does not record when a table was created
        cursor.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(current(source), began))


def renew(source: Source, keep_bytes: int) -> None:
    """Open a new table if the open one is a day old, or has more than a tenth of `keep_bytes` (0 for no limit)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT obj_description(oid, 'pg_class')::timestamptz < %s, pg_total_relation_size(oid) FROM pg_class"
            " WHERE relname = %s",
            [timezone.now() - _AGE, f"timeline_chunk_{source.pk}_{source.table}"],
        )
        old, size = cursor.fetchone()
    if old or (keep_bytes and size > keep_bytes / _PARTS):
        open_table(source)
        attach(source, always=True)
        source.save(update_fields=["table"])


def attach(source: Source, *, always: bool = False) -> None:
    """Make the open table a partition, so that it gets its indexes and can be read.

    If nothing was written to it, it is dropped instead and the table before it stays open, unless `always` is set.
    """
    table = current(source)
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT min(sequence) FROM {}").format(table))
        first = cursor.fetchone()[0] or source.stored + 1
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname ~ %s AND pg_get_expr(relpartbound, oid) ~ 'MAXVALUE'",
            [_tables_of(source)],
        )
        if (before := cursor.fetchone()) and first > source.stored and not always:
            cursor.execute(sql.SQL("DROP TABLE {}").format(table))
            source.table = int(before[0].rpartition("_")[2])
            return
        if before:
            _close(source, sql.Identifier(*before), first)
        attach_between(source, table, first, sql.SQL("MAXVALUE"))
        cursor.execute(sql.SQL("ANALYZE {}").format(table))


def _close(source: Source, table: sql.Identifier, end: int) -> None:
    """Close a table: limit its range of sequence numbers to those before `end`, or drop it if it is empty."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("ALTER TABLE timeline_chunk DETACH PARTITION {}").format(table))
        cursor.execute(sql.SQL("SELECT min(sequence) FROM {}").format(table))
        (first,) = cursor.fetchone()
        if first is None:
            cursor.execute(sql.SQL("DROP TABLE {}").format(table))
        else:
            attach_between(source, table, first, sql.Literal(end))


def attach_between(source: Source, table: sql.Identifier, first: int, end: sql.Composable) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("ALTER TABLE timeline_chunk ATTACH PARTITION {0} FOR VALUES FROM ({1}, {2}) TO ({1}, {3})").format(
                table, sql.Literal(source.pk), sql.Literal(first), end
            )
        )


def build_indexes(cursor: "psycopg.Cursor[Any]", table: sql.Identifier, *, of: str) -> None:
    """Build the indexes of the partitioned table `of` on a table that will be its partition.

    `ATTACH PARTITION` then has to build none, for which it would block others that attach or drop a partition.
    """
    cursor.execute(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'p'", [of]
    )
    for (key,) in cursor.fetchall():
        cursor.execute(sql.SQL("ALTER TABLE {} ADD {}").format(table, sql.SQL(key)))
    cursor.execute(
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass AND NOT indisprimary"
        " ORDER BY indexrelid",
        [of],
    )
    for (index,) in cursor.fetchall():
        method = index.partition(" USING ")[2]
        cursor.execute(sql.SQL("CREATE INDEX ON {} USING {}").format(table, sql.SQL(method)))


class Table(NamedTuple):
    """A closed table, to which nothing is written any more."""

    name: str
    first: int  # the sequence number of its first entry
    end: int  # the sequence number after that of its last entry
    last: datetime  # when the latest of its entries was received
    bytes: int  # its size with its indexes
    comment: (
        str | None
    )  # when it was created, or what was done with it since (see `timeline.storage.entries.repacking`)


def closed_tables(source: Source) -> list[Table]:
    """Return the tables of a source that are closed, in the order of their entries."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid), obj_description(oid, 'pg_class') FROM pg_class"
            " WHERE relname ~ %s AND relispartition AND relkind = 'r' AND pg_get_expr(relpartbound, oid) !~ 'MAXVALUE'",
            [_tables_of(source)],
        )
        for name, size, comment in cursor.fetchall():
            query = sql.SQL("SELECT min(sequence), max(sequence + cardinality(keys)), max(last) FROM {}").format(
                sql.Identifier(name)
            )
            cursor.execute(query)
            first, end, last = cursor.fetchone()
            found.append(Table(name, first, end, last, size, comment))
    return sorted(found, key=lambda table: table.first)


def drop_older(source: Source, before: datetime) -> list[datetime]:
    """Delete the old chunks of the open table, which may stay open for long if little is written; return when the
    latest entry of each was received."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DELETE FROM {} WHERE last < %s RETURNING last").format(current(source)), [before])
        return [last for (last,) in cursor]


def entries_of(source: Source, closed: Sequence[str], before: datetime) -> tuple[int, datetime | None]:
    """Return how many entries these closed tables have and the old chunks of the open table (see `drop_older`), and
    when the oldest chunk of them ended; None if there are none."""
    parts = [sql.SQL("SELECT keys, last FROM {}").format(sql.Identifier(name)) for name in closed]
    parts.append(sql.SQL("SELECT keys, last FROM {} WHERE last < {}").format(current(source), sql.Literal(before)))
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("SELECT coalesce(sum(cardinality(keys)), 0)::bigint, min(last) FROM ({}) AS going").format(
                sql.SQL(" UNION ALL ").join(parts)
            )
        )
        entries, oldest = cursor.fetchone()
        return entries, oldest


def size_of(source: Source) -> int:
    """Return the bytes of all tables of a source, with their indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relname ~ %s"
            " AND relkind = 'r'",
            [_tables_of(source)],
        )
        (size,) = cursor.fetchone()
        return int(size)


def drop(source: Source) -> None:
    """Drop all tables of a source."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname ~ %s AND relkind = 'r'", [_tables_of(source)])
        for (name,) in cursor.fetchall():
            cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))


def drop_leftovers(source: Source, older: timedelta = timedelta()) -> None:
    """Drop the tables of a source that unfinished imports have left and that are at least `older` old. Tables that a
    running import uses are not dropped."""
    query = (
        "SELECT relname FROM pg_class WHERE relname ~ %s AND relkind = 'r' AND NOT relispartition"
        " AND obj_description(oid, 'pg_class')::timestamptz <= %s"
    )
    before = timezone.now() - older
    with connection.cursor() as cursor:
        cursor.execute(query, [_tables_of(source), before])
        for (name,) in cursor.fetchall():
            table = sql.Identifier(name)
            with suppress(OperationalError), transaction.atomic():  # it is in use, or was just dropped
                cursor.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT").format(table))
                cursor.execute(query, [f"^{name}$", before])
                if cursor.fetchone():  # it has not become a partition meanwhile
                    cursor.execute(sql.SQL("DROP TABLE {}").format(table))


def _tables_of(source: Source) -> str:
    return f"^timeline_chunk_{source.pk}_[0-9]+$"


def current(source: Source) -> sql.Identifier:
    """Return the open table of a source, to which entries are written."""
    return sql.Identifier(f"timeline_chunk_{source.pk}_{source.table}")
