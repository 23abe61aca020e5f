"""Read how much room the sources take in the database, as it was measured (see `timeline.storage.keeping.usage`)."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from timeline.core.entries import microseconds
from timeline.models import Source
from timeline.payloads.usage import RetentionPayload, SourceUsagePayload, UsagePayload
from timeline.storage.keeping import periods as keeping

PAGE = 20  # sources on one page
_SUM = "chunks + tracks + findings + logs + evidence"


@dataclass(frozen=True)
class UsageRow:
    """The latest measurement of a source, with what keeps and what ends it."""

    source: int
    name: str
    owner: int | None
    cluster: int | None  # the cluster that feeds it or has fed it, until that is disconnected
    cluster_name: str
    keep_days: int | None  # of a recording (see `Source.keep_days`)
    hold: str  # the reason of the legal hold that keeps it; "" if none does
    held_with_cluster: bool  # whether that is the hold of its cluster
    first: datetime | None
    at: datetime | None  # None if it was not measured yet; all sizes are 0 then
    entries: int
    chunks: int
    tracks: int
    findings: int
    logs: int
    evidence: int
    bytes: int
    share: float  # of what all sources take, from 0 to 1
    growth: int | None  # bytes a day, since the measurement about a day before; None if there is none


_QUERY = f"""
    WITH latest AS (
        SELECT DISTINCT ON (source_id) *, {_SUM} AS bytes FROM timeline_usage ORDER BY source_id, day DESC
    )
    SELECT source.id, source.name, source.owner_id, source.cluster_id, coalesce(cluster.name, ''), source.keep_days,
           coalesce(own.reason, whole.reason, ''), own.id IS NULL AND whole.id IS NOT NULL, source.first,
           latest.at, coalesce(latest.entries, source.entries), coalesce(latest.chunks, 0),
           coalesce(latest.tracks, 0), coalesce(latest.findings, 0), coalesce(latest.logs, 0),
           coalesce(latest.evidence, 0), coalesce(latest.bytes, 0) AS total,
           coalesce(latest.bytes / nullif((SELECT sum(bytes) FROM latest), 0), 0)::float,
           ((latest.bytes - earlier.bytes) / (extract(epoch FROM latest.at - earlier.at) / 86400))::bigint
    FROM timeline_source AS source
    LEFT JOIN timeline_cluster AS cluster ON cluster.id = source.cluster_id
    LEFT JOIN timeline_hold AS own ON own.source_id = source.id
    LEFT JOIN timeline_hold AS whole ON whole.cluster_id = source.cluster_id
    LEFT JOIN latest ON latest.source_id = source.id
    LEFT JOIN LATERAL (
        SELECT at, {_SUM} AS bytes FROM timeline_usage
        WHERE source_id = source.id AND day < latest.day ORDER BY day DESC LIMIT 1
    ) AS earlier ON TRUE
    WHERE source.ready AND source.delete_after IS NULL
    ORDER BY total DESC, source.id DESC LIMIT %s OFFSET %s"""


def usage(page: int = 1) -> list[UsageRow]:
    """Return a page of the sources, those first that take the most; one row more than a page if there is another."""
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, [PAGE + 1, PAGE * (page - 1)])
        return [UsageRow(*row) for row in cursor]


def usage_payload(page: int = 1) -> UsagePayload:
    """Return the same for programs, with the number of the next page."""
    rows = usage(page)
    return UsagePayload(sources=[_payload(row) for row in rows[:PAGE]], next=page + 1 if len(rows) > PAGE else None)


def retention_payload(source: Source) -> RetentionPayload:
    """Return how long a recording is kept."""
    end = keeping.deleted_on(source)
    return RetentionPayload(days=source.keep_days, deleted_on=microseconds(end) if end else None)


def _payload(row: UsageRow) -> SourceUsagePayload:
    return SourceUsagePayload(
        source=row.source,
        name=row.name,
        measured=microseconds(row.at) if row.at else None,
        entries=row.entries,
        bytes=row.bytes,
        chunks=row.chunks,
        tracks=row.tracks,
        findings=row.findings,
        logs=row.logs,
        evidence=row.evidence,
        share=row.share,
        growth=row.growth,
        hold=row.hold,
    )
