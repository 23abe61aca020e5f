"""Read windows: what a screen shows of a range of time. Only tracks are read, and no entries.

Times are microseconds since 1970, UTC.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from django.db import connection

from timeline.core.entries import moment
from timeline.history.packing import unpack
from timeline.kinds import kind_of
from timeline.layout.assembly import MARKS, LanePage, Range, assemble
from timeline.layout.density import Density
from timeline.layout.drawing import Cell, Drawing, Lives
from timeline.layout.lanes import LaneRow, RootOwner
from timeline.layout.phases import Reading, lifeline_of, spans_and_events, thinned
from timeline.models import Source, Track
from timeline.payloads.windows import ScopePayload, WindowPayload
from timeline.queries.arrays import array
from timeline.queries.incidents import beginnings, occurrences
from timeline.queries.objects.views import views_of
from timeline.queries.sources.extents import extent
from timeline.queries.sources.gaps import gaps
from timeline.queries.window import dense
from timeline.queries.window.rows import Rows
from timeline.queries.window.view import View

LANES = 40  # the default number of lanes in a window
PIXELS = 1200  # the width of a wide screen; bars and marks that are closer than one pixel are merged
_CELLS = 180  # the number of slices of a strip: 60 on the screen, and as many on each side
# Others are counted for limited readers, and take long to be read. The census is read later by the views that need it.
_NEEDED = ("first", "last", "sequence", "tide", "views", "cluster")
_LONG = 1_000_000  # bytes of the lifelines of a window, about 5000 changes; of longer ones each change is not read
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
    source = Source.objects.only(*_NEEDED).get(pk=source_id)
    if view.incident:  # also Leases and other noise that its findings name
        view = view.but(noise=True, focus=beginnings.focus(source_id, view.incident))
    first, last = extent(source)
    start = first if start is None else start
    end = max(start, last if end is None else end)  # a default end may be before a given start
    width = max(end - start, 1)
    lower = max(first, start - width)
    padded = lower, max(lower, min(last, end + width))  # a range outside of the recording is empty
    since = start if view.since is None else min(start, view.since)
    page = _page(source, view, Rows(source, view, since, end), offset, limit)
    lives = _lives(source, page.drawn, padded, width)
    named = lives.single, lives.crowded
    with occurrences.drawn(source.pk, padded, *named, view.finding, _OCCURRENCES) as findings:
        drawing = _drawing(page.drawn, padded, last, width, (start, end), lives)
        found = findings()
    _add_findings(source, drawing, found, lives.crowded, view.finding)
    if source.views:
        drawing.add_views(views_of(source.pk, drawing.tracks), view.open)
    return assemble(
        Range(source_id, source.sequence, padded, (first, last)),
        page,
        drawing,
        gaps(source, *padded, width // PIXELS),
        _scope(source, view),
    )


def _page(source: Source, view: View, rows: Rows, offset: int, limit: int) -> LanePage:
    page, total, more = rows.page(offset, limit)
    last = offset + len(page) >= total  # the folded lanes of all groups are counted where the list ends
    counts = rows.counts(list({row.heading for row in page}))
    roots: dict[int, RootOwner] = {}
    if rows.by_owner:
        with connection.cursor() as cursor:
            cursor.execute(
                'SELECT "group", kind, namespace, name, id FROM timeline_track WHERE source_id = %s AND id = ANY(%s)',
                [source.pk, list({row.root for row in page})],
            )
            roots = {row[-1]: row for row in cursor.fetchall()}
    unnamed = "not known" if view.group == "actor" else "cluster"
    folded = rows.folded() if last else None
    return LanePage(rows.pinned + page, len(rows.pinned), offset, total, more, counts, roots, unnamed, folded)


class _Lives(NamedTuple):
    """The lives of the rows of a window in its range of time."""

    single: list[int]  # the numbers of the tracks that are drawn one by one
    tracks: list[tuple[Any, ...]]  # what `_tracks` returns of them
    together: list[Lives]  # the others
    crowded: list[int]  # the dense lanes, which show several lives as one bar
    cells: list[Cell]  # of the strips


def _lives(source: Source, rows: list[LaneRow], span: tuple[int, int], width: int) -> _Lives:
    shown = {(row.lane, row.root) for row in rows if row.lane}
    crowded, single = dense.lanes_of(source, {lane for lane, _ in shown}, span)
    together: list[Lives] = []
    if crowded:
        together = dense.lives_of(source, crowded, span, max(1, width // PIXELS))
        alone = [lives.track for lives in together if lives.many == 1]
        if len(alone) <= dense.ONE_BY_ONE:
            single += alone
            together = [lives for lives in together if lives.many > 1]
    tracks = _tracks(source, single)
    drawn = [track for track, lane, root, *_ in tracks if (lane, root) in shown]
    return _Lives(drawn, tracks, together, crowded, _cells(source, rows, span))


def _drawing(
    rows: list[LaneRow], span: tuple[int, int], last: int, width: int, view: tuple[int, int], lives: _Lives
) -> Drawing:
    """Return the drawing of these rows with these lives. It asks PostgreSQL nothing.

    Bars and marks closer than a pixel of the screen are merged, and further ones, too, if there would be too many for a
    browser.
    """
    pixel = max(1, width // PIXELS)
    kinds = {(row.lane, row.root): kind_of(row.group, row.kind) for row in rows if row.lane}
    tracks: list[tuple[Any, ...]] = []
    readings: dict[int, Reading] = {}
    found = [(*row, unpack(bytes(stored))) for *row, stored in lives.tracks]
    is_long = sum(len(row[-1]) for row in found) > _LONG
    for track, lane, root, number, until, text in found:
        if kind := kinds.get((lane, root)):
            lifeline = thinned(kind, text, pixel) if is_long else lifeline_of(kind, text)
            tracks.append((track, lane, root, number, until, lifeline))
            readings[track] = spans_and_events(kind, lifeline, until, last)
    drawing = Drawing(rows, span, last, pixel, readings, view)
    drawing.add_cells(lives.cells)
    already = drawing.size + len(lives.together)
    if already + sum(1 + len(spans) + len(events) for spans, events, _ in readings.values()) > MARKS:
        density = Density(span)
        for track, *_, lifeline in tracks:
            created = lifeline[0][0] if lifeline and lifeline[0][2] == "created" else None
            density.add(readings[track], created)
        while already + density.size(drawing.pixel) > MARKS and drawing.pixel <= width:
            drawing.pixel *= 2
    drawing.add_lives(lives.together)
    for each in tracks:
        drawing.add_track(*each)
    return drawing


def _tracks(source: Source, numbers: list[int]) -> list[tuple[Any, ...]]:
    """Return the tracks with these numbers in the order of their beginnings, as `Drawing.add_track` takes them, but
    with packed lifelines."""
    if not numbers:
        return []
    query = """
        SELECT id, lane, root, number, (extract(epoch FROM upper(life)) * 1000000)::bigint, lifeline FROM timeline_track
        WHERE source_id = %s AND id = ANY(%s::bigint[]) ORDER BY lower(life), number, id"""
    with connection.cursor() as cursor:
        cursor.execute(query, [source.pk, array(numbers)])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


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


def _add_findings(
    source: Source, drawing: Drawing, found: list[occurrences.Placed], crowded: Collection[int], selected: str
) -> None:
    """Draw these findings, which name tracks of the drawing, or of dense lanes, and the selected one."""
    named = {proof["track"] for _, _, each in found for proof in each["proof"]} | {subject for subject, *_ in found}
    hidden = [track for track in named - drawing.tracks if track]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, lane, root, strip FROM timeline_track"
            " WHERE source_id = %s AND id = ANY(%s::bigint[]) AND (strip <> 0 OR lane = ANY(%s))",
            [source.pk, array(hidden), list(crowded)],
        )
        drawing.fold(cursor.fetchall())
    drawing.add_findings(((subject, severity, [each]) for subject, severity, each in found), selected)


def _scope(source: Source, view: View) -> ScopePayload | None:
    row = Track.objects.filter(source=source, id=view.scope).first() if view.scope is not None else None
    return {"kind": row.kind, "namespace": row.namespace, "name": row.name} if row else None
