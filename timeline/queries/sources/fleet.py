"""Read all connected clusters and recordings as one table, which is sorted, filtered and read by pages."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from django.db import connection
from django.db.models import Count, F, QuerySet

from timeline.models import Cluster, Source, Stream
from timeline.payloads.clusters import ClusterState
from timeline.payloads.findings import IncidentRowPayload
from timeline.queries.incidents.counts import IncidentCounts, incident_counts, worst_incidents
from timeline.queries.sources.clusters import RATE_OVER, now_of_database, state_of, without_places

PAGE = 50  # rows
MOST = 2000  # recordings that are listed, the newest
FleetSort = Literal["worst", "name", "lag", "ongoing", "incidents", "activity"]
SORTS: tuple[FleetSort, ...] = get_args(FleetSort)
NEWEST = 300  # sources whose newest incidents are listed
_DELTAS = 300  # the latest batches of a source in which its lag is looked for


@dataclass
class FleetRow:
    """A connected cluster, or a recording."""

    name: str
    cluster: int | None
    source: int | None
    state: ClusterState | None  # None for a recording
    error: str = ""
    failing: int = 0  # watches of a cluster that fail
    forbidden: int = 0  # resources that the cluster does not let Causeline watch
    lag: float | None = None  # seconds
    silent: float | None = None  # seconds since the last batch of a cluster
    created: datetime | None = None
    first: datetime | None = None
    last: datetime | None = None  # the last change
    entries: int = 0
    skipped: int = 0
    mostly_skipped: dict[str, list[int]] = field(default_factory=dict)
    ended: str = ""
    counts: IncidentCounts = field(default_factory=IncidentCounts)
    worst: IncidentRowPayload | None = None


@dataclass(frozen=True)
class Fleet:
    """A page of the table."""

    rows: list[FleetRow]
    clusters: int  # that match
    recordings: int  # that match; at most MOST are listed
    ongoing: int  # incidents of these clusters that go on, and that nobody has acknowledged
    page: int  # from 1
    pages: int


@dataclass(frozen=True)
class NamedSource:
    """A source whose incidents are listed."""

    name: str
    last: datetime | None
    live: bool  # whether a cluster feeds it


def newest_sources() -> dict[int, NamedSource]:
    """Return the sources of connected clusters and then the newest recordings, at most NEWEST in all."""
    rows = Source.objects.filter(ready=True).values_list("pk", "name", "last", "current_of")
    ordered = rows.order_by(F("current_of").asc(nulls_last=True), "-created")
    return {pk: NamedSource(name, last, cluster is not None) for pk, name, last, cluster in ordered[:NEWEST]}


def fleet_size() -> tuple[int, int]:
    """Return how many clusters are connected, and how many recordings there are."""
    return Cluster.objects.count(), _recordings().count()


def fleet(sort: FleetSort = "worst", name: str = "", page: int = 1) -> Fleet:
    """Return a page of the clusters and recordings with this in their name. Without another order, clusters come first,
    the worst and then the most active ones, and after them recordings, those that were imported last first."""
    clusters = _cluster_rows(name)
    found = _recordings().filter(name__icontains=name).order_by("-created", "-pk")
    recordings = list(found.only(*_LIGHT)[:MOST])
    total = len(recordings) if len(recordings) < MOST else found.count()
    rows = [*clusters, *(_recording_row(each) for each in recordings)]
    _count(clusters if sort not in ("ongoing", "incidents") else rows)
    rows.sort(key=_KEYS[sort])
    pages = max(1, -(-len(rows) // PAGE))
    page = min(max(1, page), pages)
    shown = rows[(page - 1) * PAGE : page * PAGE]
    _count([row for row in shown if row.cluster is None])
    worst = worst_incidents([row.source for row in shown if row.source is not None])
    for row in shown:
        row.worst = worst.get(row.source or 0)
    return Fleet(shown, len(clusters), total, sum(sum(row.counts.ongoing) for row in clusters), page, pages)


_LIGHT = ("name", "created", "first", "last", "entries", "skipped", "mostly_skipped", "ended")


def _recordings() -> QuerySet[Source]:
    return Source.objects.filter(ready=True, current_of=None)


def _recording_row(source: Source) -> FleetRow:
    return FleetRow(
        source.name,
        None,
        source.pk,
        None,
        created=source.created,
        first=source.first,
        last=source.last,
        entries=source.entries,
        skipped=source.skipped,
        mostly_skipped=source.mostly_skipped,
        ended=source.ended,
    )


def _cluster_rows(name: str) -> list[FleetRow]:
    now = now_of_database()
    columns = ("name", "reference", "paused", "expires_at", "state", "error", "source__entries", "source__last")
    clusters = list(Cluster.objects.filter(name__icontains=name).select_related("source").only(*columns))
    sources = [each.source_id for each in clusters if each.source_id is not None]
    streams: dict[tuple[int, str], int] = {}
    for source, state, count in (
        Stream.objects.filter(source__in=sources).values_list("source", "state").annotate(count=Count("*")).order_by()
    ):
        streams[source, state] = count
    flows = _flows(sources, now)
    rows = []
    for each in clusters:
        number = each.source_id or 0
        lag, silent = flows.get(number, (None, None))
        rows.append(
            FleetRow(
                each.name,
                each.pk,
                each.source_id,
                state_of(each, now),
                error=without_places(each.error, each.reference),
                failing=streams.get((number, "failing"), 0),
                forbidden=streams.get((number, "forbidden"), 0),
                lag=lag,
                silent=silent,
                entries=each.source.entries if each.source else 0,
                last=each.source.last if each.source else None,
            )
        )
    return rows


def _flows(sources: list[int], now: datetime) -> dict[int, tuple[float | None, float]]:
    """Return the lag of each source (see `SourceHealthPayload`) and the seconds since its last batch."""
    query = f"""
        SELECT wanted.source_id, coalesce(recent.lag, (last.changed ->> 'lag')::bigint),
               extract(epoch FROM %(now)s - last.at)::float
        FROM unnest(%(sources)s::bigint[]) AS wanted (source_id)
        CROSS JOIN LATERAL (
            SELECT at, changed FROM timeline_delta WHERE source_id = wanted.source_id ORDER BY sequence DESC LIMIT 1
        ) AS last
        LEFT JOIN LATERAL (
            SELECT max((changed ->> 'lag')::bigint) AS lag
            FROM (SELECT at, changed FROM timeline_delta WHERE source_id = wanted.source_id
                  ORDER BY sequence DESC LIMIT {_DELTAS}) AS latest
            WHERE at >= %(since)s
        ) AS recent ON TRUE"""
    with connection.cursor() as cursor:
        cursor.execute(query, {"sources": sources, "now": now, "since": now - RATE_OVER})
        return {source: (None if lag is None else lag / 1e6, max(0.0, silent)) for source, lag, silent in cursor}


def _count(rows: Collection[FleetRow]) -> None:
    """Add the counts of incidents to these rows."""
    counts = incident_counts([row.source for row in rows if row.source is not None])
    for row in rows:
        row.counts = counts.get(row.source or 0, row.counts)


def trouble(row: FleetRow) -> int:
    """Return how bad things are now, 0 for the worst; what cannot be reached comes right after ongoing errors."""
    errors, warnings, infos = row.counts.ongoing
    blind = row.state == "failing" or row.failing > 0
    conditions = (errors > 0, blind, warnings > 0, row.state == "waiting", infos > 0, row.state == "connecting")
    return next((place for place, holds in enumerate(conditions) if holds), len(conditions))


def _activity(row: FleetRow) -> float:
    if row.silent is not None:
        return row.silent - 1e12
    return -(row.last.timestamp() if row.last else 0)


def _worst(row: FleetRow) -> tuple[float, ...]:
    if row.cluster is None:
        return 1, 0, -(row.created.timestamp() if row.created else 0)
    return 0, trouble(row), _activity(row)


_KEYS: dict[FleetSort, Callable[[FleetRow], Any]] = {
    "worst": _worst,
    "name": lambda row: (row.name.lower(), row.cluster is None, row.source or 0),
    "lag": lambda row: (row.lag is None, -(row.lag or 0), row.name.lower()),
    "ongoing": lambda row: (*(-count for count in row.counts.ongoing), *_worst(row)),
    "incidents": lambda row: (-row.counts.incidents, -row.counts.findings, *_worst(row)),
    "activity": lambda row: (_activity(row), row.name.lower()),
}
