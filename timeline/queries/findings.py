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
    time. `cursor` is the `next` of the page before. Raises Source.DoesNotExist, and ValueError for a cursor that is
    malformed or belongs to another order.
    """
    source = Source.objects.only("cluster").get(pk=source_id)
    order = order or ("newest" if source.cluster_id else "time")
    wanted = (view or View()).occurrences(source_id)
    if start is not None:
        wanted = wanted.filter(last__gte=moment(start))
    if end is not None:
        wanted = wanted.filter(first__lte=moment(end))
    if key:
        wanted = wanted.filter(key=key)
    page = wanted.filter(_behind(cursor, order)) if cursor else wanted
    rows = list(page.order_by(*_ORDERS[order])[: limit + 1])
    more = len(rows) > limit
    return {
        "findings": payloads(source_id, rows[:limit]),
        "order": order,
        "next": _cursor(rows[limit - 1], order) if more else None,
        "total": wanted.count() if cursor or more else len(rows),
    }


_ORDERS: dict[FindingOrder, tuple[str, ...]] = {
    "newest": ("-last", "rank", "key"),
    "time": ("first", "rank", "key"),
    "gravest": ("rank", "first", "key"),
}


def _cursor(row: Occurrence, order: FindingOrder) -> str:
    """Return the cursor after a row. It contains the order, so that its use with another order can be refused."""
    time = row.last if order == "newest" else row.first
    return f"{order}.{microseconds(time)}.{row.rank}.{row.key}"


def _behind(cursor: str, order: FindingOrder) -> Q:
    """Return the condition for the rows after a cursor. Raises ValueError if it is malformed or of another order."""
    of_order, at, rank, key = cursor.split(".")
    if of_order != order:
        raise ValueError(f"This cursor is of a list in the order {of_order}, and not {order}.")
    values = {"last": moment(int(at)), "first": moment(int(at)), "rank": int(rank), "key": key}
    behind, same = Q(), Q()
    for column in _ORDERS[order]:
        name = column.removeprefix("-")
        behind |= same & Q(**{f"{name}__{'lt' if column != name else 'gt'}": values[name]})
        same &= Q(**{name: values[name]})
    return behind


def severities(source_id: int, view: View, start: int, end: int) -> list[tuple[Severity, int]]:
    """Return the number of rows that match a view between two times (µs since 1970), by severity, errors first."""
    wanted = view.occurrences(source_id).filter(first__lte=moment(end), last__gte=moment(start))
    return [
        (SEVERITIES[rank], count) for rank, count in wanted.values_list("rank").annotate(Count("pk")).order_by("rank")
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
