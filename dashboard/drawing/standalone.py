"""Write a picture as an SVG file of its own, in pixels, with a heading: for a renderer without CSS.

`templates/parts/picture.html` draws the same for pages, which stretch it to their width.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from dashboard.drawing import figures
from dashboard.drawing.canvas import Canvas, add
from dashboard.drawing.lettering import Letters
from dashboard.drawing.pictures import BAR, ROW
from dashboard.drawing.shapes import Bar, Box, Line, Picture
from timeline.judging.findings import Severity

WIDTH = 1000  # in pixels, as the next
_NUMBER = re.compile(r"-?[\d.]+")
_EDGE = 22
_LABELS = 224  # of the names of the lanes
_AXIS = 24
_BELOW = 4  # room below the last lane
_TITLE, _TEXT, _SMALL = 19, 13, 11
_SEVERITIES: dict[Severity, tuple[str, str]] = {  # the colour and the shape, as in templates/parts/shape.html
    "error": ("fault", "M7 .8 13.2 7 7 13.2.8 7z"),
    "warning": ("violation", "M7 1.2 13.4 12.6H.6z"),
    "info": ("accent", "M7 1.2a5.8 5.8 0 1 0 .01 0z"),
}


class Heading(NamedTuple):
    """What a picture says above and below its lanes."""

    title: str
    severity: Severity
    lines: Sequence[str]  # what it is about, and when it happened
    cause: str  # a sentence; "" if none is proven
    below: str  # where the picture comes from
    more: str  # "and 12 more objects"; "" if all are drawn


def svg(picture: Picture, heading: Heading, theme: figures.Theme, letters: Letters) -> str:
    return _Sheet(picture, theme, letters).draw(heading)


class _Sheet(Canvas):
    """Place the parts of a picture on a sheet of fixed width."""

    def __init__(self, picture: Picture, theme: figures.Theme, letters: Letters) -> None:
        self._picture = picture
        super().__init__(theme, letters)
        self._wide = WIDTH - 2 * _EDGE - _LABELS

    def draw(self, heading: Heading) -> str:
        paper = add(self.root, "rect", width=WIDTH, height="100%", fill=self.colours["paper"])
        self._definitions()
        top = self._head(heading)
        tall = self._picture.height + _BELOW + (_AXIS - _BELOW if heading.more else 0)
        self._frame(top, tall)
        self._names(top, heading.more)
        self._chart(top)
        self._axis(top + tall)
        bottom = top + tall + _AXIS
        self.text(self.root, _EDGE, bottom + 22, heading.below, size=_SMALL, fill="ink-soft", room=WIDTH - 2 * _EDGE)
        height = bottom + 36
        paper.set("height", str(height))
        self.root.attrib |= {"width": str(WIDTH), "height": str(height), "viewBox": f"0 0 {WIDTH} {height}"}
        return self.written()

    def _definitions(self) -> None:
        colours = self.colours
        parts = add(self.root, "defs")
        for name, size, ground, line, width in (
            ("hatch", 6, colours["hatch-paper"], colours["hatch"], 1.6),
            ("unsure", 5, "none", colours["violation"], 1.5),
        ):
            turned = {"patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
            pattern = add(parts, "pattern", id=name, width=size, height=size, **turned)
            add(pattern, "rect", width=size, height=size, fill=ground)
            add(pattern, "rect", width=width, height=size, fill=line, opacity=0.55 if name == "unsure" else 1)
        fade = add(parts, "linearGradient", id="fade")
        add(fade, "stop", offset=0, stop_color=colours["paper"], stop_opacity=0)
        add(fade, "stop", offset=1, stop_color=colours["paper"])
        clip = add(parts, "clipPath", id="chart")
        add(clip, "rect", width=self._wide, height=self._picture.height + _BELOW)

    def _head(self, heading: Heading) -> int:
        """Draw the title and the lines below it, and return where the lanes begin."""
        colour, shape = _SEVERITIES[heading.severity]
        mark = add(self.root, "path", d=shape, fill=self.colours[colour])
        mark.set("transform", f"translate({_EDGE} {_EDGE + 1}) scale(1.2)")
        y = _EDGE + 16
        left, room = _EDGE + 28, WIDTH - 2 * _EDGE - 28
        for line in self.letters.lines(self.letters.written(heading.title), room, _TITLE, 600):
            self.text(self.root, left, y, line, size=_TITLE, weight=600)
            y += 25
        for words, fill, gap in [*((line, "ink-soft", 0) for line in heading.lines), (heading.cause, "ink", 4)]:
            y += gap if words else 0
            for line in self.letters.lines(self.letters.written(words), room, _TEXT) if words else ():
                self.text(self.root, left, y, line, size=_TEXT, fill=fill)
                y += 19
        return y + 1

    def _frame(self, top: int, tall: int) -> None:
        line = self.colours["line"]
        width = WIDTH - 2 * _EDGE
        add(self.root, "rect", x=_EDGE, y=top, width=width, height=tall + _AXIS, rx=8, fill="none", stroke=line)
        for x1, x2, y1, y2 in (
            (_EDGE + _LABELS, _EDGE + _LABELS, top, top + tall + _AXIS),
            (_EDGE, WIDTH - _EDGE, top + tall, top + tall),
        ):
            add(self.root, "line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=line)

    def _names(self, top: int, more: str) -> None:
        y = top + self._picture.head
        room = _LABELS - 72
        for lane in self._picture.lanes:
            colour = self.colours[f"family-{lane['family'].lower()}"]
            ink = figures.mix(colour, self.colours["ink"], 0.55)
            add(self.root, "rect", x=_EDGE + 11, y=y + 9, width=46, height=16, rx=5, fill="none", stroke=colour)
            short: dict[str, Any] = {"size": _SMALL, "weight": 600, "colour": ink, "anchor": "middle", "room": 44.0}
            self.text(self.root, _EDGE + 34, y + 21, lane["short"], **short)
            self.text(self.root, _EDGE + 65, y + 15, lane["name"], size=_TEXT - 0.5, room=room)
            self.text(self.root, _EDGE + 65, y + 28, lane["subtitle"], size=_SMALL, fill="ink-soft", room=room)
            y += ROW
        if more:
            self.text(self.root, _EDGE + 11, y + 16, more, size=_SMALL, fill="ink-soft", room=_LABELS - 20)

    def _chart(self, top: int) -> None:
        place = add(self.root, "g", transform=f"translate({_EDGE + _LABELS} {top})")
        self._parts = add(place, "g", clip_path="url(#chart)")
        picture, colours = self._picture, self.colours
        for tick in picture.ticks:
            x = self._x(tick.at)
            add(self._parts, "line", x1=x, x2=x, y1=0, y2=picture.height + _BELOW, stroke=colours["grid"])
        dashed: dict[str, Any] = {"stroke": colours["violation"], "stroke_width": 1.3, "stroke_dasharray": "4 3"}
        for box in picture.shades:
            self._box(box, fill=colours["violation"], fill_opacity=0.13)
        for bar in picture.bars:
            self._bar(bar)
        for box in picture.shades:
            self._box(box, fill="none", **dashed)
        for box in picture.holes:
            self._box(box, fill=colours["paper"], **dashed)
        for box in picture.unsure:
            self._box(box, fill="url(#unsure)")
        for bar in picture.bars:
            self._phase(bar)
        for box in picture.holes:
            self._hole(box)
        for dot in picture.marks:
            outline: dict[str, Any] = {"fill": colours["mark"], "stroke": colours["paper"], "stroke_width": 0.7}
            add(self._parts, "path", d=dot.shape, transform=f"translate({self._x(dot.at):.1f} {dot.y})", **outline)
        for line in picture.arrows:
            self._arrow(line)
        for dot in picture.births:
            half = 13 if len(dot.text) > 2 else 9.5
            x = self._x(dot.at)
            round_: dict[str, Any] = {"fill": colours["paper"], "stroke": colours["ink"], "stroke_width": 1.4}
            add(self._parts, "rect", x=x - half, y=dot.y - 9.5, width=2 * half, height=19, rx=9.5, **round_)
            self.text(self._parts, x, dot.y + 3.6, dot.text, size=10, weight=600, anchor="middle")
        for line in picture.arrows:
            self._said(line)

    def _x(self, share: str) -> float:
        """Return the pixels of a position in per cent."""
        return float(share[:-1]) * self._wide / 100

    def _box(self, box: Box, **look: Any) -> None:
        size: dict[str, Any] = {"width": max(1.0, self._x(box.width)), "height": box.height}
        add(self._parts, "rect", x=self._x(box.at), y=box.y, **size, **look)

    def _bar(self, bar: Bar) -> None:
        x, width = self._x(bar.at), self._x(bar.width)
        fill = "url(#hatch)" if bar.tone == "ended" else self._ground(bar)
        add(self._parts, "rect", x=x, y=bar.y, width=width, height=BAR, fill=fill)
        if bar.unseen:
            add(self._parts, "rect", x=x, y=bar.y, width=min(8.0, width), height=BAR, fill="url(#hatch)")
        if bar.lives:
            shade = min(26.0, width)
            add(self._parts, "rect", x=x + width - shade, y=bar.y, width=shade, height=BAR, fill="url(#fade)")

    def _ground(self, bar: Bar) -> str:
        if bar.tone == "ended":
            return self.colours["hatch-paper"]
        return figures.mix(self.colours[f"family-{bar.family}"], self.colours["paper"], figures.TONES[bar.tone])

    def _phase(self, bar: Bar) -> None:
        """Write the phase on its bar, right of the number of a creation, and readable over an uncertain interval."""
        x, width = self._x(bar.at), self._x(bar.width)
        births = (self._x(dot.at) for dot in self._picture.births if dot.y == bar.y + BAR // 2)
        left = max([x + bar.pad, *(birth + 14 for birth in births if abs(birth - x) < 14)])
        room = min(x + width, self._wide) - left - (22 if bar.lives else 5)
        ground = self._ground(bar)
        look: dict[str, Any] = {"size": _SMALL, "colour": figures.readable(ground), "room": room}
        self.halo(self.text(self._parts, left, bar.y + 13, bar.text, **look), ground, 2.5)

    def _hole(self, box: Box) -> None:
        text = self.letters.fitted(self.letters.written(box.text), self._x(box.width) - 16, _SMALL, 600)
        look: dict[str, Any] = {"size": _SMALL, "weight": 600, "fill": "violation-ink"}
        drawn = self.text(self._parts, self._x(box.at) + 10, box.y + 13, text, **look)
        self.halo(drawn, self.colours["paper"], 4)

    def _arrow(self, line: Line) -> None:
        numbers = [float(each) for each in _NUMBER.findall(line.path)]
        points = [f"{x * self._wide / 1000:.1f} {y:.1f}" for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        colour = self.colours["violation"]
        path = f"M{points[0]} C{' '.join(points[1:])}"
        add(self._parts, "path", d=path, fill="none", stroke=colour, stroke_width=2)
        add(self._parts, "path", d=line.head, fill=colour, transform=f"translate({self._x(line.at):.1f} {line.y})")

    def _said(self, line: Line) -> None:
        """Draw what an arrow says, inside the chart."""
        text = self.letters.fitted(self.letters.written(line.text), self._wide - 40, _SMALL, 600)
        half = self.letters.width(text, _SMALL, 600) / 2 + 9
        middle = min(max(self._x(line.text_at), half + 4), self._wide - half - 4)
        top = max(line.text_y - 10, 1)
        ground = self.colours["violation-ink" if self.colours["on-violation"] == "#ffffff" else "violation"]
        add(self._parts, "rect", x=middle - half, y=top, width=2 * half, height=20, rx=10, fill=ground)
        look: dict[str, Any] = {"size": _SMALL, "weight": 600, "fill": "on-violation", "anchor": "middle"}
        self.text(self._parts, middle, top + 14, text, **look)

    def _axis(self, y: int) -> None:
        taken = 0.0
        left = _EDGE + _LABELS
        for tick in self._picture.ticks:
            x, half = self._x(tick.at), self.letters.width(tick.text, _SMALL) / 2
            if x - half >= taken and x + half <= self._wide:
                self.text(self.root, left + x, y + 16, tick.text, size=_SMALL, fill="ink-soft", anchor="middle")
                taken = x + half + 8
        day = f"{self._picture.ticks[0].iso[:10]} UTC" if self._picture.ticks else "UTC"
        self.text(self.root, left - 10, y + 16, day, size=_SMALL, fill="ink-soft", anchor="end")
