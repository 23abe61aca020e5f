"""Read lanes with so many lives that a screen has no room for each: lives of a lane that begin in the same slice of
time are read together, without their lifelines.

Times are microseconds since 1970, UTC.
"""

from collections.abc import Collection
from typing import Any

from django.db import connection

from timeline.core.entries import moment
from timeline.layout.assembly import MARKS
from timeline.layout.drawing import Lives
from timeline.models import Source

ONE_BY_ONE = 400  # the most lives of a window that are read one by one
_BARS = MARKS // 2  # about how many bars of several lives a window has at most
# Ranges are ordered by their beginnings, so no life that begins after the end of the window is read from the index.
_LIVING = """source_id = %(source)s
    AND life && tstzrange(%(start)s, %(end)s, '[]') AND life <= tstzrange(%(end)s, NULL)"""


def lanes_of(source: Source, lanes: Collection[int], span: tuple[int, int]) -> tuple[list[int], list[int]]:
    """Return the lanes with the most lives between two times, so that the others have at most `ONE_BY_ONE`, and the
    numbers of the tracks of these others between the two times."""
    query = f"""
        SELECT wanted, lives, CASE WHEN lives <= {ONE_BY_ONE} THEN tracks END
        FROM unnest(%(lanes)s::bigint[]) AS wanted CROSS JOIN LATERAL (
            SELECT count(*) AS lives, array_agg(id) AS tracks FROM (
                SELECT id FROM timeline_track WHERE lane = wanted AND {_LIVING} LIMIT {ONE_BY_ONE + 1}
            ) AS living
        ) AS counted
        WHERE lives > 0 ORDER BY lives, wanted"""
    with connection.cursor() as cursor:
        cursor.execute(query, _values(source, lanes, span))
        count, crowded, single = 0, list[int](), list[int]()
        for lane, lives, tracks in cursor.fetchall():
            count += lives
            if count > ONE_BY_ONE:
                crowded.append(lane)
            else:
                single += tracks
        return crowded, single


def lives_of(source: Source, lanes: Collection[int], span: tuple[int, int], pixel: int) -> list[Lives]:
    """Return the lives of these lanes between two times by slices, in the order of their beginnings.

    A slice is at least as wide as a pixel (µs), and twice as wide until there is room for all. Slices begin at the same
    times wherever the span begins, so that the same lives stay together when a screen is moved.
    """
    slices = max(1, _BARS // len(lanes))
    size = pixel
    while (span[1] - span[0]) // size > slices:
        size *= 2
    query = f"""
        SELECT lane, root, (extract(epoch FROM min(lower(life))) * 1000000)::bigint AS begun,
               CASE WHEN bool_and(upper(life) IS NOT NULL)
                    THEN (extract(epoch FROM max(upper(life))) * 1000000)::bigint END,
               count(*), min(number), min(id)
        FROM timeline_track WHERE lane = ANY(%(lanes)s) AND {_LIVING}
        GROUP BY lane, root,
                 date_bin(%(size)s * interval '1 microsecond', greatest(lower(life), %(start)s), to_timestamp(0))
        ORDER BY begun, lane"""
    with connection.cursor() as cursor:
        cursor.execute(query, {**_values(source, lanes, span), "size": size})
        return [Lives(*row) for row in cursor.fetchall()]


def _values(source: Source, lanes: Collection[int], span: tuple[int, int]) -> dict[str, Any]:
    return {"source": source.pk, "lanes": list(lanes), "start": moment(span[0]), "end": moment(span[1])}
