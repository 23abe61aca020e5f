"""Write sources, tracks, strips and gaps to PostgreSQL, and create and delete sources."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from django.db import DatabaseError, ProgrammingError, connection, transaction
from psycopg import sql

from timeline.core.entries import Mark, moment
from timeline.core.machine.spill import Spilling
from timeline.history.lifelines import Track
from timeline.history.packing import Packer
from timeline.history.world.world import World
from timeline.judging.rulebook import VERSION
from timeline.layout import outline, places
from timeline.models import Gap, Source
from timeline.payloads.findings import SourceDocumentPayload
from timeline.storage.copying import as_json, as_text
from timeline.storage.entries import chunks, shares, tables

TRACK = (
    "source_id", "id", "lane", "root", "strip", "place", "number", "span", "changed", "life", "family", "group",
    "version", "kind", "namespace", "name", "uid", "lifeline", "owner", "needs", "addresses",
    "creator", "writers", "clues", "unnamed",
)  # fmt: skip
STRIP = (
    "source_id", "place", "root", "family", "group", "kind", "namespace", "name", "members", "span", "changed",
)  # fmt: skip

NAME_LENGTH = 253  # the most characters of the name of a source


def open_source(name: str, owner: int | None = None) -> Source:
    """Create a source with its own tables for entries and tracks. It is not shown before its first import is done.

    The tables become partitions only at the end of the import, since a transaction that writes to a partition blocks
    others that attach or drop one.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        source = Source.objects.create(name=name, owner_id=owner, judged=VERSION)
        tables.open_table(source)
        cursor.execute(
            sql.SQL("CREATE TABLE {} (LIKE timeline_track INCLUDING STORAGE, CHECK (source_id = {}))").format(
                track_table(source), sql.Literal(source.pk)
            )
        )
    return source


def open_again(source: Source, spilling: Spilling | None = None) -> World:
    """Prepare a stored source for another import; return a world that has learned its entries."""
    tables.drop_leftovers(source)
    world = World(spilling=spilling)
    for _ in world.learn(chunks.observations(source.pk)):
        pass
    with transaction.atomic():
        tables.open_table(source)
    return world


def close_again(source: Source) -> None:
    """Drop the tables of a failed import. If the database cannot be reached, the next import drops them."""
    if source.ready:
        with suppress(DatabaseError):
            tables.drop_leftovers(source)
            source.refresh_from_db()


def show_source(source: Source) -> None:
    """End an import: its tables become partitions, and the source is shown."""
    with transaction.atomic(), connection.cursor() as cursor:
        tables.attach(source)
        if not source.ready:
            cursor.execute(
                sql.SQL("ALTER TABLE timeline_track ATTACH PARTITION {} FOR VALUES IN ({})").format(
                    track_table(source), sql.Literal(source.pk)
                )
            )
        else:
            cursor.execute(sql.SQL("ANALYZE {}").format(track_table(source)))
        source.ready = True
        source.save(update_fields=["ready", "table"])


def discard_source(source: Source, patience: int = 60) -> None:
    """Delete a source and everything that was stored of it, which frees its space immediately.

    Raises OperationalError if somebody still writes to it after `patience` seconds.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{patience}s"])
        tables.drop(source)
        cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(track_table(source)))
        source.delete()


def track_table(source: Source) -> sql.Identifier:
    return sql.Identifier(f"timeline_track_{source.pk}")


_SKIPS = 10_000  # skipped pieces whose reason is kept


_HOLD = "SELECT FROM timeline_source WHERE id = %s AND stored = %s AND delete_after IS NULL FOR NO KEY UPDATE"

_REACH = (
    "UPDATE timeline_source SET entries = %s, stored = %s, sequence = %s, divided = %s, first = %s, last = %s,"
    " redacted = %s WHERE id = %s"
)


class Overtaken(Exception):
    """Another import has changed the source meanwhile, or the source was deleted."""


def hold(source: Source, stored: int) -> None:
    """Keep others from changing the source until the current transaction ends.

    `stored` is the number of entries that it should have; raises Overtaken if it has another number. Rows that refer to
    the source can still be added: retention adds a freed span while it keeps tables locked that a worker wants next.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, [source.pk, stored])
        held = cursor.rowcount
    if not held:
        raise Overtaken(f"Another import has changed {source.name} meanwhile.")


def hold_again(source: Source) -> None:
    """Keep others from changing the source, as `hold` does, in a transaction that writes no entries.

    A deletion removes the tables first and the row last. The table is locked before the row here, too, to avoid a
    deadlock. Raises Overtaken if the source was changed or deleted.
    """
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql.SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE").format(track_table(source)))
        except ProgrammingError as error:
            raise Overtaken(f"{source.name} was deleted meanwhile.") from error
    hold(source, source.stored)


def track_rows(
    source: Source,
    world: World,
    lane: places.Lane,
    packer: Packer,
    is_written: Callable[[Track, tuple[object, ...]], bool] = lambda track, others: False,
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the tracks of a lane, with the columns of `TRACK`. Columns that describe the whole lane are
    None in all rows but the first.

    `is_written` returns whether the row of a track is stored already. Its other argument is what the row takes from
    other tracks; all else in it follows from the track alone.
    """
    root = world.number(lane.root)
    unnamed = _array(world.unnamed(lane.tracks))
    whole: tuple[str | None, ...] = _span(lane.tracks) if len(lane.tracks) > 1 else ()
    writers = outline.other_writers(lane.tracks)
    for track, number in zip(lane.tracks, lane.numbers, strict=True):
        owner = world.owner_of(track)
        others = (
            root,
            lane.strip,
            lane.place,
            number,
            whole,
            world.number(owner) if owner else 0,
            _array(world.lanes_of(track.references())),
            unnamed,
            *writers,
        )
        if not is_written(track, others):
            yield _track_row(source, world, track, packer, others[:4], whole, others[5:8], writers)
        whole, writers = (None, None), []


def _track_row(
    source: Source,
    world: World,
    track: Track,
    packer: Packer,
    placed: tuple[object, ...],
    whole: tuple[str | None, ...],
    related: tuple[object, ...],
    writers: list[str],
) -> tuple[Any, ...]:
    """Return the row of a track: `placed` is what the columns from root to number have, `whole` what those of the whole
    lane have, without any if the lane has only this track, and `related` what owner, needs and unnamed have."""
    ref, life = track.ref, _range(track.first.time, track.until)
    root, strip, place, number = placed
    lifeline = outline.lifeline(track, plain=_unchanged)
    return (
        source.pk,
        world.number(track),
        world.lane(track),
        root,
        strip,
        place,
        number,
        *(whole or (life, moment(track.last.time).isoformat())),
        life,
        track.family,
        as_text(ref.group),
        as_text(ref.version),
        as_text(ref.kind),
        as_text(ref.namespace),
        as_text(ref.name),
        as_text(ref.uid),
        packer.pack(as_json(lifeline).encode()),
        *related[:2],
        _array(track.addresses()),
        outline.creator(track),
        writers or None,
        as_text("\n".join(" ".join(clue.split()) for clue in track.clues())),
        related[2],
    )


def _array(values: list[int] | list[str]) -> str | None:
    """Return numbers or IP addresses as a PostgreSQL array; None if there are none."""
    return f"{{{','.join(map(str, values))}}}" if values else None


def strip_row(source: Source, world: World, strip: places.Strip) -> tuple[Any, ...]:
    """Return the row of a strip, with the columns of `STRIP`."""
    tracks = [track for lane in strip.lanes for track in lane.tracks]
    ref = tracks[0].ref
    return (
        source.pk,
        strip.place,
        world.number(strip.lanes[0].root),
        tracks[0].family,
        as_text(ref.group),
        as_text(ref.kind),
        as_text(ref.namespace),
        as_text(strip.owner.ref.name),
        len(strip.lanes),
        *_span(tracks),
    )


def _span(tracks: list[Track]) -> tuple[str, str]:
    """Return the range of time from the beginning of the first of these tracks to the end of the last, and the time of
    their last change, as PostgreSQL reads them."""
    return _range(*outline.span(tracks)), moment(max(track.last.time for track in tracks)).isoformat()


def _range(start: int, end: int | None) -> str:
    return f"[{moment(start).isoformat()}," + (f"{moment(end).isoformat()}]" if end is not None else ")")


def write_reach(source: Source, world: World) -> None:
    """Write the number of entries of a source and the range of time that it covers."""
    source.entries = sum(map(world.changes, world.seen))
    if source.entries:
        source.first, source.last = moment(world.first), moment(world.last)
    source.divided = source.sequence
    reach = source.entries, source.stored, source.sequence, source.divided, source.first, source.last
    with connection.cursor() as cursor:
        cursor.execute(_REACH, [*reach, as_json(source.redacted), source.pk])


def set_aside(source: Source, where: str, reason: str) -> None:
    """Count an observation of a live source that cannot be stored as skipped, and keep the reason, as a sentence, if
    there is room. `where` says how it came."""
    row = Source.objects.select_for_update().only("skips", "skipped").get(pk=source.pk)
    if len(row.skips) < _SKIPS:
        row.skips = [*row.skips, [where, 1, reason]]
    row.skipped += 1
    row.save(update_fields=["skips", "skipped"])


class Totals(NamedTuple):
    """Figures and descriptions of a whole source, which are stored once for it and not for each object."""

    document: SourceDocumentPayload  # describes its coverage
    shares: shares.Shares
    actors: list[tuple[str, int]]


def totals(source: Source, world: World, document: SourceDocumentPayload) -> Totals:
    """Return the totals of a source, without using the database."""
    return Totals(document, shares.added_up(source, world), outline.actors(world))


def write_source(source: Source, world: World, totals: Totals) -> None:
    """Write what `write_reach` writes, and the totals of the source."""
    shares.write(source, totals.shares)
    source.histogram, source.actors, source.document = totals.shares.histogram, totals.actors, totals.document
    source.own_counters = world.own_counters
    source.save(update_fields=["actors", "histogram", "census", "tide", "document", "own_counters", "judged"])
    write_reach(source, world)


def write_gaps(source: Source, gaps: Iterable[Mark]) -> None:
    """Store gaps, without changing those that are stored already."""
    rows = [
        Gap(
            source=source,
            group=gap.group,
            kind=gap.kind,
            since=moment(gap.since),
            until=moment(gap.time),
            since_revision=gap.since_revision,
            revision=gap.revision,
            reason=gap.reason,
        )
        for gap in gaps
    ]
    Gap.objects.bulk_create(rows, ignore_conflicts=True)


def _unchanged(value: Any) -> Any:
    """Return facts unchanged, because they are converted to JSON together with the rest of the row."""
    return value
