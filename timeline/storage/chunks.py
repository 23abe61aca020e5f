"""Entries in PostgreSQL: packed together in chunks, so that what repeats in them costs nothing.

A row is a chunk: so many entries that follow each other, with the keys of their tracks, the time that they span and
their lines in one frame. Each import writes a table of its own; it becomes a partition when the import is done, and
goes with its source, or when all of it is too old to be kept. Within a chunk the entries of one object stand together.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import OperationalError, connection, transaction
from django.utils import timezone
from psycopg import sql

from timeline.core import masks
from timeline.core.entries import Entry, Mark, Observation, moment
from timeline.history import packing
from timeline.history.codec import Known, entry_of, line_of, observation_of
from timeline.history.packing import Packer, unpack
from timeline.models import Source

ENTRIES = 128  # of a chunk at most
_BYTES = 512 * 1024  # of its lines, unless one alone has more
WINDOW = 4096  # entries that are sorted together
_WINDOW_BYTES = 16 * 1024**2
_COLUMNS = ("source_id", "sequence", "keys", "low", "high", "first", "last", "lines")
_TYPES = ("int8", "int8", "int4[]", "int4", "int4", "timestamptz", "timestamptz", "bytea")
_AGE = timedelta(days=1)  # of the table that a live source is written to, at most
_PARTS = 10  # of what is to be kept; so much may go at a time
_PAGE = 32  # chunks that are read at a time at most
_PAGE_BYTES = 1024**2  # of them, as far as those before tell
_Row = tuple[int, int, list[int], int, int, datetime, datetime, bytes]


class Stored(NamedTuple):
    sequence: int  # in its source, from 1; in the order of storing
    key: int  # of its track
    entry: Entry


def open_table(source: Source) -> None:
    """A new table, to which all is written from now on; `attach` makes it a partition."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('timeline_chunk_table')")
        (source.table,) = cursor.fetchone()
        cursor.execute(
            sql.SQL("CREATE TABLE {} (LIKE timeline_chunk INCLUDING STORAGE, CHECK (source_id = {}))").format(
                _table(source), sql.Literal(source.pk)
            )
        )
        began = sql.Literal(timezone.now().isoformat())  # PostgreSQL does not tell how old a table is
        cursor.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(_table(source), began))


def renew(source: Source, keep_bytes: int) -> None:
    """A new table for what comes from now on, if the open one is a day old, or holds much of what is to be kept: what
    is too old goes by tables."""
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
    """What was written since `open_table` is shown, and gets its indexes. Where nothing was, the table before it stays
    the open one."""
    table = _table(source)
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
    """What comes from now on is for another table."""
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


class Table(NamedTuple):
    """One that nothing is written to any more."""

    name: str
    first: int  # sequence of its first entry
    end: int  # and behind its last one
    last: datetime  # when the latest of its entries was received
    bytes: int  # with its indexes


def closed_tables(source: Source) -> list[Table]:
    """In the order of their entries."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relname ~ %s AND relispartition"
            " AND relkind = 'r' AND pg_get_expr(relpartbound, oid) !~ 'MAXVALUE'",
            [_tables_of(source)],
        )
        for name, size in cursor.fetchall():
            query = sql.SQL("SELECT min(sequence), max(sequence + cardinality(keys)), max(last) FROM {}").format(
                sql.Identifier(name)
            )
            cursor.execute(query)
            first, end, last = cursor.fetchone()
            found.append(Table(name, first, end, last, size))
    return sorted(found, key=lambda table: table.first)


def drop_older(source: Source, before: datetime) -> None:
    """Of the open table, which may be open for long where little comes."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DELETE FROM {} WHERE last < %s").format(_table(source)), [before])


def size_of(source: Source) -> int:
    """Bytes of all of its tables, with their indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relname ~ %s"
            " AND relkind = 'r'",
            [_tables_of(source)],
        )
        (size,) = cursor.fetchone()
        return int(size)


def drop(source: Source) -> None:
    """All of its tables."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname ~ %s AND relkind = 'r'", [_tables_of(source)])
        for (name,) in cursor.fetchall():
            cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))


def drop_leftovers(source: Source, older: timedelta = timedelta()) -> None:
    """Those of its tables that imports have left that did not come to their end. One that is at work keeps its own."""
    query = (
        "SELECT relname FROM pg_class WHERE relname ~ %s AND relkind = 'r' AND NOT relispartition"
        " AND obj_description(oid, 'pg_class')::timestamptz <= %s"
    )
    before = timezone.now() - older
    with connection.cursor() as cursor:
        cursor.execute(query, [_tables_of(source), before])
        for (name,) in cursor.fetchall():
            table = sql.Identifier(name)
            with suppress(OperationalError), transaction.atomic():  # it is in use, or has just gone
                cursor.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT").format(table))
                cursor.execute(query, [f"^{name}$", before])
                if cursor.fetchone():  # its import has not ended just now
                    cursor.execute(sql.SQL("DROP TABLE {}").format(table))


def _tables_of(source: Source) -> str:
    return f"^timeline_chunk_{source.pk}_[0-9]+$"


def _table(source: Source) -> sql.Identifier:
    return sql.Identifier(f"timeline_chunk_{source.pk}_{source.table}")


def write(source: Source, entries: Iterable[tuple[int, Observation]]) -> None:
    """Stream what was observed, each with its track's key, into the source's open table; count it in `source.stored`.

    The key of a mark is 0."""
    counts: Counter[str] = Counter()
    source.stored = copy(source, _table(source), _told(entries, counts), source.stored + 1) - 1
    source.redacted = masks.together(source.redacted, counts)


def _told(entries: Iterable[tuple[int, Observation]], counts: Counter[str]) -> Iterator[tuple[int, int, bytes]]:
    """Each as a line, with its track's key and its time; what was taken out of them is counted."""
    for key, each in entries:
        line = line_of(each)
        masks.count(line, counts)
        if isinstance(each, Mark):
            yield key, each.time, line
            continue
        if each.facts is not None and not each.body:
            counts[masks.WITHHELD] += 1
        yield key, each.received, line


def copy(source: Source, table: sql.Identifier, lines: Iterable[tuple[int, int, bytes]], first: int) -> int:
    """Pack lines, each with its track's key and its time, into a table, numbered from `first`; the next number."""
    copying = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        table, sql.SQL(", ").join(map(sql.Identifier, _COLUMNS))
    )
    packer = Packer(packing.ENTRIES)
    with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(copying) as into:
        into.set_types(_TYPES)
        for window in _windows(lines):
            for held in _together(window):
                into.write_row(_row(source, first, held, packer))
                first += len(held)
    return first


class _Line(NamedTuple):
    key: int
    received: int
    line: bytes


def _windows(lines: Iterable[tuple[int, int, bytes]]) -> Iterator[list[_Line]]:
    """So many at a time, those of one object together."""
    window: list[_Line] = []
    size = 0
    for each in lines:
        window.append(_Line(*each))
        size += len(each[2])
        if len(window) == WINDOW or size > _WINDOW_BYTES:
            yield sorted(window, key=itemgetter(0))
            window, size = [], 0
    yield sorted(window, key=itemgetter(0))


def _together(window: list[_Line]) -> Iterator[list[_Line]]:
    """What becomes one chunk each."""
    held: list[_Line] = []
    size = 0
    for each in window:
        if held and (len(held) == ENTRIES or size + len(each.line) > _BYTES):
            yield held
            held, size = [], 0
        held.append(each)
        size += len(each.line)
    if held:
        yield held


def _row(source: Source, first: int, lines: list[_Line], packer: Packer) -> _Row:
    times = [each.received for each in lines]
    packed = packer.pack(b"\n".join(each.line for each in lines))
    keys = [each.key for each in lines]  # in their order
    return source.pk, first, keys, keys[0], keys[-1], moment(min(times)), moment(max(times)), packed


def entries(
    source_id: int,
    keys: Collection[int] | None = None,
    *,
    after: int = 0,
    start: int | None = None,
    end: int | None = None,
    bodies: bool = True,
) -> Iterator[Stored]:
    """Those of certain tracks, behind a place in the sequence, received in a range of time (microseconds); all where
    none is given."""
    known: Known = {}
    wanted = None if keys is None else set(keys)
    for sequence, held, lines in _chunks(source_id, wanted, after, start, end):
        for number, key, line in zip(range(sequence, sequence + len(held)), held, _lines(lines), strict=True):
            if number <= after or not key or (wanted is not None and key not in wanted):
                continue
            entry = entry_of(line, known, bodies=bodies)
            if (start is None or entry.received >= start) and (end is None or entry.received <= end):
                yield Stored(number, key, entry)


def observations(source_id: int, *, after: int = 0) -> Iterator[Observation]:
    """All that was observed, marks too, without bodies, behind a place in the sequence."""
    known: Known = {}
    for sequence, held, lines in _chunks(source_id, None, after, None, None):
        for number, line in zip(range(sequence, sequence + len(held)), _lines(lines), strict=True):
            if number > after:
                yield observation_of(line, known, bodies=False)


def keyed(source_id: int, first: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """The lines of a range of the sequence, each with its track's key and its time."""
    known: Known = {}
    for sequence, held, packed in _chunks(source_id, None, first - 1, None, None):
        for number, key, line in zip(range(sequence, end), held, _lines(packed), strict=False):
            if number >= first:
                each = observation_of(line, known, bodies=False)
                yield key, each.time if isinstance(each, Mark) else each.received, line
        if sequence + len(held) >= end:
            return


def lines(source_id: int) -> Iterator[bytes]:
    """All entries as they are written, without the ends of the lines."""
    for _, _, packed in _chunks(source_id, None, 0, None, None):
        yield from _lines(packed)


def _lines(packed: bytes) -> list[bytes]:
    return unpack(packed).split(b"\n")


def _chunks(
    source_id: int, keys: set[int] | None, after: int, start: int | None, end: int | None
) -> Iterator[tuple[int, list[int], bytes]]:
    """A few at a time, so that no cursor has to stay open, and whoever reads slowly holds few of them. They come in the
    order of their sequence."""
    conditions = ["source_id = %s", "sequence > %s"]
    more: list[Any] = []
    if keys is not None:
        conditions.append("keys && %s::int[] AND low <= %s AND high >= %s")
        more += [sorted(keys), max(keys, default=0), min(keys, default=0)]
    if start is not None:
        conditions.append("last >= %s")
        more.append(moment(start))
    if end is not None:
        conditions.append("first <= %s")
        more.append(moment(end))
    where = " AND ".join(conditions)
    query = f"SELECT sequence, keys, lines FROM timeline_chunk WHERE {where} ORDER BY sequence LIMIT %s"
    last, limit = after - ENTRIES, 1
    while True:
        with connection.cursor() as cursor:
            cursor.execute(query, [source_id, last, *more, limit])
            page = cursor.fetchall()
        if not page:
            return
        last, size = page[-1][0], sum(len(packed) for *_, packed in page)
        full = len(page) == limit
        limit = max(1, min(_PAGE, _PAGE_BYTES * len(page) // size))
        page.reverse()
        while page:
            sequence, held, packed = page.pop()
            yield sequence, held, bytes(packed)
        if not full:
            return
