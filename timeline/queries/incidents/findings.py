"""Read the list of findings page by page."""

from timeline.core.entries import moment
from timeline.models import Source
from timeline.payloads.findings import FindingOrder, FindingsPayload
from timeline.queries.incidents.occurrences import payloads
from timeline.queries.incidents.pages import Pages
from timeline.queries.window.view import FindingFilter
from timeline.storage.permitted.limits import present

PAGE = 100
_PAGES = Pages(("rank", "first"), ("key",))


def findings(
    source_id: int,
    wanted: FindingFilter | None = None,
    *,
    start: int | None = None,
    end: int | None = None,
    key: str = "",
    cursor: str = "",
    limit: int = PAGE,
    order: FindingOrder | None = None,
) -> FindingsPayload:
    """Return a page of the list of findings: the rows that match a filter, from `start` to `end` (µs since 1970), or
    the row with a `key`.

    Without an order, the findings of a connected cluster come newest first, and those of a recording in the order of
    time. `cursor` is the `next` of the page before. Raises Source.DoesNotExist, and WrongOrder for a cursor of
    a list in another order.
    """
    counted = present().sees_whole(source_id)  # for other readers, the rows would be counted with each request
    source = Source.objects.only("cluster", *(["row_counts"] if counted else [])).get(pk=source_id)
    wanted = wanted or FindingFilter()
    order = order or ("newest" if source.cluster_id else "time")
    matching = wanted.occurrences(source_id)
    if start is not None:
        matching = matching.filter(last__gte=moment(start))
    if end is not None:
        matching = matching.filter(first__lte=moment(end))
    if key:
        matching = matching.filter(key=key)
    page = matching.filter(_PAGES.after(cursor, order)) if cursor else matching
    rows = list(page.order_by(*_PAGES.ordering(order))[: limit + 1])
    more = len(rows) > limit
    whole = start is None and end is None and not key
    total = len(rows) if not cursor and not more else (wanted.counted(source) if whole and counted else None)
    return {
        "findings": payloads(source_id, rows[:limit]),
        "order": order,
        "next": _PAGES.cursor_of(rows[limit - 1], order) if more else None,
        "total": matching.count() if total is None else total,
    }
