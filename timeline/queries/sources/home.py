"""Read the recordings of the home page."""

from dataclasses import dataclass

from django.db import connection

from timeline.core.entries import microseconds
from timeline.judging.findings import Severity
from timeline.models import Source
from timeline.payloads.recordings import RecordingPayload, RecordingsPayload
from timeline.queries.sources.extents import (
    SEVERITIES,
    SourceRow,
    resting_sources,
    source,
    sources_before,
    these_sources,
)
from timeline.queries.window.histograms import histograms

_PLACES = 120  # the number of different positions of ticks above a histogram


@dataclass(frozen=True)
class RecordingCard:
    """What the home page shows of a recording."""

    source: SourceRow
    histogram: list[int]
    ended: str  # why a source that a cluster fed has ended; else ""
    ticks: list[tuple[Severity, float]]  # where findings are, as a fraction of the time covered; errors come last


def newest_recordings(limit: int) -> list[RecordingCard]:
    """Return the cards of the newest recordings, without sources that a cluster feeds now."""
    return _cards(resting_sources(limit))


def recording_cards(sources: list[int]) -> dict[int, RecordingCard]:
    """Return the cards of these sources, by id."""
    return {row.source.id: row for row in _cards(these_sources(sources))}


def _cards(rows: list[SourceRow]) -> list[RecordingCard]:
    numbers = [row.id for row in rows]
    stored = list(Source.objects.filter(pk__in=numbers).only("histogram", "ended"))
    changes = histograms(stored)
    more = {source.pk: (changes[source.pk], source.ended) for source in stored}
    ticks = _ticks(numbers)
    return [RecordingCard(row, *more.get(row.id, ([], "")), ticks.get(row.id, [])) for row in rows]


def _ticks(sources: list[int]) -> dict[int, list[tuple[Severity, float]]]:
    query = f"""
        SELECT DISTINCT source_id, rank, least({_PLACES}, floor({_PLACES} * coalesce(
            extract(epoch FROM found.first - source.first) / nullif(extract(epoch FROM source.last - source.first), 0),
            0)))::int AS place
        FROM timeline_occurrence AS found JOIN timeline_source AS source ON source.id = source_id
        WHERE source_id = ANY(%s)
        ORDER BY source_id, rank DESC, place"""
    ticks: dict[int, list[tuple[Severity, float]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(query, [sources])
        for source_id, rank, place in cursor:
            ticks.setdefault(source_id, []).append((SEVERITIES[rank], place / _PLACES))
    return ticks


def recording(source_id: int) -> RecordingPayload:
    """Return one recording. Raises Source.DoesNotExist."""
    if (row := source(source_id)) is None:
        raise Source.DoesNotExist
    return _payload(row)


def recordings(cursor: int | None, limit: int, only: list[int] | None = None) -> RecordingsPayload:
    """Return a page of recordings, the newest first. `cursor` is the `next` of the page before. With `only`, these are
    recordings with these ids."""
    rows = sources_before(cursor, limit + 1, only)
    more = len(rows) > limit
    return {"sources": [_payload(row) for row in rows[:limit]], "next": rows[limit - 1].id if more else None}


def _payload(row: SourceRow) -> RecordingPayload:
    return {
        "id": row.id,
        "name": row.name,
        "created": microseconds(row.created),
        "entries": row.entries,
        "skipped": row.skipped,
        "first": microseconds(row.first) if row.first else None,
        "last": microseconds(row.last) if row.last else None,
        "errors": row.errors,
        "warnings": row.warnings,
        "infos": row.infos,
        "url": f"/sources/{row.id}/",
    }
