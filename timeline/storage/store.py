"""Writes to PostgreSQL: rows by COPY into a temporary table, then one statement that inserts or updates them."""

import itertools
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from django.db import DatabaseError, ProgrammingError, connection, transaction
from psycopg import sql

from timeline.core.entries import Mark, ObjectRef, moment
from timeline.history.lifelines import Track, name_of
from timeline.history.packing import LIFELINES, Packer
from timeline.history.world import World
from timeline.judging.findings import Finding as Found
from timeline.judging.rulebook import VERSION
from timeline.kinds import kind_of
from timeline.layout import outline, places
from timeline.layout.arrangement import Arrangement
from timeline.models import Finding, Gap, Occurrence, Source, Strip
from timeline.payloads import documents, occurrences
from timeline.payloads.findings import ToldPayload
from timeline.storage import chunks

TRACK = (
    "source_id", "id", "lane", "root", "strip", "place", "number", "span", "changed", "life", "family", "group",
    "version", "kind", "namespace", "name", "uid", "lifeline", "owner", "needs", "addresses",
)  # fmt: skip
STRIP = (
    "source_id", "place", "root", "family", "group", "kind", "namespace", "name", "members", "span", "changed",
)  # fmt: skip
FINDING = (
    "source_id", "identity", "rule", "severity", "namespace", "subject", "root", "tracks", "first", "last", "document",
    "occurrences", "withdrawn",
)  # fmt: skip
_OCCURRENCE = (
    "source_id", "key", "rank", "rule", "namespace", "families", "words", "tracks", "first", "last",
    "findings",
)  # fmt: skip


NAME_LENGTH = 253  # of a source, characters


def open_source(name: str, owner: int | None = None) -> Source:
    """A new source with tables of its own for its entries and tracks; not shown before its first import is done.

    They become partitions only then: who writes to a partition locks all others against coming and going.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        source = Source.objects.create(name=name, owner_id=owner, judged=VERSION)
        chunks.open_table(source)
        cursor.execute(
            sql.SQL("CREATE TABLE {} (LIKE timeline_track INCLUDING STORAGE, CHECK (source_id = {}))").format(
                track_table(source), sql.Literal(source.pk)
            )
        )
    return source


def open_again(source: Source) -> World:
    """Make a source that is shown ready to take in more; the world as it was stored."""
    chunks.drop_leftovers(source)
    world = World()
    for _ in world.learn(chunks.observations(source.pk)):
        pass
    with transaction.atomic():
        chunks.open_table(source)
    return world


def close_again(source: Source) -> None:
    """Give back the space of an import that failed, as far as the database can be reached; else the next one does."""
    if source.ready:
        with suppress(DatabaseError):
            chunks.drop_leftovers(source)
            source.refresh_from_db()


def show_source(source: Source) -> None:
    """An import is done."""
    with transaction.atomic(), connection.cursor() as cursor:
        chunks.attach(source)
        if not source.ready:
            cursor.execute(
                sql.SQL("ALTER TABLE timeline_track ATTACH PARTITION {} FOR VALUES IN ({})").format(
                    track_table(source), sql.Literal(source.pk)
                )
            )
        cursor.execute(sql.SQL("ANALYZE {}").format(track_table(source)))
        source.ready = True
        source.save(update_fields=["ready", "table"])


def discard_source(source: Source, patience: int = 60) -> None:
    """The source and all that was stored of it; its space is given back at once.

    Raises OperationalError when somebody still writes to it after `patience` seconds.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{patience}s"])
        chunks.drop(source)
        cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(track_table(source)))
        source.delete()


def track_table(source: Source) -> sql.Identifier:
    return sql.Identifier(f"timeline_track_{source.pk}")


class Overtaken(Exception):
    """Another import has changed the source meanwhile, or somebody has deleted it."""


def hold(source: Source, stored: int) -> None:
    """Nobody else may change the source until the transaction ends. Raises Overtaken where somebody has, since `stored`
    entries were in it."""
    if not Source.objects.select_for_update().filter(pk=source.pk, stored=stored).exists():
        raise Overtaken(f"Another import has changed {source.name} meanwhile.")


def hold_again(source: Source) -> None:
    """The same where nothing new was written before. Whoever deletes a source removes its tables first and its row
    last, so the tables are held first here, too: else each of the two could wait for the other."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql.SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE").format(track_table(source)))
        except ProgrammingError as error:
            raise Overtaken(f"{source.name} was deleted meanwhile.") from error
    hold(source, source.stored)


def write_tracks(source: Source, world: World) -> None:
    """All tracks: what changes one may change the creation numbers and the rank of the others."""
    order = Arrangement.of(world)
    lanes, strips = order.lanes(), order.strips()
    source.census, source.tide = outline.census(lanes), outline.tide(world, lanes)._asdict()
    packer = Packer(LIFELINES)
    rows = (row for lane in lanes for row in track_rows(source, world, lane, order, packer))
    if source.ready:
        upsert(track_table(source), TRACK, ("source_id", "id"), rows)
        lives = [world.number(track) for lane in lanes for track in lane.tracks]
        with connection.cursor() as cursor:  # lives that an older version told apart otherwise
            cursor.execute(sql.SQL("DELETE FROM {} WHERE id <> ALL(%s)").format(track_table(source)), [lives])
    else:  # the table has no index yet
        _fill(track_table(source), TRACK, rows)
    Strip.objects.filter(source=source).exclude(place__in=[strip.place for strip in strips]).delete()
    upsert(
        sql.Identifier("timeline_strip"),
        STRIP,
        ("source_id", "place"),
        [strip_row(source, world, strip, order) for strip in strips],
    )


def track_rows(
    source: Source, world: World, lane: places.Lane, order: Arrangement, packer: Packer
) -> Iterator[tuple[Any, ...]]:
    root = order.root(lane.tracks[0])
    whole: tuple[str | None, ...] = _span(lane.tracks) if len(lane.tracks) > 1 else ()
    for track in lane.tracks:
        ref, life = track.ref, _range(track.first.time, track.until)
        whole = whole or (life, moment(track.last.time).isoformat())
        yield (
            source.pk,
            world.number(track),
            world.lane(track),
            world.number(root),
            lane.strip,
            lane.place,
            order.number(track),
            *whole,
            life,
            track.family,
            _text(ref.group),
            _text(ref.version),
            _text(ref.kind),
            _text(ref.namespace),
            _text(ref.name),
            _text(ref.uid),
            packer.pack(_json(outline.lifeline(track, plain=_as_it_is)).encode()),
            world.number(owner) if (owner := world.owner_of(track)) else 0,
            _array(world.lanes_of(track.references())),
            _array(track.addresses()),
        )
        whole = None, None


def _array(values: Iterable[int] | Iterable[str]) -> str:
    """Numbers or IP addresses as PostgreSQL reads an array of them."""
    return f"{{{','.join(map(str, values))}}}"


def strip_row(source: Source, world: World, strip: places.Strip, order: Arrangement) -> tuple[Any, ...]:
    tracks = [track for lane in strip.lanes for track in lane.tracks]
    ref = tracks[0].ref
    return (
        source.pk,
        strip.place,
        world.number(order.root(tracks[0])),
        tracks[0].family,
        _text(ref.group),
        _text(ref.kind),
        _text(ref.namespace),
        _text(strip.owner.ref.name),
        len(strip.lanes),
        *_span(tracks),
    )


def _span(tracks: list[Track]) -> tuple[str, str]:
    """From when until when they lived, and when they changed last."""
    return _range(*outline.span(tracks)), moment(max(track.last.time for track in tracks)).isoformat()


def _range(start: int, end: int | None) -> str:
    return f"[{moment(start).isoformat()}," + (f"{moment(end).isoformat()}]" if end is not None else ")")


def write_findings(source: Source, world: World, findings: Iterable[Found]) -> None:
    """Store all findings of a recording in place of those that were stored before."""
    rows = [finding_row(source, world, found) for found in findings]
    gone, _ = Finding.objects.filter(source=source).exclude(identity__in=[row[1] for row in rows]).delete()
    if upsert(sql.Identifier("timeline_finding"), FINDING, ("source_id", "identity"), rows) or gone:
        write_occurrences(source)


def finding_row(source: Source, world: World, found: Found) -> tuple[Any, ...]:
    proofs = [proof.ref for each in found.occurrences for proof in each.proof]
    named = [found.subject, *proofs, *found.affects, *([found.other] if found.other else [])]
    # It is shown with its subject; where none stands (a Lease only named), with its first proof.
    subject = next(track for ref in named if (track := world.track((name_of(ref), ref.uid))))
    return (
        source.pk,
        found.id,
        found.rule,
        found.severity,
        _text(found.subject.namespace),
        world.id_of(subject.ref),
        world.id_of(places.root_of(world, subject).ref),
        sorted({number for ref in named for number in _lives(ref, world)}),
        moment(found.occurrences[0].first),
        moment(found.occurrences[-1].last),
        _json(documents.finding(found)),
        _json([occurrences.occurrence(found, each, world.id_of) for each in found.occurrences]),
        False,
    )


def _lives(ref: ObjectRef, world: World) -> Iterable[int]:
    """The tracks that are meant: the very life, or all of that name where none is told."""
    if number := world.id_of(ref):
        return [number]
    return [number for track in world.incarnations(name_of(ref)) if (number := world.id_of(track.ref))]


def write_occurrences(
    source: Source, rules: Iterable[str] | None = None, changed: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """Write the list of findings anew from the stored findings: of some rules, or of all.

    Return the keys of its rows that changed, which are also those of the findings with a `changed` identity, and the
    keys of those that are gone.
    """
    of_rules = {} if rules is None else {"rule__in": list(rules)}
    findings = Finding.objects.filter(source=source, withdrawn=False, **of_rules)
    stored = findings.values_list("subject", "root", "document", "occurrences")
    rows = occurrences.rows(itertools.starmap(occurrences.StoredFinding, stored), f"/sources/{source.pk}/findings/")
    before = Occurrence.objects.filter(source=source, **of_rules)
    gone = list(before.exclude(key__in=[row.payload["key"] for row in rows]).values_list("key", flat=True))
    before.filter(key__in=gone).delete()
    written = upsert(
        sql.Identifier("timeline_occurrence"),
        _OCCURRENCE,
        ("source_id", "key"),
        [occurrence_row(source, row) for row in rows],
    )
    told_otherwise = {
        row.payload["key"] for row in rows if any(each["id"] in changed for each in row.payload["findings"])
    }
    return sorted({*written, *told_otherwise}), gone


def occurrence_row(source: Source, row: occurrences.Row) -> tuple[Any, ...]:
    payload, drawn = row
    subjects = [found["subject"] for found in payload["findings"]]
    proofs = {proof["track"] for _, each in drawn for proof in each["proof"] if proof["track"]}
    return (
        source.pk,
        payload["key"],
        occurrences.rank(payload["severity"]),
        payload["rule"],
        payload["namespace"],
        sorted({kind_of(subject["group"], subject["kind"]).family for subject in subjects}),
        " ".join([payload["summary"], *(subject["name"] for subject in subjects)]).lower(),
        sorted(proofs | {subject for subject, _ in drawn}),
        moment(payload["start"]),
        moment(payload["end"]),
        list(dict.fromkeys(found["id"] for found in payload["findings"])),
    )


def write_reach(source: Source, world: World) -> None:
    """How much there is of it, and from when until when."""
    source.entries = sum(seen.changes for seen in world.seen.values())
    if source.entries:
        source.first, source.last = moment(world.first), moment(world.last)
    source.save(update_fields=["entries", "stored", "sequence", "first", "last", "redacted"])


def write_source(source: Source, world: World, told: ToldPayload) -> None:
    """The same, and the sums over all of it."""
    source.histogram = outline.histogram(world)
    source.told = told
    source.own_counters = world.own_counters
    source.save(update_fields=["histogram", "census", "tide", "told", "own_counters", "judged"])
    write_reach(source, world)


def write_gaps(source: Source, gaps: Iterable[Mark]) -> None:
    """When kinds were not observed; those that are known already stay as they are."""
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


def upsert(
    target: sql.Identifier, columns: tuple[str, ...], keys: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
) -> list[Any]:
    """COPY into a temporary table, then INSERT … ON CONFLICT DO UPDATE what differs; the last key of these."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    fresh = sql.Identifier("fresh")
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
                " DO UPDATE SET {4} WHERE ({5}) IS DISTINCT FROM ({6}) RETURNING {7}"
            ).format(
                target,
                names,
                fresh,
                sql.SQL(", ").join(map(sql.Identifier, keys)),
                updates,
                before,
                after,
                sql.SQL("{}.{}").format(target, sql.Identifier(keys[-1])),
            )
        )
        changed = [key for (key,) in cursor.fetchall()]
        cursor.execute(sql.SQL("DROP TABLE {}").format(fresh))
    return changed


def _fill(target: sql.Identifier, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """COPY into a table, in the place of all that is in it."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DELETE FROM {}").format(target))
        with connection.wrap_database_errors, cursor.copy(_copy_into(target, columns)) as copy:
            for row in rows:
                copy.write_row(row)


def _as_it_is(value: Any) -> Any:
    return value  # it is made JSON with all the rest


def _copy_into(table: sql.Identifier, columns: tuple[str, ...]) -> sql.Composed:
    return sql.SQL("COPY {} ({}) FROM STDIN").format(table, sql.SQL(", ").join(map(sql.Identifier, columns)))


def _json(value: Any) -> str:
    """JSON that PostgreSQL's jsonb takes: it knows no NUL character."""
    return msgspec.json.encode(value).decode().replace("\\u0000", "\\ufffd")


def _text(value: str) -> str:
    return value.replace("\0", "\ufffd")
