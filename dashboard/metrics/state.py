"""Read from PostgreSQL and Valkey how sources, clusters, uploads and queues are at the moment of a scrape.

Labels are bounded: sources beyond the first SOURCES are added up as `other`. Live sources come first, then new ones.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Min
from django.utils import timezone
from kombu.connection import Connection
from kombu.exceptions import OperationalError
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from dashboard import __version__
from dashboard.models import Delivery, Destination
from timeline.models import Cluster, CollectedBatch, Collector, Finding, Gap, Source, Upload

SOURCES = 100
OTHER = "other"
BROKER_SECONDS = 2.0

_LIVE = """
    SELECT source.id, (last.changed ->> 'lag')::float / 1000000,
           greatest(0, extract(epoch FROM clock_timestamp() - last.at))::float
    FROM timeline_cluster AS cluster JOIN timeline_source AS source ON source.id = cluster.source_id
    CROSS JOIN LATERAL (SELECT changed, at FROM timeline_delta WHERE source_id = source.id
                        ORDER BY sequence DESC LIMIT 1) AS last"""

_USAGE = """
    SELECT DISTINCT ON (source_id) source_id, chunks + tracks + findings + logs + evidence
    FROM timeline_usage JOIN timeline_source AS source ON source.id = source_id
    WHERE source.ready AND source.delete_after IS NULL ORDER BY source_id, day DESC"""

_CLUSTERS = """
    SELECT name, state, paused, coalesce(expires_at > clock_timestamp(), FALSE)
    FROM timeline_cluster WHERE delete_after IS NULL ORDER BY id LIMIT %s"""


def collect() -> Iterator[Metric]:
    """Return how everything is now. Raises DatabaseError; a broker that does not answer only leaves its queues out."""
    build = GaugeMetricFamily("causeline_build_info", "The version that answers; the value is 1.", labels=["version"])
    build.add_metric([__version__], 1)
    yield build
    yield from _of_sources()
    yield from _of_clusters()
    yield from _of_collectors()
    yield _of_uploads()
    yield from _of_deliveries()
    size = GaugeMetricFamily("causeline_database_bytes", "Size of the database on the disk.")
    size.add_metric([], _one("SELECT pg_database_size(current_database())"))
    yield size
    yield from _of_queues()


def _of_sources() -> Iterator[Metric]:
    rows = Source.objects.filter(ready=True).order_by(F("current_of").asc(nulls_last=True), "-pk")
    label: dict[int, str] = defaultdict(lambda: OTHER)
    info = GaugeMetricFamily(
        "causeline_source_info", "Name and cluster of a source; the value is 1.", labels=["source", "name", "cluster"]
    )
    changes: dict[str, float] = defaultdict(float)
    skipped: dict[str, float] = defaultdict(float)
    for place, (pk, name, cluster, entries, skips) in enumerate(
        rows.values_list("pk", "name", "cluster__name", "entries", "skipped")
    ):
        if place < SOURCES:
            label[pk] = str(pk)
            info.add_metric([str(pk), name, cluster or ""], 1)
        changes[label[pk]] += entries
        skipped[label[pk]] += skips
    yield info
    yield _counter("causeline_source_changes", "Changes that are known of a source.", changes)
    yield _counter("causeline_source_skipped", "Lines and objects of a source that could not be read.", skipped)
    yield _findings(label)
    gaps: dict[str, float] = defaultdict(float)
    of_shown = Gap.objects.filter(source__delete_after=None).exclude(group="audit.k8s.io")  # those are not watched
    for source, count in of_shown.values_list("source").annotate(count=Count("*")):
        gaps[label[source]] += count
    yield _gauge("causeline_source_gaps", "Intervals in which a kind of a live source was not observed.", gaps)
    sizes: dict[str, float] = defaultdict(float)
    for source, taken in _all(_USAGE):
        sizes[label[source]] += taken
    yield _gauge("causeline_source_bytes", "What a source takes in the database, as measured last.", sizes)
    lags: dict[str, float] = defaultdict(float)
    silent: dict[str, float] = defaultdict(float)
    for source, lag, since in _all(_LIVE):
        if lag is not None:
            lags[label[source]] = max(lags[label[source]], lag)
        silent[label[source]] = max(silent[label[source]], since)
    yield _gauge(
        "causeline_source_lag_seconds",
        "How long the first change of the last commit of a live source had waited, beyond the least wait so far.",
        lags,
    )
    yield _gauge("causeline_source_silent_seconds", "Time since the last commit of a live source.", silent)


def _findings(label: dict[int, str]) -> Metric:
    found: dict[tuple[str, str, str], int] = defaultdict(int)
    counted = Finding.objects.filter(withdrawn=False, source__ready=True, source__delete_after=None).order_by()
    for source, rule, severity, count in counted.values_list("source", "rule", "severity").annotate(count=Count("*")):
        found[label[source], rule, severity] += count
    metric = GaugeMetricFamily("causeline_findings", "Findings that are listed.", labels=["source", "rule", "severity"])
    for labels, count in sorted(found.items()):
        metric.add_metric(labels, count)
    return metric


def _of_clusters() -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "causeline_cluster_state",
        "1 for the state that a cluster is in, 0 for the other states.",
        labels=["cluster", "state"],
    )
    held = GaugeMetricFamily(
        "causeline_cluster_watched", "1 if a worker holds the lease of a cluster, else 0.", labels=["cluster"]
    )
    for name, current, paused, watched in _all(_CLUSTERS, SOURCES):
        now = Cluster.State.PAUSED if paused else current if watched else Cluster.State.WAITING
        for each in Cluster.State:
            state.add_metric([name, each.value], int(each == now))
        held.add_metric([name], int(watched))
    yield state
    yield held


def _of_collectors() -> Iterator[Metric]:
    seen = GaugeMetricFamily(
        "causeline_collector_silent_seconds",
        "How long the active collector of a cluster has not reported; NaN if none is active.",
        labels=["cluster"],
    )
    buffered = GaugeMetricFamily(
        "causeline_collector_buffered_bytes", "What waits on the disk of a collector, in bytes.", labels=["cluster"]
    )
    behind = GaugeMetricFamily(
        "causeline_collector_behind_seconds",
        "How long the oldest of what waits on the disk of a collector has waited.",
        labels=["cluster"],
    )
    waiting = GaugeMetricFamily(
        "causeline_collector_batches_waiting",
        "Batches of a collector that wait for the worker of its cluster.",
        labels=["cluster"],
    )
    now = timezone.now()
    rows = Collector.objects.filter(cluster__delete_after=None).order_by("cluster")
    counted = dict(
        CollectedBatch.objects.filter(settled=False).order_by().values_list("cluster").annotate(count=Count("*"))
    )
    for row in rows.defer("known").select_related("cluster")[:SOURCES]:
        name = [row.cluster.name]
        silent = (now - row.renewed_at).total_seconds() if row.renewed_at else float("nan")
        seen.add_metric(name, silent)
        buffered.add_metric(name, row.buffered)
        behind.add_metric(name, row.behind)
        waiting.add_metric(name, counted.get(row.pk, 0))
    yield from (seen, buffered, behind, waiting)


def _of_deliveries() -> Iterator[Metric]:
    """Return what routes have sent; there are at most `alerting.editing.MOST` destinations."""
    deliveries = GaugeMetricFamily(
        "causeline_deliveries",
        "What routes sent to a destination in the last month, or have yet to send, by state.",
        labels=["destination", "state"],
    )
    oldest = GaugeMetricFamily(
        "causeline_delivery_waiting_seconds",
        "How long the oldest delivery to a destination has waited; 0 if none waits.",
        labels=["destination"],
    )
    counted: dict[str, dict[str, int]] = defaultdict(dict)
    rows = Delivery.objects.order_by().values_list("destination__name", "state").annotate(count=Count("*"))
    for name, state, count in rows:
        counted[name][state] = count
    waiting = Delivery.objects.filter(state=Delivery.State.WAITING).order_by().values_list("destination__name")
    since = dict(waiting.annotate(since=Min("created")))
    now = timezone.now()
    for name in Destination.objects.order_by("name").values_list("name", flat=True):
        for each in Delivery.State:
            deliveries.add_metric([name, each.value], counted[name].get(each.value, 0))
        oldest.add_metric([name], (now - since[name]).total_seconds() if name in since else 0)
    yield deliveries
    yield oldest


def _of_uploads() -> Metric:
    metric = GaugeMetricFamily("causeline_uploads", "Uploads of the last week, by state.", labels=["state"])
    counted = dict(Upload.objects.order_by().values_list("state").annotate(count=Count("*")))
    for state in Upload.State:
        metric.add_metric([state.value], counted.get(state.value, 0))
    return metric


def _of_queues() -> Iterator[Metric]:
    up = GaugeMetricFamily("causeline_broker_up", "1 if Valkey answers, else 0.")
    depth = GaugeMetricFamily(
        "causeline_queue_messages", "Messages that wait for a worker, by queue.", labels=["queue"]
    )
    try:
        for queue, waiting in _depths().items():
            depth.add_metric([queue], waiting)
        up.add_metric([], 1)
    except (OperationalError, OSError):
        up.add_metric([], 0)
    yield up
    yield depth


def _depths() -> dict[str, int]:
    options = {"socket_timeout": BROKER_SECONDS, "socket_connect_timeout": BROKER_SECONDS, "max_retries": 0}
    opened: Any = Connection
    with opened(settings.CELERY_BROKER_URL, transport_options=options) as broker:
        channel: Any = broker.default_channel
        return {queue: channel._size(queue) for queue in settings.CELERY_TASK_QUEUES}


def _counter(name: str, meaning: str, values: dict[str, float]) -> Metric:
    return _by_source(CounterMetricFamily(name, meaning, labels=["source"]), values)


def _gauge(name: str, meaning: str, values: dict[str, float]) -> Metric:
    return _by_source(GaugeMetricFamily(name, meaning, labels=["source"]), values)


def _by_source(metric: Any, values: dict[str, float]) -> Metric:
    for source, value in values.items():
        metric.add_metric([source], value)
    return metric  # type: ignore[no-any-return]


def _all(query: str, *arguments: int) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, arguments)
        return list(cursor.fetchall())


def _one(query: str) -> Any:
    return _all(query)[0][0]
