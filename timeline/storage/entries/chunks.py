"""Store entries in PostgreSQL, compressed together in chunks, so that repetitions take little space.

Each row is a chunk: consecutive entries with the keys of their tracks, their range of time, and their lines in one
compressed frame. Each import writes a table of its own, which becomes a partition when the import is done. The table is
dropped with its source, or when all of it is too old to be kept. Entries of one object are next to each other.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import F, Q
from psycopg import sql

from timeline.core import masks
from timeline.core.entries import Entry, LogLine, Mark, MarkType, Observation, Request, microseconds, moment
from timeline.history import packing
from timeline.history.codec import Known, entry_of, line_of, observation_of
from timeline.history.packing import HEAD, Packer, unpack, unpacked_bytes
from timeline.models import Source, Track
from timeline.storage.entries import tables
from timeline.storage.keeping import freed
from timeline.storage.permitted.limits import present

ENTRIES = 256  # the most entries of a chunk
_BYTES = 1024 * 1024  # the most bytes of the lines of a chunk, unless one line alone has more
WINDOW = 8192  # the most entries that are sorted together
_WINDOW_BYTES = 32 * 1024**2  # after this many bytes, the entries so far are sorted
_COLUMNS = ("source_id", "sequence", "keys", "low", "high", "first", "last", "lines")
_TYPES = ("int8", "int8", "int4[]", "int4", "int4", "timestamptz", "timestamptz", "bytea")
_PAGE = 32  # the most chunks that are read at a time
_PAGE_BYTES = 1024**2  # about how many bytes are read at a time, estimated from the chunks before
KEY = 2**40 - 1  # the bits of Track.id that entries carry as a key (see `World.number`)
_NEWEST = 8  # chunks that `newest` reads at a time
_FEW = 32  # the most keys with which each key of a chunk is compared
_PART_BYTES = 48 * 1024**2  # of the lines of the chunks that `parts` lets be read together, unless one alone has more
_PART_ENTRIES = 10_000
BODIES = 16 * 1024**2  # bytes of objects after which a page of entries ends, however few it has
_Row = tuple[int, int, list[int], int, int, datetime, datetime, bytes]
_FREED = line_of(Mark("", "", "", MarkType.FREED, 0)).partition(b',"time"')[0]  # how the line of such a mark begins


class Stored(NamedTuple):
    sequence: int  # the number of the entry within its source, from 1, in the order of storing
    key: int  # the key of its track
    entry: Entry


class Part(NamedTuple):
    """A part of the entries of some tracks, small enough to be read and put in order for one answer."""

    before: int  # how many entries of these tracks are in the parts before this one
    entries: int
    low: int  # the sequence number of its first entry of these tracks
    high: int  # the same of its last one
    start: int  # of its chunks: the earliest time at which an entry was received, in microseconds since 1970


def parts(source_id: int, keys: Collection[int]) -> list[Part]:
    """Return the parts of the entries of the tracks with these keys, in the order of storing; one empty part if there
    are no entries. Nothing is decompressed for that."""
    query = """
        SELECT sequence, keys, first, substring(lines FROM 1 FOR %s) FROM timeline_chunk
        WHERE source_id = %s AND keys && %s::int[] AND low <= %s AND high >= %s ORDER BY sequence"""
    with connection.cursor() as cursor:
        cursor.execute(query, [HEAD, source_id, sorted(keys), max(keys), min(keys)])
        rows = cursor.fetchall()
    found: list[Part] = []
    size = 0
    for sequence, held, first, head in rows:
        numbers = [sequence + at for at, key in enumerate(held) if key in keys]
        if not numbers:
            continue
        size += unpacked_bytes(bytes(head))
        last = found[-1] if found else None
        if last and size <= _PART_BYTES and last.entries + len(numbers) <= _PART_ENTRIES:
            start = min(last.start, microseconds(first))
            found[-1] = last._replace(entries=last.entries + len(numbers), high=numbers[-1], start=start)
        else:
            before = last.before + last.entries if last else 0
            found.append(Part(before, len(numbers), numbers[0], numbers[-1], microseconds(first)))
            size = unpacked_bytes(bytes(head))
    return found or [Part(0, 0, 1, 0, 0)]


def write(source: Source, entries: Iterable[tuple[int, Observation]]) -> None:
    """Store observations, each with the key of its track, or 0 for a mark, a request or a line of a log, in the
    open table of a source.

    `source.stored` and `source.redacted` are updated, but not saved.
    """
    counts: Counter[str] = Counter()
    source.stored = copy(source, tables.current(source), _as_lines(entries, counts), source.stored + 1) - 1
    source.redacted = masks.together(source.redacted, counts)


def _as_lines(entries: Iterable[tuple[int, Observation]], counts: Counter[str]) -> Iterator[tuple[int, int, bytes]]:
    """Yield (key of the track, time, line) of each observation, and add its redacted values to `counts`."""
    for key, each in entries:
        line = line_of(each)
        masks.count(line, counts)
        if isinstance(each, Entry) and each.facts is not None and not each.body:
            counts[masks.WITHHELD] += 1
        yield key, time_of(each), line


def bound(source: Source, now: datetime, latest: datetime) -> None:
    """Set the ranges of those chunks to end now that end after the latest time that is possible, or begin after it.
    Until versions that bound times, one observation could move them, and retention kept their tables for ever."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE timeline_chunk SET first = least(first, %s), last = %s WHERE source_id = %s AND last > %s",
            [now, now, source.pk, latest],
        )


def time_of(each: Observation) -> int:
    """Return the time under which an observation is stored, in microseconds since 1970."""
    return each.time if isinstance(each, Mark | LogLine) else each.received


def copy(source: Source, table: sql.Identifier, lines: Iterable[tuple[int, int, bytes]], first: int) -> int:
    """Write lines, each as (key of the track, time, line), to a table in chunks. Their numbers begin with `first`;
    return the number after the last one."""
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
    """Yield the lines in windows, each sorted by key, so that lines of one object are next to each other."""
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
    """Divide a window into chunks, and yield the lines of each."""
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
    keys = [each.key for each in lines]  # in ascending order
    return source.pk, first, keys, keys[0], keys[-1], moment(min(times)), moment(max(times)), packed


def entries(
    source_id: int,
    keys: Collection[int] | None = None,
    *,
    after: int = 0,
    until: int | None = None,
    start: int | None = None,
    end: int | None = None,
    bodies: bool = True,
) -> Iterator[Stored]:
    """Yield the stored entries of a source, in the order of storing.

    `keys` selects certain tracks; `after` selects entries with a higher sequence number, `until` those up to one;
    `start` and `end` select entries that were received in this range, in microseconds since 1970. Without them, all
    entries are yielded. Without `bodies`, entries have no bodies.
    """
    known: Known = {}
    wanted = None if keys is None else set(keys)
    for sequence, held, lines in _chunks(source_id, wanted, after, start, end):
        for number, key, line in zip(range(sequence, sequence + len(held)), held, _lines(lines), strict=True):
            if until is not None and number > until:
                return
            if number <= after or not key or (wanted is not None and key not in wanted):
                continue
            entry = entry_of(line, known, bodies=bodies)
            if (start is None or entry.received >= start) and (end is None or entry.received <= end):
                yield Stored(number, key, entry)


def newest(source_id: int, wanted: set[int], *, most: int) -> Iterator[Stored]:
    """Yield the stored entries of the tracks with these keys, with bodies, those stored last first.

    At most `most` chunks are read. The caller removes a key from `wanted` when it needs no more entries of that track.
    """
    known: Known = {}
    before = 2**62
    query = """
        SELECT sequence, keys, lines FROM timeline_chunk
        WHERE source_id = %s AND sequence < %s AND keys && %s::int[] AND low <= %s AND high >= %s
        ORDER BY sequence DESC LIMIT %s"""
    while wanted and most > 0:
        limit = min(most, _NEWEST)
        with connection.cursor() as cursor:
            cursor.execute(query, [source_id, before, sorted(wanted), max(wanted), min(wanted), limit])
            page = cursor.fetchall()
        most = most - limit if len(page) == limit else 0
        for sequence, keys, packed in _limited(source_id, page):
            before = sequence
            if wanted.isdisjoint(keys):
                continue
            lines = _lines(bytes(packed))
            for at in reversed(range(len(keys))):
                if keys[at] in wanted:
                    yield Stored(sequence + at, keys[at], entry_of(lines[at], known))


def observations(source_id: int, *, after: int = 0) -> Iterator[Observation]:
    """Yield all observations of a source, including marks, with a sequence number higher than `after`. Without it, the
    marks of freed spans come last, so that they name all that was deleted while the rest was read."""
    known: Known = {}
    for sequence, held, lines in _chunks(source_id, None, after, None, None):
        for number, line in zip(range(sequence, sequence + len(held)), _lines(lines), strict=True):
            if number > after:
                yield observation_of(line, known)
    if not after:
        yield from freed.marks(source_id)


def keyed(source_id: int, first: int, end: int) -> Iterator[tuple[int, Observation, bytes]]:
    """Yield (key of the track, observation without its body, line) of the observations with sequence numbers from
    `first` to before `end`."""
    known: Known = {}
    for sequence, held, packed in _chunks(source_id, None, first - 1, None, None):
        for number, key, line in zip(range(sequence, end), held, _lines(packed), strict=False):
            if number >= first:
                yield key, observation_of(line, known, bodies=False), line
        if sequence + len(held) >= end:
            return


def lines(source_id: int) -> Iterator[bytes]:
    """Yield all observations of a source as lines of JSON, without line breaks.

    A limited reader gets the entries of the objects that it sees, the requests for them, and the marks of their kinds.
    So nobody who reads them takes a gap for silence, or objects that are left out for objects that did not exist.

    The marks of freed spans come last (see `observations`).
    """
    whole, namespaces = present().sees_whole(source_id), present().namespaces.get(source_id, ())
    kinds = set() if whole else {*Track.objects.filter(source=source_id).values_list("group", "kind").distinct()}
    known: Known = {}
    for _, held, packed in _chunks(source_id, None, 0, None, None):
        if whole:
            yield from (line for line in _lines(packed) if not line.startswith(_FREED))
            continue
        for key, line in zip(held, _lines(packed), strict=True):
            each = None if key else observation_of(line, known, bodies=False)
            if isinstance(each, Mark):
                shown = (each.group, each.kind) in kinds and (not each.namespace or each.namespace in namespaces)
            else:
                named = isinstance(each, Request) and each.ref.name != "" and each.ref.namespace in namespaces
                shown = key > 0 or named
            if shown:
                yield line
    yield from map(line_of, freed.marks(source_id))


def _limited(source_id: int, page: list[tuple[int, list[int], bytes]]) -> list[tuple[int, list[int], bytes]]:
    """Return these chunks, each with its sequence, keys and packed lines, with the key 0 for each entry that the
    present reader may not see."""
    if present().sees_whole(source_id):
        return page
    keys = {key for _, held, _ in page for key in held}
    number = F("id").bitand(KEY)
    rows = Track.objects.filter(Q(id__in=keys) | Q(id__gt=KEY), source=source_id).annotate(key=number)
    seen = {*rows.filter(key__in=keys).values_list("key", flat=True)}
    return [(sequence, [key if key in seen else 0 for key in held], packed) for sequence, held, packed in page]


def _lines(packed: bytes) -> list[bytes]:
    return unpack(packed).split(b"\n")


def _chunks(
    source_id: int, keys: set[int] | None, after: int, start: int | None, end: int | None
) -> Iterator[tuple[int, list[int], bytes]]:
    """Yield (sequence, keys, packed lines) of the chunks that match, in order. They are read a few at a time, so that
    no database cursor stays open."""
    conditions = ["source_id = %s", "sequence > %s"]
    more: list[Any] = []
    if keys is not None:
        # PostgreSQL compares each key with each of a few, and looks up each key among many.
        few = "keys && %s::int[]"
        many = "EXISTS (SELECT FROM unnest(keys) AS key WHERE key = ANY(%s::int[]))"
        conditions.append(f"{few if len(keys) <= _FEW else many} AND low <= %s AND high >= %s")
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
            page = _limited(source_id, cursor.fetchall())
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
