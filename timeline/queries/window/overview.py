"""Read the overview of a source: what its minimap and its filters show."""

from collections import Counter
from typing import TYPE_CHECKING

from django.db import connection
from django.db.models import QuerySet

from timeline.core.entries import microseconds, moment
from timeline.history.freed import Freed
from timeline.kinds import NOISE
from timeline.models import Occurrence, Source
from timeline.payloads.windows import OverviewPayload
from timeline.queries.sources.extents import SEVERITIES, by_rank, extent
from timeline.queries.window.histograms import histograms
from timeline.queries.window.view import FindingFilter
from timeline.storage.keeping.freed import spans
from timeline.storage.permitted.limits import present

if TYPE_CHECKING:
    from datetime import datetime

_TICKS = 480  # the number of different positions of ticks on the minimap


def overview(source_id: int, scope: int | None = None) -> OverviewPayload:
    """Return the overview of a source. With a scope (`Track.root`), ticks and numbers of findings are only those of
    findings that name this root owner or what it owns. Raises Source.DoesNotExist."""
    whole = present().sees_whole(source_id)
    shown = Source.objects.defer("document", "entries", *([] if whole else ["row_counts"])).get(pk=source_id)
    first, last = extent(shown)
    families: Counter[str] = Counter()
    namespaces: Counter[str] = Counter()
    for namespace, family, lanes in shown.census:
        families[family] += lanes
        if namespace and family not in NOISE:
            namespaces[namespace] += lanes
    if scope is None and whole:
        row_counts, ticks = shown.row_counts, _first_ticks(source_id, first, last)
    else:
        occurrences = FindingFilter(scope=scope).occurrences(source_id)
        row_counts, ticks = _counted(occurrences, first, last)
    return {
        "first": first,
        "last": last,
        "counts": histograms([shown])[source_id],
        "ticks": [time for time, _ in ticks],
        "severities": [SEVERITIES[rank] for _, rank in ticks],
        "families": families.most_common(),
        "namespaces": sorted(namespaces.items()),
        "rules": sorted((rule, sum(counts)) for rule, counts in row_counts.items()),
        "actors": shown.actors,
        "severity_counts": [
            (severity, count) for severity, count in zip(SEVERITIES, by_rank(row_counts), strict=True) if count
        ],
        "noise": sum(families[family] for family in NOISE),
        "freed": _freed(source_id, first, last),
    }


def _freed(source_id: int, first: int, last: int) -> list[tuple[int, int]]:
    """Return the freed spans. Those that are too close together for the minimap are merged."""
    together = Freed()
    for span in spans(source_id):
        together.add(span.since, span.until + (last - first) // _TICKS)
    return [(since, until - (last - first) // _TICKS) for since, until in together.spans]


def _counted(
    occurrences: QuerySet[Occurrence], first: int, last: int
) -> tuple[dict[str, list[int]], list[tuple[int, int]]]:
    """Return the numbers of the findings, as `Source.row_counts` has them, and their ticks: (time, rank). Ticks that
    are too close together for the minimap are merged."""
    matching, values = occurrences.values("rule", "rank", "first").query.sql_with_params()
    query = f"""
        SELECT rule, rank, date_bin(%s::interval, first, %s) AS place, min(first), count(*)
        FROM ({matching}) AS matching GROUP BY rule, rank, place"""
    counts: dict[str, list[int]] = {}
    ticks: dict[tuple[int, datetime], datetime] = {}
    with connection.cursor() as cursor:
        cursor.execute(query, [_width(first, last), moment(first), *values])
        for rule, rank, place, time, number in cursor:
            counts.setdefault(rule, [0] * len(SEVERITIES))[rank] += number
            ticks[rank, place] = min(time, ticks.get((rank, place), time))
    return counts, [(microseconds(time), rank) for rank, time in sorted((key[0], time) for key, time in ticks.items())]


def _first_ticks(source_id: int, first: int, last: int) -> list[tuple[int, int]]:
    """Return the ticks that `_counted` returns for all findings of a source.

    The query looks only for the first one of each place on the minimap, so its cost does not grow with their number.
    """
    query = """
        WITH RECURSIVE tick(rank, first) AS (
            SELECT rank, (
                SELECT min(first) FROM timeline_occurrence WHERE source_id = %(source)s AND rank = ranks.rank
            ) FROM generate_series(0, 2) AS ranks(rank)
            UNION ALL
            SELECT rank, (
                SELECT min(first) FROM timeline_occurrence WHERE source_id = %(source)s AND rank = tick.rank
                AND first >= date_bin(%(width)s::interval, tick.first, %(start)s) + %(width)s::interval
            ) FROM tick WHERE first IS NOT NULL
        )
        SELECT rank, first FROM tick WHERE first IS NOT NULL ORDER BY 1, 2"""
    with connection.cursor() as cursor:
        cursor.execute(query, {"source": source_id, "width": _width(first, last), "start": moment(first)})
        return [(microseconds(time), rank) for rank, time in cursor]


def _width(first: int, last: int) -> str:
    """Return how much time one place on the minimap stands for, as an interval of PostgreSQL."""
    return f"{max(1, (last - first) // _TICKS)} microseconds"
