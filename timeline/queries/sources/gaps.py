"""Read the gaps of a source: the times in which a kind was not observed, or whose changes retention has deleted."""

from django.db import connection

from timeline.core.entries import microseconds, moment
from timeline.history.freed import Span
from timeline.layout import intervals
from timeline.layout.lanes import full
from timeline.models import Source
from timeline.payloads.windows import Gaps
from timeline.queries.sources.clusters import without_places
from timeline.storage.keeping import freed as stored_spans

_MOST = 500  # the most gaps in one window, the latest ones
_BETWEEN = "WHERE source_id = %(source)s AND since <= %(end)s AND until >= %(start)s ORDER BY since DESC LIMIT %(most)s"
# One query for both, because most windows have neither, and each query takes longer to be planned than to be answered.
_GAPS = f"""
    (SELECT "group", kind, since, until, reason FROM timeline_gap {_BETWEEN})
    UNION ALL (SELECT NULL, NULL, since, until, NULL FROM timeline_freed {_BETWEEN})"""


def gaps(source: Source, start: int, end: int, pixel: int) -> Gaps:
    """Return the gaps and freed spans between two times, in microseconds since 1970. Those of one kind that are
    at most `pixel` microseconds apart are merged."""
    with connection.cursor() as cursor:
        cursor.execute(_GAPS, {"source": source.pk, "start": moment(start), "end": moment(end), "most": _MOST})
        rows = cursor.fetchall()
    named = any(kind is not None for _, kind, *_ in rows)
    reference = source.cluster.reference if named and source.cluster else {}
    unseen = [
        (
            "" if kind is None else full(group, kind),
            microseconds(since),
            microseconds(until),
            intervals.FREED if kind is None else without_places(why, reference),
        )
        for group, kind, since, until, why in rows
    ]
    return intervals.gaps(unseen, pixel)


def freed(source_id: int) -> tuple[list[Span], int]:
    """Return the newest freed spans of a source, the newest first, and how many there are."""
    spans = stored_spans.spans(source_id)
    return spans[: -_MOST - 1 : -1], len(spans)
