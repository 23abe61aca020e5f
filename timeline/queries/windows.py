"""A window: what a screen shows of a range of time. It reads tracks, not entries. Times are microseconds."""

from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import Q

from timeline.core.entries import microseconds, moment
from timeline.layout.assembly import MARKS, Page, Range, assemble
from timeline.layout.drawing import Cell, Drawing
from timeline.layout.lanes import LaneRow, RootOwner
from timeline.models import Source, Track, unpacked
from timeline.payloads.windows import WindowPayload
from timeline.queries import occurrences
from timeline.queries.gaps import gaps
from timeline.queries.rows import Rows
from timeline.queries.sources import extent
from timeline.queries.view import View

if TYPE_CHECKING:
    from timeline.layout.phases import Reading

LANES = 40
PIXELS = 1200  # of a wide screen: what lies closer together is drawn as one
_CELLS = 180  # slices of a strip: 60 on the screen, as many on each side
_OCCURRENCES = 300  # whose holes, shades and arrows are drawn, gravest first


def window(
    source_id: int,
    start: int | None = None,
    end: int | None = None,
    *,
    offset: int = 0,
    limit: int = LANES,
    view: View | None = None,
) -> WindowPayload:
    """Return what a screen shows of [start, end], padded by its width on both sides; the whole source if left out.

    Raises Source.DoesNotExist.
    """
    view = view or View()
    source = Source.objects.get(pk=source_id)
    first, last = extent(source)
    start = first if start is None else start
    end = max(start, last if end is None else end)  # one that is left out may lie before the other
    width = max(end - start, 1)
    lower = max(first, start - width)
    padded = lower, max(lower, min(last, end + width))  # a range beside the recording is empty
    page = _page(source, Rows(source, view, start, end), offset, limit)
    drawing = _drawing(source, page.drawn, padded, last, width)
    _add_findings(source, view, drawing, padded)
    return assemble(
        Range(source_id, source.sequence, padded, (first, last)),
        page,
        drawing,
        gaps(source, *padded, width // PIXELS),
        view.occurrences(source_id).filter(_within(start, end)).count(),
    )


def _page(source: Source, rows: Rows, offset: int, limit: int) -> Page:
    page, total, more = rows.page(offset, limit)
    counts = rows.counts(list({row.heading for row in page}))
    roots: dict[int, RootOwner] = {}
    if rows.by_owner:
        owners = Track.objects.filter(source=source, id__in={row.root for row in page})
        roots = {row[-1]: row for row in owners.values_list("group", "kind", "namespace", "name", "id")}
    return Page(rows.pinned + page, len(rows.pinned), offset, total, more, counts, roots)


def _drawing(source: Source, rows: list[LaneRow], span: tuple[int, int], last: int, width: int) -> Drawing:
    """Draw as finely as a screen shows it, or more coarsely where that would be too much for a browser."""
    tracks = _tracks(source, rows, span)
    cells = _cells(source, rows, span)
    pixel = max(1, width // PIXELS)
    readings: dict[int, Reading] = {}
    while True:
        drawing = Drawing(rows, span, last, pixel, readings)
        for track in tracks:
            drawing.add_track(*track)
        drawing.add_cells(cells)
        if drawing.size <= MARKS or pixel > width:
            return drawing
        pixel *= 2


def _tracks(source: Source, rows: list[LaneRow], span: tuple[int, int]) -> list[tuple[Any, ...]]:
    query = """
        SELECT id, lane, root, number, upper(life), lifeline FROM timeline_track
        WHERE source_id = %s AND lane = ANY(%s) AND life && tstzrange(%s, %s, '[]')
        ORDER BY lower(life), number"""
    with connection.cursor() as cursor:
        cursor.execute(query, [source.pk, [row.lane for row in rows if row.lane], *map(moment, span)])
        return [(*row[:-2], row[-2] and microseconds(row[-2]), unpacked(row[-1])) for row in cursor]


def _cells(source: Source, rows: list[LaneRow], span: tuple[int, int]) -> list[Cell]:
    """Count the objects of each strip that lived in each slice of the span."""
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
            cells.append(Cell(strip, begins, min(begins + size, span[1]), count))
    return cells


def _add_findings(source: Source, view: View, drawing: Drawing, span: tuple[int, int]) -> None:
    """Draw the findings that are proven on the lanes of the drawing, and the selected one."""
    found = occurrences.drawn(source.pk, span, drawing.tracks, view.finding, _OCCURRENCES)
    named = {proof["track"] for _, each in found for proof in each["proof"]} | {subject for subject, _ in found}
    hidden = [track for track in named - drawing.tracks if track]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, strip FROM timeline_track WHERE source_id = %s AND id = ANY(%s) AND strip <> 0",
            [source.pk, hidden],
        )
        drawing.fold(cursor)
    drawing.add_findings(((subject, [each]) for subject, each in found), view.finding)


def _within(start: int, end: int) -> Q:
    return Q(first__lte=moment(end), last__gte=moment(start))
