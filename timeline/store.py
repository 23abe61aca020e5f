"""Writes to PostgreSQL: rows by COPY into a temporary table, then one statement that inserts or updates them."""

from collections.abc import Iterable
from typing import Any

import msgspec
import zstandard
from django.db import connection, transaction
from psycopg import sql

from timeline import documents, outline
from timeline.entries import FOREVER, Entry, moment
from timeline.lifelines import Track
from timeline.models import Finding, Source
from timeline.rulebook import Finding as Found
from timeline.world import World

_TRACK = (
    "source_id", "key", "lane", "root", "group", "version", "kind", "namespace", "name", "uid", "family", "number",
    "lane_number", "root_rank", "life", "lifeline",
)  # fmt: skip
_FINDING = (
    "source_id", "identity", "rule", "severity", "namespace", "subject_id", "first", "last", "document", "occurrences",
)  # fmt: skip
_ENTRY = (
    "source_id", "sequence", "key", "resource_version", "change", "received", "staged", "action", "actor", "user_agent",
    "identity", "file", "line", "body",
)  # fmt: skip


def open_source(name: str) -> Source:
    """A new source with a table of its own for its entries; not shown before its first import is done.

    The table becomes a partition only then: who writes to a partition locks all others against coming and going.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        source = Source.objects.create(name=name)
        cursor.execute(
            sql.SQL("CREATE TABLE {} (LIKE timeline_entry INCLUDING ALL, CHECK (source_id = {}))").format(
                _partition(source), sql.Literal(source.pk)
            )
        )
    return source


def show_source(source: Source, skipped: int) -> None:
    """The first import is done."""
    with transaction.atomic(), connection.cursor() as cursor:
        Source.objects.filter(pk=source.pk).update(ready=True, skipped=skipped)
        cursor.execute(
            sql.SQL("ALTER TABLE timeline_entry ATTACH PARTITION {} FOR VALUES IN ({})").format(
                _partition(source), sql.Literal(source.pk)
            )
        )


def discard_source(source: Source, patience: int = 60) -> None:
    """The source and all that was stored of it; its space is given back at once.

    Raises OperationalError when somebody still writes to it after `patience` seconds.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{patience}s"])
        cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_partition(source)))
        cursor.execute("DELETE FROM timeline_finding WHERE source_id = %s", [source.pk])
        cursor.execute("DELETE FROM timeline_track WHERE source_id = %s", [source.pk])
        source.delete()


def _partition(source: Source) -> sql.Identifier:
    return sql.Identifier(f"timeline_entry_{source.pk}")


def write_entries(source: Source, entries: Iterable[tuple[int, Entry]]) -> int:
    """Stream entries, each with its track's key, into the source's partition; how many there were."""
    compressor = zstandard.ZstdCompressor(level=3)
    sequence = source.entries
    copying = _copy_into(_partition(source), _ENTRY)
    with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(copying) as copy:
        for key, entry in entries:
            sequence += 1
            place = entry.place
            copy.write_row(
                (
                    source.pk,
                    sequence,
                    key,
                    entry.resource_version,
                    entry.change.value,
                    moment(entry.received),
                    moment(entry.received if entry.staged == FOREVER else entry.staged),
                    _text(entry.action),
                    _text(entry.actor),
                    _text(entry.user_agent),
                    _text(entry.identity),
                    _text(place.file) if place else "",
                    place.line if place else 0,
                    compressor.compress(entry.body) if entry.body else b"",
                )
            )
    return sequence - source.entries


def write_tracks(source: Source, world: World) -> None:
    """All tracks: what changes one may change the creation numbers and the rank of the others."""
    creation = outline.creation(world)
    rows = (_track_row(source, world, track, creation) for track in world.tracks())
    _upsert("timeline_track", _TRACK, ("source_id", "key", "uid"), rows)


def _track_row(source: Source, world: World, track: Track, creation: outline.Creation) -> tuple[Any, ...]:
    ref, until, root = track.ref, track.until, creation.roots[track.key]
    began = f"[{moment(track.first.time).isoformat()},"
    return (
        source.pk,
        world.number(track),
        world.lane(track),
        world.number(root),
        _text(ref.group),
        _text(ref.version),
        _text(ref.kind),
        _text(ref.namespace),
        _text(ref.name),
        _text(ref.uid),
        track.family,
        creation.numbers[track.key],
        creation.numbers[world.incarnations(track.name)[0].key],
        creation.ranks[root.key],
        began + (f"{moment(until).isoformat()}]" if until else ")"),
        _json(outline.lifeline(track)),
    )


def write_findings(source: Source, world: World, subjects: Iterable[Track], findings: Iterable[Found]) -> None:
    """What holds of these subjects now takes the place of what was stored of them."""
    ids = _track_ids(source)
    rows = []
    for found in findings:
        document = documents.finding(found)
        rows.append(
            (
                source.pk,
                found.id,
                found.rule,
                found.severity,
                _text(found.subject.namespace),
                _subject(found, world, ids),
                moment(found.occurrences[0].first),
                moment(found.occurrences[-1].last),
                _json(document),
                _json([documents.occurrence(found, each, world, ids) for each in found.occurrences]),
            )
        )
    judged = [ids[world.number(track), track.ref.uid] for track in subjects]
    Finding.objects.filter(source=source, subject_id__in=judged).exclude(identity__in=[row[1] for row in rows]).delete()
    _upsert("timeline_finding", _FINDING, ("source_id", "identity"), rows)


def _subject(found: Found, world: World, ids: dict[tuple[int, str], int]) -> int:
    """The track it is shown with: its subject's; where none stands (a Lease only named), that of its first proof."""
    refs = [found.subject, *(proof.ref for each in found.occurrences for proof in each.proof)]
    return next(ids[key] for ref in refs if (key := (world.number_of(ref), ref.uid)) in ids)


def _track_ids(source: Source) -> dict[tuple[int, str], int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT key, uid, id FROM timeline_track WHERE source_id = %s", [source.pk])
        return {(key, uid): identity for key, uid, identity in cursor}


def write_source(source: Source, world: World, new_entries: int) -> None:
    source.entries += new_entries
    if source.entries:
        source.first, source.last = moment(world.first), moment(world.last)
    source.histogram = outline.histogram(world)
    source.save()


def _upsert(table: str, columns: tuple[str, ...], keys: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """COPY into a temporary table, then INSERT … ON CONFLICT DO UPDATE what differs."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    target, fresh = sql.Identifier(table), sql.Identifier(f"fresh_{table}")
    told = [sql.Identifier(column) for column in columns if column not in keys]
    updates = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(column) for column in told)
    before = sql.SQL(", ").join(sql.SQL("{}.{}").format(target, column) for column in told)
    after = sql.SQL(", ").join(sql.SQL("excluded.{}").format(column) for column in told)
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
                fresh, names, target
            )
        )
        with connection.wrap_database_errors, cursor.copy(_copy_into(fresh, columns)) as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(
            sql.SQL(
                "INSERT INTO {0} ({1}) SELECT {1} FROM {2} ON CONFLICT ({3})"
                " DO UPDATE SET {4} WHERE ({5}) IS DISTINCT FROM ({6})"
            ).format(target, names, fresh, sql.SQL(", ").join(map(sql.Identifier, keys)), updates, before, after)
        )
        cursor.execute(sql.SQL("DROP TABLE {}").format(fresh))


def _copy_into(table: sql.Identifier, columns: tuple[str, ...]) -> sql.Composed:
    return sql.SQL("COPY {} ({}) FROM STDIN").format(table, sql.SQL(", ").join(map(sql.Identifier, columns)))


def _json(value: Any) -> str:
    """JSON that PostgreSQL's jsonb takes: it knows no NUL character."""
    return msgspec.json.encode(value).decode().replace("\\u0000", "\\ufffd")


def _text(value: str) -> str:
    return value.replace("\0", "\ufffd")
