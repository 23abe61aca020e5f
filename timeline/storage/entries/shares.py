"""Store how many changes each namespace of a source has. Readers of some namespaces get these numbers in place of those
of the whole source."""

from collections import Counter
from typing import Any, NamedTuple

from psycopg import sql

from timeline.history.packing import ENTRIES, Packer
from timeline.history.world.world import World
from timeline.layout import outline
from timeline.models import Share, Source
from timeline.storage.copying import as_json, as_text, upsert

_COLUMNS = ("source_id", "namespace", "changes", "histogram")


class Shares(NamedTuple):
    """The numbers of changes of a source over time."""

    histogram: list[int]  # of all namespaces together
    rows: list[tuple[Any, ...]]  # of each namespace


def added_up(source: Source, world: World) -> Shares:
    """Return the numbers of changes of a world."""
    counts = outline.histograms(world)
    changes = Counter[str]()
    for track in world.tracks():
        changes[track.ref.namespace] += len(track.moments)
    packer = Packer(ENTRIES)
    rows = [
        (source.pk, as_text(namespace), changes[namespace], packer.pack(as_json(counts[namespace]).encode()))
        for namespace in counts
    ]
    return Shares(outline.together(counts.values()), rows)


def write(source: Source, shares: Shares) -> None:
    """Write the rows of all namespaces of a source, in place of those that are stored."""
    Share.objects.filter(source=source).exclude(namespace__in=[row[1] for row in shares.rows]).delete()
    upsert(sql.Identifier("timeline_share"), _COLUMNS, ("source_id", "namespace"), shares.rows)
