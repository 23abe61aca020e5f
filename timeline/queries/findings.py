"""This module reads the list of findings page by page, and searches for objects and findings."""

from typing import Any

from django.db import connection
from django.db.models import Count, Q

from timeline.core.entries import microseconds, moment
from timeline.judging.findings import Severity
from timeline.kinds import kind_of
from timeline.models import Occurrence, Source
from timeline.payloads.findings import FindingOrder, FindingsPayload
from timeline.payloads.windows import FoundObjectPayload, SearchPayload
from timeline.queries.occurrences import payloads
from timeline.queries.pages import after, cursor_of, ordering
from timeline.queries.sources import SEVERITIES
from timeline.queries.view import View, like

PAGE = 100
_FOUND = 20


def findings(
    source_id: int,
    view: View | None = None,
    *,
    start: int | None = None,
    end: int | None = None,
    key: str = "",
    cursor: str = "",
    limit: int = PAGE,
    order: FindingOrder | None = None,
) -> FindingsPayload:
    """Return a page of the list of findings: the rows that match a view, from `start` to `end` (µs since 1970), or the
    row with a `key`.

    Without an order, the findings of a connected cluster come newest first, and those of a recording in the order of
    time. `cursor` is the `next` of the page before. Raises Source.DoesNotExist, and WrongOrder for a cursor of
    a list in another order.
    """
    source = Source.objects.only("cluster", "row_counts").get(pk=source_id)
    view = view or View()
    order = order or ("newest" if source.cluster_id else "time")
    wanted = view.occurrences(source_id)
    if start is not None:
        wanted = wanted.filter(last__gte=moment(start))
    if end is not None:
        wanted = wanted.filter(first__lte=moment(end))
    if key:
        wanted = wanted.filter(key=key)
    page = wanted.filter(after(cursor, order, "key")) if cursor else wanted
    rows = list(page.order_by(*ordering(order, "key"))[: limit + 1])
    more = len(rows) > limit
    whole = start is None and end is None and not key
    total = len(rows) if not cursor and not more else (view.counted(source) if whole else None)
    return {
        "findings": payloads(source_id, rows[:limit]),
        "order": order,
        "next": cursor_of(rows[limit - 1], order, rows[limit - 1].key) if more else None,
        "total": wanted.count() if total is None else total,
    }


def severities(source_id: int, view: View, start: int, end: int) -> list[tuple[Severity, int]]:
    """Return the number of rows that match a view between two times (µs since 1970), by severity, errors first."""
    wanted = view.occurrences(source_id).filter(first__lte=moment(end), last__gte=moment(start))
    return [
        (SEVERITIES[rank], count)
        for rank, count in wanted.values_list("rank").annotate(count=Count("*")).order_by("rank")
    ]


def search(source_id: int, text: str) -> SearchPayload:
    """Return the objects and findings that match every word of the text.

    A word matches a part of a name or a namespace, or a whole kind or UID; of findings also a part of the rule's id.
    Raises Source.DoesNotExist.
    """
    Source.objects.only("pk").get(pk=source_id)
    words = text.replace("/", " ").split()
    if not words:
        return {"objects": [], "findings": []}
    matching = Occurrence.objects.filter(source_id=source_id)
    for word in words:
        matching = matching.filter(
            Q(words__contains=word.lower()) | Q(namespace__icontains=word) | Q(rule__contains=word)
        )
    return {
        "objects": _objects(source_id, words),
        "findings": payloads(source_id, list(matching.order_by("rank", "first", "key")[:_FOUND])),
    }


def _objects(source_id: int, words: list[str]) -> list[FoundObjectPayload]:
    values: dict[str, Any] = {"source": source_id, "found": _FOUND, "whole": words[-1].lower()}
    conditions = []
    for index, word in enumerate(words):
        values |= {f"like{index}": like(word), f"word{index}": word.lower()}
        conditions.append(
            f"(name ILIKE %(like{index})s OR namespace ILIKE %(like{index})s OR lower(kind) = %(word{index})s"
            f" OR uid = %(word{index})s)"
        )
    query = f"""
        SELECT id, root, "group", kind, namespace, name, family, lower(span), upper(span) FROM timeline_track
        WHERE source_id = %(source)s AND span IS NOT NULL AND {" AND ".join(conditions)}
        ORDER BY lower(name) <> %(whole)s, family IN ('Events', 'Cluster'), length(name), place
        LIMIT %(found)s"""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [_found(source_id, *row) for row in cursor]


def _found(
    source_id: int, track: int, root: int, group: str, kind: str, namespace: str, name: str, family: str, *span: Any
) -> FoundObjectPayload:
    start, end = span
    return {
        "track": track,
        "root": root,
        "key": f"{kind}{'.' + group if group else ''}/{namespace}/{name}",
        "short": kind_of(group, kind).short,
        "family": family,
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "start": microseconds(start),
        "end": microseconds(end) if end else None,
        "url": f"/sources/{source_id}/objects/{track}/",
    }
