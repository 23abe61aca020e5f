"""Write the changes that somebody meant, which are derived from the entries, to their table."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from psycopg import sql

from timeline.core.entries import moment
from timeline.history.lifelines import Key, Track
from timeline.history.packing import ENTRIES, Packer
from timeline.history.world.world import World
from timeline.judging.incidents.intents import IntentChange, intent_changes
from timeline.models import IntentChange as Row
from timeline.models import Source
from timeline.storage.copying import append, as_json, as_text

_TABLE = sql.Identifier("timeline_intent_change")
_COLUMNS = ("source_id", "at", "track", "number", "lane", "namespace", "wide", "grade", "document")


def rows_of(source: Source, world: World) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that follow from the world of a recording."""
    packer = Packer(ENTRIES)
    return (row for track in world.tracks() for row in _rows(source, world, track, packer))


def write(source: Source, rows: Iterable[tuple[Any, ...]]) -> None:
    """Replace all rows of a recording by these."""
    Row.objects.filter(source=source).delete()
    append(_TABLE, _COLUMNS, rows)


class LiveChanges:
    """Write the rows of a live source for the tracks that a batch has changed."""

    def __init__(self, source: Source, world: World) -> None:
        self._source = source
        self._world = world
        self._written: dict[Key, list[IntentChange]] = {}

    def write(self, changed: Iterable[Track]) -> None:
        source, world = self._source, self._world
        fresh: list[tuple[Track, list[IntentChange]]] = []
        for track in changed:
            changes = intent_changes(track, world)
            if changes != self._written.get(track.key, []):
                fresh.append((track, changes))
        if not fresh:
            return
        # A worker that has just taken over the source does not know what was written before.
        lanes, tracks = {world.lane(track) for track, _ in fresh}, {world.number(track) for track, _ in fresh}
        Row.objects.filter(source=source, lane__in=lanes, track__in=tracks).delete()
        packer = Packer(ENTRIES)
        rows = (row for track, changes in fresh for row in _rows(source, world, track, packer, changes))
        append(_TABLE, _COLUMNS, rows)
        self._written.update((track.key, changes) for track, changes in fresh)

    def forget(self, key: Key) -> None:
        """Forget a track that ended long ago. Its rows stay."""
        self._written.pop(key, None)


def _rows(
    source: Source, world: World, track: Track, packer: Packer, changes: list[IntentChange] | None = None
) -> Iterator[tuple[Any, ...]]:
    for number, change in enumerate(intent_changes(track, world) if changes is None else changes):
        yield (
            source.pk,
            moment(change.time).isoformat(),
            world.number(track),
            number,
            world.lane(track),
            as_text(change.ref.namespace),
            change.wide,
            change.grade,
            packer.pack(as_json(change).encode()),
        )


def change_of(document: Any) -> IntentChange:
    return msgspec.convert(document, IntentChange)
