"""Read the list of findings page by page."""

from timeline.core.entries import moment
from timeline.models import Occurrence, Source
from timeline.payloads.findings import FindingOrder, FindingsPayload
from timeline.queries.incidents.occurrences import payloads, worst_keys
from timeline.queries.incidents.pages import Pages
from timeline.queries.window.view import FindingFilter
from timeline.storage.permitted.limits import present

PAGE = 100
_PAGES = Pages(("rank", "first"), ("key",))
_BEGINNING = Occurrence(rank=0, first=moment(0), key=f"{0:016}")  # comes before all rows


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
    a list in another order. The order "gravest" of one incident begins with the row with which the incident is shown.
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
    rows: list[Occurrence] = []
    page = matching
    if order == "gravest" and wanted.incident:
        keys = worst_keys(source_id, [wanted.incident]).values()
        page = matching.exclude(key__in=keys)
        rows = [] if cursor else list(matching.filter(key__in=keys))
    ahead = len(rows)
    page = page.filter(_PAGES.after(cursor, order)) if cursor else page
    rows += page.order_by(*_PAGES.ordering(order))[: limit + 1 - ahead]
    more = len(rows) > limit
    whole = start is None and end is None and not key
    total = len(rows) if not cursor and not more else (wanted.counted(source) if whole and counted else None)
    return {
        "findings": payloads(source_id, rows[:limit]),
        "order": order,
        "next": _PAGES.cursor_of(rows[limit - 1] if limit > ahead else _BEGINNING, order) if more else None,
        "total": matching.count() if total is None else total,
    }
