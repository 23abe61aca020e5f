"""This module reads the overview of a source: what its minimap and its filters show."""

from collections import Counter

from django.db import connection
from django.db.models import Count, QuerySet

from timeline.core.entries import microseconds, moment
from timeline.kinds import NOISE
from timeline.models import Occurrence, Source
from timeline.payloads.windows import OverviewPayload
from timeline.queries.sources import SEVERITIES, extent
from timeline.queries.view import View

_TICKS = 480  # the number of different positions of ticks on the minimap


def overview(source_id: int, scope: int | None = None) -> OverviewPayload:
    """Return the overview of a source. With a scope (`Track.root`), ticks and numbers of findings are only those of
    findings that name this root owner or what it owns. Raises Source.DoesNotExist."""
    shown = Source.objects.get(pk=source_id)
    first, last = extent(shown)
    families: Counter[str] = Counter()
    namespaces: Counter[str] = Counter()
    for namespace, family, lanes in shown.census:
        families[family] += lanes
        if namespace and family not in NOISE:
            namespaces[namespace] += lanes
    occurrences = View(scope=scope).occurrences(source_id)
    ticks = _ticks(occurrences, first, last)
    rules = occurrences.values_list("rule").annotate(count=Count("*")).order_by("rule")
    ranks = occurrences.values_list("rank").annotate(count=Count("*")).order_by("rank")
    return {
        "first": first,
        "last": last,
        "counts": shown.histogram,
        "ticks": [time for time, _ in ticks],
        "severities": [SEVERITIES[rank] for _, rank in ticks],
        "families": families.most_common(),
        "namespaces": sorted(namespaces.items()),
        "rules": list(rules),
        "severity_counts": [(SEVERITIES[rank], count) for rank, count in ranks],
        "noise": sum(families[family] for family in NOISE),
    }


def _ticks(occurrences: QuerySet[Occurrence], first: int, last: int) -> list[tuple[int, int]]:
    """Return (time, rank) of the findings. Those that are too close together for the minimap are merged."""
    matching, values = occurrences.values("rank", "first").query.sql_with_params()
    query = f"""
        SELECT rank, min(first) FROM ({matching}) AS matching
        GROUP BY rank, date_bin(%s::interval, first, %s)
        ORDER BY 1, 2"""
    with connection.cursor() as cursor:
        cursor.execute(query, [*values, f"{max(1, (last - first) // _TICKS)} microseconds", moment(first)])
        return [(microseconds(time), rank) for rank, time in cursor]
