"""Writes to PostgreSQL: rows by COPY into a temporary table, then one statement that inserts or updates them."""

from collections.abc import Iterable
from typing import Any

import msgspec
import zstandard
from django.db import connection, transaction
from psycopg import sql

from timeline import documents
from timeline.entries import FOREVER, Entry, Facts, moment
from timeline.kinds import NOISE
from timeline.lifelines import Name, Track
from timeline.models import Finding, Source
from timeline.rulebook import Finding as Found
from timeline.world import World

SLICES = 240  # of a source's histogram
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
    # Groups go by the name of their root, as lanes go by names: a re-created owner goes on with its group.
    roots = {track.key: world.incarnations(world.root(track).name)[0] for track in world.tracks()}
    numbers, ranks = _creation_order(world, roots)
    rows = (_track_row(source, world, track, roots[track.key], numbers, ranks) for track in world.tracks())
    _upsert("timeline_track", _TRACK, ("source_id", "key", "uid"), rows)


def _creation_order(world: World, roots: dict[Any, Track]) -> tuple[dict[Any, int], dict[Any, int]]:
    """The number of each track within its root's group, and the rank of each root among all; both from 1."""
    groups: dict[Any, list[Track]] = {}
    for track in world.tracks():
        groups.setdefault(roots[track.key].key, []).append(track)
    numbers = {}
    for members in groups.values():
        members.sort(key=lambda track: (track.family in NOISE, _began(track)))
        numbers.update({track.key: number for number, track in enumerate(members, 1)})
    ordered = sorted({root.key: root for root in roots.values()}.values(), key=_began)
    return numbers, {root.key: rank for rank, root in enumerate(ordered, 1)}


def _began(track: Track) -> tuple[int, int, Name, str]:
    return track.first.time, track.first.stamp.resource_version or 0, *track.key


def _track_row(
    source: Source, world: World, track: Track, root: Track, numbers: dict[Any, int], ranks: dict[Any, int]
) -> tuple[Any, ...]:
    ref, until = track.ref, track.until
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
        numbers[track.key],
        numbers[world.incarnations(track.name)[0].key],
        ranks[root.key],
        began + (f"{moment(until).isoformat()}]" if until else ")"),
        lifeline(track),
    )


def lifeline(track: Track) -> str:
    """[[time, revision, change, action, facts or null where they stand still], …] as JSON; times in microseconds."""
    rows = []
    held: Facts | None = None
    for each in track.moments:
        revision = each.stamp.resource_version
        facts = None if each.facts is held else msgspec.to_builtins(each.facts)
        rows.append([each.time, revision and str(revision), each.change.value, each.action, facts])
        held = each.facts
    return _json(rows)


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
    width = max(1, (world.last - world.first) / SLICES)
    counts = [0] * SLICES
    for track in world.tracks():
        if track.family not in NOISE:
            for each in track.moments:
                counts[min(SLICES - 1, int((each.time - world.first) / width))] += 1
    source.histogram = counts
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
