"""Store which old copies of objects somebody acted on, which is derived from the entries.

Most objects have none. So they cost no room in most sources, and windows of these ask for none.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from psycopg import sql

from timeline.history.packing import ENTRIES, Packer
from timeline.history.world.world import World
from timeline.judging.findings import Finding
from timeline.models import ObjectView, Source
from timeline.payloads.views import acted_on, views
from timeline.storage.copying import as_json, upsert

OBJECTS = 2000  # the most objects of a source whose views are stored
_TABLE = sql.Identifier("timeline_object_view")
_COLUMNS = ("source_id", "track", "document")


def write(source: Source, world: World, found: Iterable[Finding], *, all_judged: bool = True) -> None:
    """Write the views of the objects that these findings show; with `all_judged`, in place of all that are stored."""
    if all_judged:
        ObjectView.objects.filter(source=source).delete()
    rows = list(_rows(source, world, found))
    if rows:
        upsert(_TABLE, _COLUMNS, ("source_id", "track"), rows)
    if rows or all_judged:
        source.views = ObjectView.objects.filter(source=source).count()
        source.save(update_fields=["views"])


def _rows(source: Source, world: World, found: Iterable[Finding]) -> Iterator[tuple[Any, ...]]:
    packer = Packer(ENTRIES)
    for owner in acted_on(found, world)[:OBJECTS]:
        if shown := views(owner, world, world.number):
            yield source.pk, world.number(owner), packer.pack(as_json(shown).encode())
