"""Read the list of findings page by page."""

from django.db.models import Count

from timeline.core.entries import moment
from timeline.judging.findings import Severity
from timeline.models import Source
from timeline.payloads.findings import FindingOrder, FindingsPayload
from timeline.queries.incidents.occurrences import payloads
from timeline.queries.incidents.pages import after, cursor_of, ordering
from timeline.queries.sources.extents import SEVERITIES
from timeline.queries.window.view import View
from timeline.storage.permitted.limits import present

PAGE = 100


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
    counted = present().sees_whole(source_id)  # for other readers, the rows would be counted with each request
    source = Source.objects.only("cluster", *(["row_counts"] if counted else [])).get(pk=source_id)
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
    total = len(rows) if not cursor and not more else (view.counted(source) if whole and counted else None)
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
