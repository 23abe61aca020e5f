"""Store what each actor of a source did, which is derived from the entries and the findings."""

from collections.abc import Iterable, Iterator
from typing import Any

from psycopg import sql

from timeline.history.packing import ENTRIES, Packer
from timeline.history.world.world import World
from timeline.judging.activity import activities
from timeline.judging.findings import Finding
from timeline.models import ActorRow, Source
from timeline.payloads.actors import ActorRowPayload, actor_row
from timeline.storage.copying import as_json, as_text, upsert

ACTORS = 5000  # the most actors of a source that are kept: those with most writes and refusals
_TABLE = sql.Identifier("timeline_actor_row")
_COLUMNS = (
    "source_id", "identity", "name", "words", "writes", "busiest", "conflicts", "retries", "refused", "lag", "leases",
    "findings", "document",
)  # fmt: skip


def added_up(world: World, found: Iterable[Finding]) -> list[ActorRowPayload]:
    """Return what all actors of a world did, those with most writes and refusals first."""
    known = [actor_row(key, each) for key, each in activities(world, found).items()]
    return sorted(known, key=lambda row: (-(row["writes"] + row["refused"] + _conflicts(row)), row["id"]))


def write(source: Source, known: list[ActorRowPayload]) -> None:
    """Write the rows of actors, as `added_up` returned them, in place of those that are stored."""
    kept = known[:ACTORS]
    ActorRow.objects.filter(source=source).exclude(identity__in=[row["id"] for row in kept]).delete()
    upsert(_TABLE, _COLUMNS, ("source_id", "identity"), _rows(source, kept))
    source.actors_total = len(known)
    source.save(update_fields=["actors_total"])


def _rows(source: Source, kept: Iterable[ActorRowPayload]) -> Iterator[tuple[Any, ...]]:
    packer = Packer(ENTRIES)
    for row in kept:
        words = " ".join((row["name"], row["pod"], row["account"], row["user_agent"], row["process"])).lower()
        yield (
            source.pk,
            row["id"],
            as_text(row["name"]),
            as_text(words),
            row["writes"],
            row["busiest"],
            _conflicts(row),
            row["retries"],
            row["refused"],
            row["worst_lag"] or 0,
            row["leases_total"],
            row["findings"],
            packer.pack(as_json(row).encode()),
        )


def _conflicts(row: ActorRowPayload) -> int:
    return row["stale"] + row["raced"] + row["unclear"]
