"""This module packs closed tables of live sources again, so that they take as little space as those of recordings.

A live source is written a few entries at a time, so its chunks are small. After packing them again, a closed table
takes a third of the space, and the entries of an object are next to each other.
"""

from itertools import islice

from django.db import connection, transaction
from psycopg import sql

from timeline.models import Source
from timeline.storage import chunks, tables

_PATIENCE = 10  # the most seconds to wait for readers; a later call tries again
_PACKED = "packed"  # the comment on a table that was packed again


def repack(source: Source) -> int:
    """Pack the closed tables of a source that were not packed again yet; return how many.

    The entries of a table get other sequence numbers from the same range. Raises OperationalError if a lock was not
    free in time.
    """
    count = 0
    for table in tables.closed_tables(source):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{_PATIENCE}s"])
            cursor.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [table.name])
            if cursor.fetchone() != (_PACKED,):
                _repack(source, table)
                count += 1
    return count


def _repack(source: Source, table: tables.Table) -> None:
    old, new = sql.Identifier(table.name), sql.Identifier(f"{table.name}_packed")
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("CREATE TABLE {} (LIKE timeline_chunk INCLUDING STORAGE, CHECK (source_id = {}))").format(
                new, sql.Literal(source.pk)
            )
        )
        lines = chunks.keyed(source.pk, table.first, table.end)
        first = table.first
        while window := list(islice(lines, chunks.WINDOW)):  # a connection cannot read and write at the same time
            first = chunks.copy(source, new, window, first)
        cursor.execute(sql.SQL("ALTER TABLE timeline_chunk DETACH PARTITION {}").format(old))
        cursor.execute(sql.SQL("DROP TABLE {}").format(old))
        cursor.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(new, old))
        tables.attach_between(source, old, table.first, sql.Literal(table.end))
        cursor.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(old, sql.Literal(_PACKED)))
        cursor.execute(sql.SQL("ANALYZE {}").format(old))
