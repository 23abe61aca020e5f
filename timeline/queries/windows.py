"""This module reads windows: what a screen shows of a range of time. It reads tracks, and no entries.

Times are microseconds since 1970, UTC.
"""

from typing import Any

from django.db import connection

from timeline.core.entries import microseconds, moment
from timeline.kinds import kind_of
from timeline.layout.assembly import MARKS, Page, Range, assemble
from timeline.layout.density import Density
from timeline.layout.drawing import Cell, Drawing
from timeline.layout.lanes import LaneRow, RootOwner
from timeline.layout.phases import Reading, spans_and_events
from timeline.models import Source, Track, unpacked
from timeline.payloads.windows import ScopePayload, WindowPayload
from timeline.queries import occurrences
from timeline.queries.gaps import gaps
from timeline.queries.rows import Rows
from timeline.queries.sources import extent
from timeline.queries.view import View
from timeline.queries.views import views_of

LANES = 40  # the default number of lanes in a window
PIXELS = 1200  # the width of a wide screen; bars and marks that are closer than one pixel are merged
_CELLS = 180  # the number of slices of a strip: 60 on the screen, and as many on each side
_NOT_NEEDED = ("row_counts", "entries", "told", "histogram", "actors")  # some of these are counted for limited readers
_OCCURRENCES = 300  # the most rows of the list of findings whose holes, shades and arrows are drawn


def window(
    source_id: int,
    start: int | None = None,
    end: int | None = None,
    *,
    offset: int = 0,
    limit: int = LANES,
    view: View | None = None,
) -> WindowPayload:
    """Return what a screen shows from `start` to `end`, by default of the whole source.

    The window also has what is drawn up to the same width before and after this range, so that the screen can be moved.
    `offset` and `limit` select lanes. Raises Source.DoesNotExist.
    """
    view = view or View()
    source = Source.objects.defer(*_NOT_NEEDED).get(pk=source_id)
    first, last = extent(source)
    start = first if start is None else start
    end = max(start, last if end is None else end)  # a default end may be before a given start
    width = max(end - start, 1)
    lower = max(first, start - width)
    padded = lower, max(lower, min(last, end + width))  # a range outside of the recording is empty
    page = _page(source, view, Rows(source, view, start, end), offset, limit)
    drawing = _drawing(source, page.drawn, padded, last, width, (start, end))
    _add_findings(source, view, drawing, padded)
    if source.views:
        drawing.add_views(views_of(source.pk, drawing.tracks), view.opened)
    return assemble(
        Range(source_id, source.sequence, padded, (first, last)),
        page,
        drawing,
        gaps(source, *padded, width // PIXELS),
        _scope(source, view),
    )


def _page(source: Source, view: View, rows: Rows, offset: int, limit: int) -> Page:
    page, total, more = rows.page(offset, limit)
    last = offset + len(page) >= total  # the folded lanes of all groups are counted where the list ends
    counts = rows.counts(list({row.heading for row in page}))
    roots: dict[int, RootOwner] = {}
    if rows.by_owner:
        owners = Track.objects.filter(source=source, id__in={row.root for row in page})
        roots = {row[-1]: row for row in owners.values_list("group", "kind", "namespace", "name", "id")}
    unnamed = "not known" if view.grouping == "actor" else "cluster"
    folded = rows.folded() if last else None
    return Page(rows.pinned + page, len(rows.pinned), offset, total, more, counts, roots, unnamed, folded)


def _drawing(
    source: Source, rows: list[LaneRow], span: tuple[int, int], last: int, width: int, view: tuple[int, int]
) -> Drawing:
    """Return the drawing of these rows. Bars and marks closer than a pixel of the screen are merged, and further
    ones, too, if there would be too many for a browser."""
    tracks = _tracks(source, rows, span)
    kinds = {(row.lane, row.root): kind_of(row.group, row.kind) for row in rows if row.lane}
    readings: dict[int, Reading] = {}
    density = Density(span)
    for track, lane, root, _, until, lifeline in tracks:
        if kind := kinds.get((lane, root)):
            readings[track] = spans_and_events(kind, lifeline, until, last)
            density.add(readings[track], lifeline[0][0] if lifeline and lifeline[0][2] == "created" else None)
    drawing = Drawing(rows, span, last, max(1, width // PIXELS), readings, view)
    drawing.add_cells(_cells(source, rows, span))
    cells = drawing.size
    while cells + density.size(drawing.pixel) > MARKS and drawing.pixel <= width:
        drawing.pixel *= 2
    for each in tracks:
        drawing.add_track(*each)
    return drawing


def _tracks(source: Source, rows: list[LaneRow], span: tuple[int, int]) -> list[tuple[Any, ...]]:
    query = """
        SELECT id, lane, root, number, upper(life), lifeline FROM timeline_track
        WHERE source_id = %s AND lane = ANY(%s) AND life && tstzrange(%s, %s, '[]')
        ORDER BY lower(life), number"""
    with connection.cursor() as cursor:
        cursor.execute(query, [source.pk, [row.lane for row in rows if row.lane], *map(moment, span)])
        return [(*row[:-2], row[-2] and microseconds(row[-2]), unpacked(row[-1])) for row in cursor]


def _cells(source: Source, rows: list[LaneRow], span: tuple[int, int]) -> list[Cell]:
    """Return how many objects of each strip existed in each slice of the span."""
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
    """Draw the findings that name tracks of the drawing, and the selected one."""
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


def _scope(source: Source, view: View) -> ScopePayload | None:
    row = Track.objects.filter(source=source, id=view.scope).first() if view.scope is not None else None
    return {"kind": row.kind, "namespace": row.namespace, "name": row.name} if row else None
