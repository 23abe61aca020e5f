"""Read the health of live sources for the messages that pages receive."""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Literal

import orjson
from django.db import connection
from django.db.models import Count, DateTimeField, DurationField, ExpressionWrapper, F, Func

from timeline.core.entries import microseconds
from timeline.models import Delta, FreedSpan, Gap, Source, Stream
from timeline.payloads.live import HealthPayload
from timeline.queries.sources.clusters import without_places

State = Literal["waiting", "connecting", "live", "failing", "paused", "ended"]


def live_health(sources: Iterable[int]) -> dict[int, HealthPayload]:
    """Return the health of live sources, by id. Deleted sources and recordings are left out."""
    wanted = list(sources)
    query = """
        SELECT source.id, source.sequence, source.entries, source.ended, cluster.source_id = source.id AS current,
               cluster.paused, coalesce(cluster.expires_at > clock_timestamp(), FALSE) AS held, cluster.state,
               cluster.error, cluster.reference, source.last
        FROM timeline_source AS source LEFT JOIN timeline_cluster AS cluster ON cluster.id = source.cluster_id
        WHERE source.id = ANY(%s) AND source.delete_after IS NULL
          AND (source.cluster_id IS NOT NULL OR source.sequence > 0)"""
    with connection.cursor() as cursor:
        cursor.execute(query, [wanted])
        rows = cursor.fetchall()
    passed = ExpressionWrapper(
        Func(function="clock_timestamp", output_field=DateTimeField()) - F("at"), DurationField()
    )
    newest = Delta.objects.filter(pk__in=[(row[0], row[1]) for row in rows]).annotate(passed=passed)
    silent = {
        source: round(since / timedelta(microseconds=1)) for source, since in newest.values_list("source", "passed")
    }
    streams = Stream.objects.filter(source__in=wanted, listed_at__isnull=True)
    listing: dict[int, list[str]] = {}
    for source, resource in streams.filter(state__in=["waiting", "listing"]).values_list("source", "resource"):
        listing.setdefault(source, []).append(resource)
    gaps: Counter[int] = Counter()
    freed = FreedSpan.objects.filter(source__in=wanted, since__gte=F("source__first"))  # not the deleted beginning
    for rows_of_gaps in (Gap.objects.filter(source__in=wanted), freed):
        gaps.update(dict(rows_of_gaps.values_list("source").annotate(count=Count("*")).order_by()))
    found = {}
    for source, sequence, entries, ended, current, paused, held, state, error, reference, last in rows:
        hidden = without_places(error or "", orjson.loads(reference or "{}"))
        shown, why = _state(ended, current, paused, held, state, hidden)
        found[source] = HealthPayload(
            type="health",
            sequence=sequence,
            state=shown,
            error=why,
            listing=sorted(listing.get(source, ())),
            entries=entries,
            gaps=gaps[source],
            silent=max(0, silent[source]) if source in silent else None,
            last=last and microseconds(last),
        )
    return found


def _state(ended: str, current: Any, paused: bool, held: bool, state: str, error: str) -> tuple[State, str]:
    if ended or not current:
        return "ended", ended or "Its cluster is not watched any more."
    if paused:
        return "paused", ""
    if not held or state == "waiting":
        return "waiting", ""
    if state == "failing":
        return "failing", error
    return ("live" if state == "live" else "connecting"), ""


def live_state(source_id: int) -> tuple[bool, str]:
    """Return whether a cluster feeds the source, and, if one no longer does, the reason."""
    row = Source.objects.filter(pk=source_id).values_list("cluster", "ended").first()
    if row is None:
        return False, ""
    cluster, ended = row
    return bool(cluster) and not ended, ended


def gap_count(source_id: int) -> int:
    """Count the gaps of a source, and the freed spans after its beginning."""
    freed = FreedSpan.objects.filter(source=source_id, since__gte=F("source__first"))
    return Gap.objects.filter(source=source_id).count() + freed.count()
