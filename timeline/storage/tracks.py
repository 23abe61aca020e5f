"""Write all tracks of a recording to PostgreSQL, with the help of a second processor if there is one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import psycopg
from django.db import connection
from psycopg import sql

from timeline.core.machine import beside
from timeline.core.machine.processors import available_processors
from timeline.history.packing import LIFELINES, Packer
from timeline.history.world.world import World
from timeline.layout import outline
from timeline.layout.arrangement import Arrangement
from timeline.models import Source, Strip
from timeline.storage.copying import copied, copy_into, upsert
from timeline.storage.entries import tables
from timeline.storage.store import STRIP, TRACK, strip_row, track_rows, track_table

_FEWEST = 5_000  # tracks that are worth a copy of the process


class Totals(NamedTuple):
    """What follows from the order of all tracks of a recording besides their rows."""

    census: list[tuple[str, str, int]]
    tide: dict[str, Any]
    strips: list[tuple[Any, ...]]  # the rows of strips


@contextmanager
def writing(source: Source, world: World) -> Iterator[None]:
    """Write all tracks of a recording, since a change of one track may change the numbers and ranks of others.

    With two or more processors, the rows of a new recording are made in a copy of this process during the context,
    and a thread writes them. Therefore the context must not use the database.
    """
    if source.ready or available_processors() < 2 or world.count_of_tracks < _FEWEST:
        yield
        _write(source, world)
        return
    raw: psycopg.Connection[Any] = connection.connection
    with (
        beside.computed(partial(_arranged, source, world)) as rows,
        ThreadPoolExecutor(1, "tracks") as thread,
    ):
        written = thread.submit(_fill, raw, source, rows)
        yield
        try:
            with connection.wrap_database_errors:
                totals = written.result()
        except beside.Broken:
            _write(source, world)
        else:
            _write_totals(source, totals)


def _write(source: Source, world: World) -> None:
    """Write all tracks of a recording; of a stored one, only the rows that differ."""
    if not source.ready:
        with connection.wrap_database_errors:
            totals = _fill(connection.connection, source, _arranged(source, world))
        _write_totals(source, totals)
        return
    arranged = _Arranged(source, world)
    upsert(track_table(source), TRACK, ("source_id", "id"), arranged.rows())
    numbers = [world.number(track) for track in world.tracks()]
    with connection.cursor() as cursor:  # tracks of an older version that are now merged with others
        cursor.execute(sql.SQL("DELETE FROM {} WHERE id <> ALL(%s)").format(track_table(source)), [numbers])
    _write_totals(source, arranged.totals())


class _Arranged:
    """Make the rows of all tracks, and meanwhile what follows from their order."""

    def __init__(self, source: Source, world: World) -> None:
        self._source = source
        self._world = world
        self._order = Arrangement(world)
        self._census, self._tides = outline.Census(), outline.Tides(world)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        packer = Packer(LIFELINES)
        for lane in self._order.lanes():
            self._census.add(lane)
            self._tides.add(lane)
            yield from track_rows(self._source, self._world, lane, packer)

    def totals(self) -> Totals:
        """Return the totals, when all rows were made."""
        strips = [strip_row(self._source, self._world, strip) for strip in self._order.strips()]
        return Totals(self._census.rows(), self._tides.tide()._asdict(), strips)


def _arranged(source: Source, world: World) -> Iterator[Totals | bytes]:
    """Yield the rows of all tracks as COPY reads them, in blocks, and then the totals."""
    arranged = _Arranged(source, world)
    yield from copied(arranged.rows())
    yield arranged.totals()


def _fill(raw: "psycopg.Connection[Any]", source: Source, items: Iterator[Any]) -> Totals:
    """Write what `_arranged` yields to the table of a new recording, which has no indexes yet, and then build these.

    It takes planner statistics, too. If this raises, then the transaction is as it was before.
    """
    totals: Totals | None = None
    with raw.transaction(), raw.cursor() as cursor:
        with cursor.copy(copy_into(track_table(source), TRACK)) as copy:
            for item in items:
                if isinstance(item, Totals):
                    totals = item
                else:
                    copy.write(item)
        tables.build_indexes(cursor, track_table(source), of="timeline_track")
        cursor.execute(sql.SQL("ANALYZE {}").format(track_table(source)))
    assert totals
    return totals


def _write_totals(source: Source, totals: Totals) -> None:
    source.census, source.tide = totals.census, totals.tide
    places = [row[STRIP.index("place")] for row in totals.strips]
    Strip.objects.filter(source=source).exclude(place__in=places).delete()
    upsert(sql.Identifier("timeline_strip"), STRIP, ("source_id", "place"), totals.strips)
