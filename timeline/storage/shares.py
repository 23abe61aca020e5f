"""This module stores how many changes each namespace of a source has, which readers of some namespaces get in place of
those of the whole source."""

from collections import Counter

from psycopg import sql

from timeline.history.packing import ENTRIES, Packer
from timeline.history.world import World
from timeline.layout import outline
from timeline.models import Share, Source
from timeline.storage.copying import as_json, as_text, upsert

_COLUMNS = ("source_id", "namespace", "changes", "histogram")


def write(source: Source, world: World) -> list[int]:
    """Write the rows of all namespaces of a world, in place of those that are stored. Return the histogram of all."""
    counts = outline.histograms(world)
    changes = Counter[str]()
    for track in world.tracks():
        changes[track.ref.namespace] += len(track.moments)
    packer = Packer(ENTRIES)
    rows = [
        (source.pk, as_text(namespace), changes[namespace], packer.pack(as_json(counts[namespace]).encode()))
        for namespace in counts
    ]
    Share.objects.filter(source=source).exclude(namespace__in=[row[1] for row in rows]).delete()
    upsert(sql.Identifier("timeline_share"), _COLUMNS, ("source_id", "namespace"), rows)
    return outline.together(counts.values())
