"""This module reads what a deletion would remove, and which deletions can still be undone."""

from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.models.functions import Now

from timeline.models import Cluster, Source

_LISTED = 20  # the most deletions of each sort that are listed


class Contents(NamedTuple):
    """This is how much is stored of some sources."""

    recordings: int
    changes: int
    incidents: int
    findings: int
    acknowledgements: int
    silences: int
    bytes: int  # of the changes and the objects


class Deletion(NamedTuple):
    """This is a deletion that can still be undone."""

    sort: str  # "source" or "cluster"
    id: int
    name: str
    owner: int | None  # of a source
    until: datetime
    seconds: int  # that are left


def contents(sources: list[int], cluster: int | None = None) -> Contents:
    """Return what is stored of these sources; with a cluster, the silences of it count, too."""
    query = """
        SELECT count(*), coalesce(sum(entries), 0)::bigint,
               coalesce(sum((SELECT count(*) FROM timeline_incident WHERE source_id = source.id)), 0)::bigint,
               coalesce(sum((SELECT count(*) FROM timeline_finding WHERE source_id = source.id AND NOT withdrawn)),
                        0)::bigint,
               coalesce(sum((SELECT count(*) FROM timeline_acknowledgement
                             WHERE source_id = source.id AND ended = '')), 0)::bigint,
               coalesce(sum((SELECT count(*) FROM timeline_silence
                             WHERE source_id = source.id AND expires > now())), 0)::bigint
                   + (SELECT count(*) FROM timeline_silence WHERE cluster_id = %s AND expires > now()),
               coalesce(sum((SELECT sum(pg_total_relation_size(oid)) FROM pg_class
                             WHERE relkind = 'r' AND (relname ~ concat('^timeline_chunk_', source.id, '_[0-9]+$')
                                                      OR relname = concat('timeline_track_', source.id)))), 0)::bigint
        FROM timeline_source AS source WHERE id = ANY(%s)"""
    with connection.cursor() as cursor:
        cursor.execute(query, [cluster, sources])
        return Contents(*cursor.fetchone())


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
    rows = Source.everything.filter(delete_after__gt=Now()).only("name", "owner", "cluster", "delete_after")
    sources = list(rows.order_by("-delete_after")[: _LISTED * 5])
    found = [_deletion("cluster", each, None, now) for each in clusters]
    found += [
        _deletion("source", each, each.owner_id, now)
        for each in sources
        if (each.cluster_id, each.delete_after) not in with_cluster
    ]
    return sorted(found, key=lambda each: each.until, reverse=True)[:_LISTED]


def _deletion(sort: str, row: Cluster | Source, owner: int | None, now: datetime) -> Deletion:
    assert row.delete_after
    seconds = max(0, int((row.delete_after - now).total_seconds()))
    return Deletion(sort, row.pk, row.name, owner, row.delete_after, seconds)
