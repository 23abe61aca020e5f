"""Write a picture as an SVG file of its own, with a heading and the names of the lanes: for a renderer without CSS."""

from collections.abc import Sequence
from typing import NamedTuple

from dashboard.drawing import figures
from dashboard.drawing.canvas import Canvas, Element, add, picture, written
from dashboard.drawing.lettering import Letters
from dashboard.drawing.pictures import COLOURS, Picture
from dashboard.drawing.shapes import ROW, SEVERITIES
from timeline.judging.findings import Severity

WIDTH = 1000  # in pixels, as the following
_EDGE = 22
_LABELS = 224  # of the names of the lanes
_CHART = WIDTH - 2 * _EDGE - _LABELS
_AXIS = 24
_BELOW = 4  # room below the last lane
_TITLE, _TEXT = 19, 13


class Heading(NamedTuple):
    """What a picture says above and below its lanes."""

    title: str
    severity: Severity
    lines: Sequence[str]  # what it is about, and when it happened
    cause: str  # a sentence; "" if none is proven
    below: str  # where the picture comes from
    more: str  # "and 12 more objects"; "" if all are drawn


def svg(shown: Picture, heading: Heading, theme: figures.Theme, letters: Letters) -> str:
    """Return the file. It has the same lanes as the page, at a fixed width."""
    canvas = Canvas(theme, letters, _CHART)
    root = picture(xmlns="http://www.w3.org/2000/svg", width=WIDTH)
    paper = add(root, "rect", width=WIDTH, fill=canvas.colour("paper"))
    top = _head(canvas, root, heading)
    tall = shown.height + _BELOW + (_AXIS - _BELOW if heading.more else 0)
    _frame(canvas, root, top, tall)
    _names(canvas, root, shown, top + shown.head, heading.more)
    root.append(shown.chart(canvas, x=_EDGE + _LABELS, y=top, width=_CHART, height=shown.height + _BELOW))
    root.append(canvas.axis(shown.ticks, x=_EDGE + _LABELS, y=top + tall + 2, width=_CHART))
    day = f"{shown.ticks[0].iso[:10]} UTC" if shown.ticks else "UTC"
    canvas.text(root, _EDGE + _LABELS - 10, top + tall + 16, day, colour="ink-soft", anchor="end")
    bottom = top + tall + _AXIS
    canvas.text(root, _EDGE, bottom + 22, heading.below, colour="ink-soft", room=WIDTH - 2 * _EDGE)
    for each in (root, paper):
        each.set("height", str(bottom + 36))
    return written(root)


def _head(canvas: Canvas, root: Element, heading: Heading) -> int:
    """Draw the title and the lines below it, and return where the lanes begin."""
    place = f"translate({_EDGE} {_EDGE + 1}) scale(1.2)"
    fill = canvas.colour(COLOURS[heading.severity])
    add(root, "path", d=SEVERITIES[heading.severity], fill=fill, transform=place)
    letters, y = canvas.letters, _EDGE + 16
    left, room = _EDGE + 28, WIDTH - 2 * _EDGE - 28
    for line in letters.lines(letters.written(heading.title), room, _TITLE, 600):
        canvas.text(root, left, y, line, size=_TITLE, weight=600)
        y += 25
    for words, colour, gap in [*((line, "ink-soft", 0) for line in heading.lines), (heading.cause, "ink", 4)]:
        y += gap if words else 0
        for line in letters.lines(letters.written(words), room, _TEXT) if words else ():
            canvas.text(root, left, y, line, size=_TEXT, colour=colour)
            y += 19
    return y + 1


def _frame(canvas: Canvas, root: Element, top: int, tall: int) -> None:
    line, width = canvas.colour("line"), WIDTH - 2 * _EDGE
    add(root, "rect", x=_EDGE, y=top, width=width, height=tall + _AXIS, rx=8, fill="none", stroke=line)
    for x1, x2, y1, y2 in (
        (_EDGE + _LABELS, _EDGE + _LABELS, top, top + tall + _AXIS),
        (_EDGE, WIDTH - _EDGE, top + tall, top + tall),
    ):
        add(root, "line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=line)


def _names(canvas: Canvas, root: Element, shown: Picture, y: int, more: str) -> None:
    """Write the names of the lanes from `y` on."""
    room = _LABELS - 72
    for lane in shown.lanes:
        family = f"family-{lane['family'].lower()}"
        ink = canvas.colour(lambda palette, name=family: figures.mix(palette[name], palette["ink"], 0.55))  # type: ignore[misc]
        frame = {"fill": "none", "stroke": canvas.colour(family)}
        add(root, "rect", x=_EDGE + 11, y=y + 9, width=46, height=16, rx=5, **frame)
        canvas.text(root, _EDGE + 34, y + 21, lane["short"], weight=600, colour=ink, anchor="middle", room=44)
        canvas.text(root, _EDGE + 65, y + 15, lane["name"], size=_TEXT - 0.5, room=room)
        canvas.text(root, _EDGE + 65, y + 28, lane["subtitle"], colour="ink-soft", room=room)
        y += ROW
    if more:
        canvas.text(root, _EDGE + 11, y + 16, more, colour="ink-soft", room=_LABELS - 20)
