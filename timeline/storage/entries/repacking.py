"""Pack closed tables of live sources again, so that they take as little space as those of recordings.

A live source is written a few entries at a time, so its chunks are small. After packing them again, a closed table
takes a third of the space, and the entries of an object are next to each other.
"""

from collections.abc import Iterable
from itertools import islice

from django.db import connection, transaction
from psycopg import sql

from timeline.core.entries import Observation
from timeline.models import Source
from timeline.storage.entries import chunks, tables

PATIENCE = 10  # the most seconds to wait for readers; a later call tries again
PACKED = "packed"  # the comment on a table that was packed again
THINNED = "thinned"  # the comment on a table that was thinned, which packs it, too


def repack(source: Source) -> int:
    """Pack the closed tables of a source that were not packed again yet; return how many.

    The entries of a table get other sequence numbers from the same range. Raises OperationalError if a lock was not
    free in time.
    """
    count = 0
    for table in tables.closed_tables(source):
        if table.comment in (PACKED, THINNED):
            continue
        with transaction.atomic():
            if taken(table):
                write(source, table, chunks.keyed(source.pk, table.first, table.end), PACKED)
                count += 1
    return count


def taken(table: tables.Table) -> bool:
    """Keep others from packing or thinning a table until the current transaction ends; return False if somebody has
    done that meanwhile, or dropped the table. It can be read. Raises OperationalError if that takes too long."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{PATIENCE}s"])
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table.name])
        if cursor.fetchone() != (True,):
            return False
        cursor.execute(sql.SQL("LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE").format(sql.Identifier(table.name)))
        cursor.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [table.name])
        return bool(cursor.fetchone() == (table.comment,))


def write(
    source: Source, table: tables.Table, observed: Iterable[tuple[int, Observation, bytes]], comment: str
) -> None:
    """Write these observations, each with the key of its track and its line, in place of those of a closed table."""
    old, new = sql.Identifier(table.name), sql.Identifier(f"{table.name}_packed")
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("CREATE TABLE {} (LIKE timeline_chunk INCLUDING STORAGE, CHECK (source_id = {}))").format(
                new, sql.Literal(source.pk)
            )
        )
        lines = ((key, chunks.time_of(each), line) for key, each, line in observed)
        first = table.first
        while window := list(islice(lines, chunks.WINDOW)):  # a connection cannot read and write at the same time
            first = chunks.copy(source, new, window, first)
        cursor.execute(sql.SQL("ALTER TABLE timeline_chunk DETACH PARTITION {}").format(old))
        cursor.execute(sql.SQL("DROP TABLE {}").format(old))
        if first == table.first:
            cursor.execute(sql.SQL("DROP TABLE {}").format(new))
            return
        cursor.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(new, old))
        tables.attach_between(source, old, table.first, sql.Literal(table.end))
        cursor.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(old, sql.Literal(comment)))
        cursor.execute(sql.SQL("ANALYZE {}").format(old))
