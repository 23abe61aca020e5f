"""Read the state of connected clusters, and the health of the sources that they feed."""

from datetime import datetime, timedelta
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from django.db import connection
from django.db.models import Count, QuerySet

from timeline.core.entries import microseconds
from timeline.models import Cluster, CollectedBatch, Delta, Gap, Source, Stream
from timeline.payloads.clusters import (
    ClusterPayload,
    ClusterState,
    CollectorPayload,
    EpochPayload,
    GapPayload,
    SourceHealthPayload,
    SourceState,
    StreamPayload,
    StreamState,
)
from timeline.storage.entries import collected

_NAMES = 1_000  # the most clusters that can be chosen from
_GAPS = 100  # the most gaps in one answer
RATE_OVER = timedelta(seconds=30)  # the time over which rate and lag are computed


def clusters(*, places: bool = True) -> list[ClusterPayload]:
    """Return all connected clusters, sorted by name. Without `places`, their addresses and the paths of their
    kubeconfigs are left empty."""
    now = now_of_database()
    found = [(each.reference, _cluster(each, now)) for each in _rows().order_by("name")]
    return [each if places else _without_places(each, reference) for reference, each in found]


def cluster_names() -> list[tuple[int, str]]:
    """Return the number and the name of each connected cluster that is observed, sorted by name."""
    return list(Cluster.objects.filter(source__isnull=False).order_by("name").values_list("pk", "name")[:_NAMES])


def cluster(cluster_id: int, *, places: bool = True) -> ClusterPayload:
    """Return one connected cluster, as `clusters` does. Raises Cluster.DoesNotExist."""
    row = _rows().get(pk=cluster_id)
    found = _cluster(row, now_of_database())
    return found if places else _without_places(found, row.reference)


def health(source_id: int) -> SourceHealthPayload | None:
    """Return the health of a source; None for a recording, which no cluster ever fed. Raises Source.DoesNotExist."""
    source = Source.objects.select_related("cluster").defer(*_HEAVY).get(pk=source_id, ready=True)
    if source.cluster is None and not source.ended:
        return None
    return _health(source, source.cluster, now_of_database())


def epochs(source_id: int) -> tuple[EpochPayload | None, EpochPayload | None]:
    """Return the sources of the same cluster before and after this one, or None. Between them, the revisions of the
    cluster went back."""
    source = Source.objects.only("cluster").filter(pk=source_id).first()
    return _neighbours(source) if source else (None, None)


def without_places(text: str, reference: dict[str, str]) -> str:
    """Return the error of a cluster with its address and the path of its kubeconfig replaced by general words.

    `reference` is `Cluster.reference`.
    """
    path, server = reference.get("path", ""), reference.get("server", "")
    parts = urlsplit(server)
    named = {
        path: "the kubeconfig",
        path.rpartition("/")[0]: "its folder",
        server: "the API server",
        parts.netloc: "the API server",
        parts.hostname or "": "the API server",
    }
    for place, words in named.items():
        if len(place) > 1:
            text = text.replace(place, words)
    return text


def _without_places(shown: ClusterPayload, reference: dict[str, str]) -> ClusterPayload:
    error = without_places(shown["error"], reference)
    return {**shown, "server": "", "context": "", "path": "", "error": error}


def _rows() -> QuerySet[Cluster]:
    return Cluster.objects.select_related("source").defer(*(f"source__{column}" for column in _HEAVY))


_HEAVY = ("document", "skips", "histogram", "census", "tide")  # the large columns of a source


def now_of_database() -> datetime:
    """Return the time by the database's clock, which leases use too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row
    return cast("datetime", row[0])


def state_of(cluster: Cluster, now: datetime) -> ClusterState:
    """Return the state of a cluster. The state in its row counts only while the worker that wrote it holds the
    cluster."""
    if cluster.paused:
        return "paused"
    if cluster.expires_at is None or cluster.expires_at < now:
        return "waiting"
    return "connecting" if cluster.state in ("waiting", "paused") else cast("ClusterState", cluster.state)


def _cluster(row: Cluster, now: datetime) -> ClusterPayload:
    state = state_of(row, now)
    return {
        "id": row.pk,
        "name": row.name,
        "how": row.reference.get("how", "stored"),
        "server": row.reference.get("server", ""),
        "context": row.reference.get("context", ""),
        "path": row.reference.get("path", ""),
        "include": row.include,
        "exclude": row.exclude,
        "namespaces": row.namespaces,
        "keep_days": row.keep_days,
        "keep_bytes": row.keep_bytes,
        "keep_incident_days": row.keep_incident_days,
        "keep_incident_minutes": row.keep_incident_minutes,
        "write_events": row.write_events,
        "created": microseconds(row.created),
        "state": state,
        "holder": _holder(row, now),
        "error": row.error,
        "error_at": _time(row.error_at),
        "source": row.source_id,
        "url": f"/sources/{row.source_id}/" if row.source_id else "",
        "health": _health(row.source, row, now) if row.source else None,
        "collector": _collector(row.pk) if row.reference.get("how") == "collector" else None,
    }


def _collector(cluster_id: int) -> CollectorPayload | None:
    row, silent = collected.of(cluster_id)
    if row is None:
        return None
    batches = CollectedBatch.objects.filter(cluster=cluster_id)
    return {
        "holder": "" if silent else row.holder,
        "version": row.version,
        "epoch": row.epoch,
        "last": _time(row.accepted_at),
        "buffered": row.buffered,
        "behind": row.behind,
        "waiting": batches.filter(settled=False).count(),
        "aside": batches.exclude(aside="").count(),
        "problem": row.problem,
        "problem_at": _time(row.problem_at),
    }


def _holder(row: Cluster, now: datetime) -> str:
    return row.holder if row.expires_at is not None and row.expires_at >= now else ""


def _health(source: Source, feeds: Cluster | None, now: datetime) -> SourceHealthPayload:
    feeds = feeds if feeds is not None and feeds.source_id == source.pk else None
    state: SourceState = "ended" if feeds is None else state_of(feeds, now)
    gaps = Gap.objects.filter(source=source)
    counts = {
        (group, kind): count
        for group, kind, count in gaps.values_list("group", "kind").annotate(count=Count("*")).order_by("group", "kind")
    }
    streams = list(Stream.objects.filter(source=source).order_by("group", "resource", "namespace"))
    watched = [each for each in streams if each.state not in (Stream.State.FORBIDDEN, Stream.State.MISSING)]
    reached = [each.watermark_at for each in watched if each.watermark_at is not None]
    flow = _flow(source, now)
    reference = feeds.reference if feeds else {}
    before, after = _neighbours(source)
    return {
        "source": source.pk,
        "name": source.name,
        "cluster": feeds.pk if feeds else None,
        "state": state,
        "ended": source.ended if state == "ended" else "",
        "previous": before,
        "next": after,
        "holder": _holder(feeds, now) if feeds else "",
        "error": without_places(feeds.error, reference) if feeds else "",
        "error_at": _time(feeds.error_at) if feeds else None,
        "entries": source.entries,
        "rate": flow.rate if feeds else 0.0,
        "lag": flow.lag if feeds else None,
        "silent": flow.silent if feeds else None,
        "reached": microseconds(min(reached)) if reached and len(reached) == len(watched) else None,
        "streams": [_stream(each, counts.get((each.group, each.kind), 0), reference) for each in streams],
        "gaps": [_gap(each, reference) for each in gaps.order_by("-until", "group", "kind")[:_GAPS]],
        "gaps_total": sum(counts.values()),
        "outages": _outages(source) if counts else 0,
    }


def _outages(source: Source) -> int:
    """Return the number of separate intervals in which any kind was not observed."""
    query = """
        SELECT coalesce(sum(array_length(ranges, 1)), 0) FROM (
            SELECT array(SELECT unnest(range_agg(tstzrange(since, until, '[]')))) AS ranges
            FROM timeline_gap WHERE source_id = %s
        ) AS merged"""
    with connection.cursor() as cursor:
        cursor.execute(query, [source.pk])
        row = cursor.fetchone()
    assert row
    return int(row[0])


def _neighbours(source: Source) -> tuple[EpochPayload | None, EpochPayload | None]:
    """Return the sources of the same cluster before and after this one."""
    if source.cluster_id is None:
        return None, None
    others = Source.objects.filter(cluster=source.cluster_id, ready=True)
    before = others.filter(pk__lt=source.pk).order_by("-pk").first()
    after = others.filter(pk__gt=source.pk).order_by("pk").first()
    return _epoch(before), _epoch(after)


def _epoch(source: Source | None) -> EpochPayload | None:
    return {"source": source.pk, "name": source.name, "url": f"/sources/{source.pk}/"} if source else None


class _Flow(NamedTuple):
    rate: float  # changes a second
    lag: float | None  # seconds
    silent: float | None  # seconds since the last commit


def _flow(source: Source, now: datetime) -> _Flow:
    """Return the flow of the last half minute. The lag is that of the last batch if there was none in this time."""
    rows = Delta.objects.filter(source=source).order_by("-sequence")
    last = rows.values_list("at", "changed__lag").first()
    if last is None:
        return _Flow(0.0, None, None)
    since = now - RATE_OVER
    recent = list(rows.filter(at__gte=since).values_list("at", "changed__entries", "changed__lag"))
    begin = recent[-1][0] if len(recent) >= _DELTAS else since  # older deltas may be deleted already
    entries = sum(count or 0 for _, count, _ in recent)
    lag = max((each or 0 for _, _, each in recent), default=last[1] or 0)
    silent = max(0.0, (now - last[0]).total_seconds())
    return _Flow(entries / max(1.0, (now - begin).total_seconds()), lag / 1e6, silent)


_DELTAS = 1000  # how many deltas are surely kept (`storage.live.KEPT`)


def _stream(row: Stream, gaps: int, reference: dict[str, str]) -> StreamPayload:
    return {
        "group": row.group,
        "kind": row.kind,
        "resource": row.resource,
        "namespace": row.namespace,
        "state": cast("StreamState", row.state),
        "error": without_places(row.error, reference),
        "error_at": _time(row.error_at),
        "listed_at": _time(row.listed_at),
        "watermark": _revision(row.watermark),
        "watermark_at": _time(row.watermark_at),
        "entries": row.entries,
        "gaps": gaps,
    }


def _gap(row: Gap, reference: dict[str, str]) -> GapPayload:
    return {
        "group": row.group,
        "kind": row.kind,
        "since": microseconds(row.since),
        "until": microseconds(row.until),
        "since_revision": _revision(row.since_revision),
        "revision": _revision(row.revision),
        "reason": without_places(row.reason, reference),
    }


def _time(moment: datetime | None) -> int | None:
    return microseconds(moment) if moment else None


def _revision(number: object) -> str | None:
    return None if number is None else f"{number:f}"
