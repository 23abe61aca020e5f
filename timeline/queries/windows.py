"""A window: what a screen shows of a range of time. It reads tracks, not entries."""

from typing import Any

import orjson
from django.db import connection
from django.db.models import Q

from timeline.core.entries import microseconds, moment
from timeline.layout import lanes
from timeline.models import Source, Track, unpacked
from timeline.payloads.findings import GroupPayload, WindowPayload
from timeline.queries.gaps import gaps
from timeline.queries.rows import Rows
from timeline.queries.sources import extent
from timeline.queries.view import View

LANES = 40
PIXELS = 1200  # of a wide screen: what lies closer together is drawn as one
MARKS = 2500  # bars and marks that a browser redraws within 100 ms
_CELLS = 180  # slices of a strip: 60 on the screen, as many on each side
_OCCURRENCES = 300  # whose holes, shades and arrows are told, gravest first


def window(
    source_id: int,
    start: int | None = None,
    end: int | None = None,
    *,
    offset: int = 0,
    limit: int = LANES,
    view: View | None = None,
) -> WindowPayload:
    """What a screen shows of [start, end] (microseconds; the whole source if left out), padded by its width.

    Raises Source.DoesNotExist.
    """
    view = view or View()
    shown = Source.objects.get(pk=source_id)
    first, last = extent(shown)
    start = first if start is None else start
    end = max(start, last if end is None else end)  # one that is left out may lie before the other
    width = max(end - start, 1)
    lower = max(first, start - width)
    padded = lower, max(lower, min(last, end + width))  # beside the recording it is empty
    rows = Rows(shown, view, start, end)
    page, total, more = rows.page(offset, limit)
    page = rows.pinned + page
    there = [row for row in page if row.members]
    drawing = _drawing(shown, there, padded, last, width)
    _add_findings(shown, view, drawing, padded)
    return {
        "source": source_id,
        "sequence": shown.sequence,
        "gaps": gaps(shown, *padded, width // PIXELS),
        "start": padded[0],
        "end": padded[1],
        "first": first,
        "last": last,
        "offset": offset,
        "lanes_total": total,
        "lanes_more": more,
        "pins": len(rows.pinned),
        "groups": _groups(shown, rows, page[len(rows.pinned) :], len(rows.pinned)),
        "findings_in_view": view.occurrences(source_id).filter(_within(start, end)).count(),
        **drawing.columns(),
    }


def _drawing(source: Source, rows: list[lanes.LaneRow], span: tuple[int, int], last: int, width: int) -> lanes.Drawing:
    """Drawn as finely as a screen shows it; more coarsely where that would be too much for a browser."""
    tracks = _tracks(source, rows, span)
    cells = _cells(source, rows, span)
    pixel = max(1, width // PIXELS)
    read: dict[int, lanes.Read] = {}
    while True:
        drawing = lanes.Drawing(rows, span, last, pixel, read)
        for track in tracks:
            drawing.add_track(*track)
        drawing.add_cells(cells)
        if drawing.size <= MARKS or pixel > width:
            return drawing
        pixel *= 2


def _tracks(source: Source, rows: list[lanes.LaneRow], span: tuple[int, int]) -> list[tuple[Any, ...]]:
    query = """
        SELECT id, lane, root, number, upper(life), lifeline FROM timeline_track
        WHERE source_id = %s AND lane = ANY(%s) AND life && tstzrange(%s, %s, '[]')
        ORDER BY lower(life), number"""
    with connection.cursor() as cursor:
        cursor.execute(query, [source.pk, [row.lane for row in rows if row.lane], *map(moment, span)])
        return [(*row[:-2], row[-2] and microseconds(row[-2]), unpacked(row[-1])) for row in cursor]


def _cells(source: Source, rows: list[lanes.LaneRow], span: tuple[int, int]) -> list[lanes.Cell]:
    """How many objects of each strip lived in each slice of the span."""
    strips = {row.strip: row for row in rows if not row.lane}
    if not strips:
        return []
    size = max(1, -(-(span[1] - span[0]) // _CELLS))
    query = """
        SELECT strip, greatest(0, floor(extract(epoch FROM lower(span) - %(start)s) * 1000000 / %(size)s))::int,
               floor(extract(epoch FROM upper(span) - %(start)s) * 1000000 / %(size)s)::int
        FROM timeline_track
        WHERE source_id = %(source)s AND family = ANY(%(families)s) AND strip = ANY(%(strips)s)
              AND span && tstzrange(%(start)s, %(end)s, '[]')"""
    values: dict[str, Any] = {
        "source": source.pk,
        "start": moment(span[0]),
        "end": moment(span[1]),
        "size": size,
        "families": list({row.family for row in strips.values()}),
        "strips": list(strips),
    }
    steps = {strip: [0] * (_CELLS + 1) for strip in strips}
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        for strip, begins, ends in cursor:
            steps[strip][min(begins, _CELLS)] += 1
            if ends is not None and ends < _CELLS:
                steps[strip][ends + 1] -= 1
    cells = []
    for strip, changes in steps.items():
        count = 0
        for index, change in enumerate(changes[:-1]):
            count += change
            begins = span[0] + index * size
            cells.append(lanes.Cell(strip, begins, min(begins + size, span[1]), count))
    return cells


def _groups(source: Source, rows: Rows, page: list[lanes.LaneRow], pins: int) -> list[GroupPayload]:
    """The headings of a page; those of closed groups are rows of it that have no lanes."""
    counts = rows.counts(list({row.heading for row in page}))
    headings: list[tuple[lanes.Heading, int]] = []
    index = pins
    for row in page:
        if not headings or headings[-1][0].key != row.heading:
            headings.append((lanes.Heading(row.heading, counts.get(row.heading, 0), index, not row.members), row.root))
        index += bool(row.members)
    roots: dict[int, tuple[str, str, str, str, int]] = {}
    if rows.by_owner:
        found = Track.objects.filter(source=source, id__in={root for _, root in headings})
        roots = {row[-1]: row for row in found.values_list("group", "kind", "namespace", "name", "id")}
    return [lanes.group_payload(heading, roots.get(root)) for heading, root in headings]


def _add_findings(source: Source, view: View, drawing: lanes.Drawing, span: tuple[int, int]) -> None:
    """Those that lanes of the drawing show, and the one that is selected."""
    query = """
        SELECT drawn FROM timeline_occurrence
        WHERE source_id = %s AND (key = %s OR first <= %s AND last >= %s AND tracks && %s::bigint[])
        ORDER BY rank, first, key LIMIT %s"""
    values: list[Any] = [source.pk, view.finding, moment(span[1]), moment(span[0]), list(drawing.tracks), _OCCURRENCES]
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        told = [(subject, each) for (drawn,) in cursor for subject, each in orjson.loads(drawn)]
        named = {proof["track"] for _, each in told for proof in each["proof"]} | {subject for subject, _ in told}
        hidden = [track for track in named - drawing.tracks if track]
        cursor.execute(
            "SELECT id, strip FROM timeline_track WHERE source_id = %s AND id = ANY(%s) AND strip <> 0",
            [source.pk, hidden],
        )
        drawing.fold(cursor)
    drawing.add_findings(((subject, [each]) for subject, each in told), view.finding)


def _within(start: int, end: int) -> Q:
    return Q(first__lte=moment(end), last__gte=moment(start))
