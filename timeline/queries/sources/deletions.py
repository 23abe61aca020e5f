"""Read what a deletion would remove, and which deletions can still be undone."""

from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Q, Sum
from django.db.models.functions import Now

from timeline.models import Acknowledgement, Cluster, Finding, Incident, Silence, Source

_LISTED = 20  # the most deletions of each sort that are listed


class Contents(NamedTuple):
    """How much is stored of some sources."""

    recordings: int
    changes: int
    incidents: int
    findings: int
    acknowledgements: int
    silences: int
    bytes: int  # of the changes and the objects


class Deletion(NamedTuple):
    """A deletion that can still be undone."""

    sort: str  # "source" or "cluster"
    id: int
    name: str
    until: datetime
    seconds: int  # that are left


def contents(sources: list[int], cluster: int | None = None) -> Contents:
    """Return what is stored of these sources; with a cluster, the silences of it count, too."""
    recordings = Source.everything.filter(pk__in=sources).aggregate(
        number=Count("pk"), changes=Sum("entries", default=0)
    )
    about = Q(source__in=sources) if cluster is None else Q(source__in=sources) | Q(cluster=cluster)
    return Contents(
        recordings=recordings["number"],
        changes=recordings["changes"],
        incidents=Incident.objects.filter(source__in=sources).count(),
        findings=Finding.objects.filter(source__in=sources, withdrawn=False).count(),
        acknowledgements=Acknowledgement.objects.filter(source__in=sources, ended="").count(),
        silences=Silence.objects.filter(about, expires__gt=Now()).count(),
        bytes=_bytes(sources),
    )


def _bytes(sources: list[int]) -> int:
    query = """
        SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint
        FROM pg_class, unnest(%s::bigint[]) AS source (id)
        WHERE relkind = 'r' AND (relname ~ concat('^timeline_chunk_', source.id, '_[0-9]+$')
                                 OR relname = concat('timeline_track_', source.id))"""
    with connection.cursor() as cursor:
        cursor.execute(query, [sources])
        return int(cursor.fetchone()[0])


def sources_of(cluster_id: int) -> list[int]:
    """Return the sources that a cluster fed, as far as they are shown."""
    return list(Source.objects.filter(cluster=cluster_id, ready=True).values_list("pk", flat=True))


def undoable() -> list[Deletion]:
    """Return the deletions that can still be undone, the latest first. Sources that were deleted together with their
    cluster are part of its deletion."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    clusters = list(Cluster.everything.filter(delete_after__gt=Now()).order_by("-delete_after")[:_LISTED])
    with_cluster = {(each.pk, each.delete_after) for each in clusters}
    rows = Source.everything.filter(delete_after__gt=Now()).only("name", "cluster", "delete_after")
    sources = list(rows.order_by("-delete_after")[: _LISTED * 5])
    found = [_deletion("cluster", each, now) for each in clusters]
    found += [
        _deletion("source", each, now) for each in sources if (each.cluster_id, each.delete_after) not in with_cluster
    ]
    return sorted(found, key=lambda each: each.until, reverse=True)[:_LISTED]


def _deletion(sort: str, row: Cluster | Source, now: datetime) -> Deletion:
    assert row.delete_after
    seconds = max(0, int((row.delete_after - now).total_seconds()))
    return Deletion(sort, row.pk, row.name, row.delete_after, seconds)
