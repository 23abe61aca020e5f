"""Draw a few lanes as SVG: for a finding, an object, the example of a rule, or a message. No queries, no scripts.

A picture is as wide as its place: positions in time are per cent of the width, and nothing else is stretched.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dashboard.drawing import figures
from dashboard.drawing.canvas import SMALL, Canvas, Element, add, picture
from dashboard.drawing.shapes import BAR, DOTS, MARKS, ROW
from dashboard.drawing.ticks import clock, ticks
from timeline.judging.findings import Severity
from timeline.payloads.windows import Columns

COLOURS: dict[Severity, str] = {"error": "fault", "warning": "violation", "info": "accent"}  # in a palette
HEAD = 26  # room above the first lane for an arrow, in pixels, as the following
_USUAL = 700  # the width for which texts are placed beside circles if it is not known
_MARK = 12  # the room that the mark of a deletion takes at the start of a hole
_CIRCLE = 14  # the room that the circle of a creation takes on each side
_FADE = 26  # of the end of a bar that continues
_BEFORE = 8  # of the start of a bar that began before anything was observed
_LEAST, _SOFT = 0.2, 0.3  # the least widths, in per cent, of a box and of an uncertain interval that is drawn
_LAYERS = ("shade", "bar", "edge", "hole", "unsure", "text", "mark", "arrow", "birth", "dot", "label")


class Step(NamedTuple):
    """A step of the proof of a finding, in words, at a time (µs) on the lane with this index."""

    lane: int
    time: int
    text: str


def steps_of(proof: Iterable[Mapping[str, Any]], subject: Mapping[str, Any], columns: Columns) -> list[Step]:
    """Return the steps of a proof that a lane of the window shows.

    What is about no object, such as a request to create one that was refused, stands on the lane of the subject.
    """
    by_track = dict(zip(columns["bars"]["track"], columns["bars"]["lane"], strict=True))
    lanes = ((lane["kind"], lane["namespace"], lane["name"]) for lane in columns["lanes"])
    place = next((at for at, lane in enumerate(lanes) if lane == _name(subject)), None)
    on_lanes = ((by_track.get(each["track"]) if each.get("track") else place, each) for each in proof)
    return [Step(lane, each["at"], each["role"]) for lane, each in on_lanes if lane is not None]


def _name(of: Mapping[str, Any]) -> tuple[str, str, str]:
    return of["kind"], of["namespace"], of["name"]


class Picture:
    """The lanes of a window (those with the indices `only`) between two times (µs), with the parts of one finding.

    Of a finding without an arrow, a hole and a shade, the steps of its proof are drawn.
    """

    def __init__(
        self,
        columns: Columns,
        start: int,
        end: int,
        *,
        finding: str = "",
        only: Collection[int] = (),
        key: str = "p",
        steps: Sequence[Step] = (),
    ) -> None:
        """`key` distinguishes the pictures of one page."""
        rows = [lane for lane in range(len(columns["lanes"])) if not only or lane in only]
        self.start, self.end, self.key, self._finding = start, max(end, start + 1), key, finding
        self._columns = columns
        self._place = {lane: row for row, lane in enumerate(rows)}
        self.lanes: list[Any] = [columns["lanes"][lane] for lane in rows]  # pages add the addresses of objects
        self.head = HEAD if any(each["from_lane"] == each["to_lane"] for each in self.arrows()) else 0
        self.height = self.head + len(rows) * ROW
        drawn = any((self.arrows(), *self.rows("holes"), *self.rows("shades")))
        shown = [each for each in steps if each.lane in self._place and self.start <= each.time <= self.end]
        self.steps = [] if drawn else shown
        self.ticks = ticks(self.start, self.end)

    def svg(self) -> str:
        """Return the picture and its axis for a page."""
        canvas = Canvas()
        place = {"width": "100%", "height": self.height, "role": "img", "aria_label": self._summary()}
        return canvas.page(self.chart(canvas, **place), self.ticks)

    def chart(self, canvas: Canvas, **place: Any) -> Element:
        """Return the lanes without names and axis, as an <svg> with these attributes."""
        return _Chart(self, canvas).draw(picture(**place))

    def top(self, lane: int) -> int:
        return self.head + self._place[lane] * ROW

    def family(self, lane: int) -> str:
        return self._columns["lanes"][lane]["family"].lower()

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield what the lanes have of a part of the window: of holes and shades, those of the finding."""
        for each in _rows(self._columns[name]):  # type: ignore[literal-required]
            if each["lane"] in self._place and each.get("finding", self._finding) == self._finding:
                yield each

    def arrows(self) -> list[dict[str, Any]]:
        """Return the arrows of the finding between lanes of the picture."""
        found = (each for each in _rows(self._columns["arrows"]) if each["finding"] == self._finding)
        return [each for each in found if {each["from_lane"], each["to_lane"]} <= self._place.keys()]

    def dots(self) -> list[dict[str, Any]]:
        """Return where violations of all findings begin, on the lanes of the picture; of several at one place, the
        gravest."""
        found = {(each["lane"], each["time"]): each for each in reversed(_rows(self._columns["dots"]))}
        shown = (each for each in found.values() if each["lane"] in self._place)
        return [each for each in shown if self.start <= each["time"] <= self.end]

    def unsure(self) -> list[tuple[int, int, int]]:
        """Return (lane, earliest, latest) for each beginning and end of a hole or an arrow, in µs since 1970."""
        ends = []
        for each in self.rows("holes"):
            ends += [(each["lane"], each["start"], each["begun"]), (each["lane"], each["over"], each["end"])]
        for each in _rows(self._columns["arrows"]):
            for way in ("from", "to") if each["finding"] == self._finding else ():
                time, (before, after) = each[f"{way}_time"], each[f"{way}_within"]
                ends.append((each[f"{way}_lane"], time - before, time + (after or 0)))
        return [each for each in dict.fromkeys(ends) if each[0] in self._place]

    def _summary(self) -> str:
        names = ", ".join(f"{lane['kind']} {lane['name']}" for lane in self.lanes)
        return f"{names} from {clock(self.start)} to {clock(self.end)} UTC"


class _Chart:
    """Draw a picture with the colours of a canvas. Each layer covers those before it."""

    def __init__(self, shown: Picture, canvas: Canvas) -> None:
        self._picture, self._canvas = shown, canvas
        self._violation = canvas.colour("violation")
        self._pixels = (canvas.width or _USUAL) / 100  # of one per cent
        self._holes = list(shown.rows("holes"))
        self._births: dict[int, list[float]] = {}  # the places of the circles of each lane, in per cent

    def draw(self, root: Element) -> Element:
        self._definitions(root)
        self._canvas.grid(root, self._picture.ticks)
        canvas, violation = self._canvas, self._violation
        dashed: dict[str, Any] = {"stroke": violation, "stroke_width": 1.3, "stroke_dasharray": "4 3"}
        looks: dict[str, dict[str, Any]] = {
            "shade": {"fill": violation, "fill_opacity": 0.13},
            "edge": {"fill": "none", **dashed},
            "hole": {"fill": canvas.colour("paper"), **dashed},
            "unsure": {"fill": self._pattern("unsure")},
            "mark": {"fill": canvas.colour("mark"), "stroke": canvas.colour("paper"), "stroke_width": 0.7},
            "bar": {"stroke_linejoin": "round", "paint_order": "stroke"},  # of the texts in it, as in the next
            "text": {"stroke_linejoin": "round", "paint_order": "stroke"},
            "arrow": {"fill": violation},
        }
        self._layers = {name: add(root, "g", data_layer=name, **looks.get(name, {})) for name in _LAYERS}
        for each in self._picture.rows("births"):
            self._birth(each)
        for each in self._picture.rows("bars"):
            self._bar(each)
        self._shades()
        for each in self._holes:
            self._hole(each)
        for lane, start, end in self._picture.unsure():
            if self._x(end) - self._x(start) > _SOFT:
                box = add(self._layers["unsure"], "rect", **self._box(lane, start, end))
                canvas.title(box, "The change was committed somewhere in this interval.")
        for each in sorted(self._picture.rows("marks"), key=lambda each: list(MARKS).index(each["mark"])):
            if self._inside(each["time"]):
                place = self._at("mark", self._x(each["time"]), self._middle(each["lane"]))
                canvas.title(add(place, "path", d=MARKS[each["mark"]]), each["text"])
        for each in self._picture.dots():
            rise = (ROW + BAR) // 4
            place = self._at("dot", self._x(each["time"]), self._middle(each["lane"]) - rise)
            add(place, "path", d=DOTS[each["severity"]], fill=canvas.colour(COLOURS[each["severity"]]))
        for each in self._picture.arrows():
            self._arrow(each)
        for step in self._picture.steps:
            place = self._at("arrow", self._x(step.time), self._middle(step.lane) - BAR // 2)
            canvas.title(add(place, "path", d="M0 0-5-8H5z"), step.text)
        return root

    def _definitions(self, root: Element) -> None:
        colour, parts = self._canvas.colour, add(root, "defs")
        turned = {"patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
        for name, size, line, width in (("hatch", 6, "hatch", 1.6), ("unsure", 5, "violation", 1.5)):
            pattern = add(parts, "pattern", id=f"{self._picture.key}-{name}", width=size, height=size, **turned)
            if name == "hatch":
                add(pattern, "rect", width=size, height=size, fill=colour("hatch-paper"))
            add(pattern, "rect", width=width, height=size, fill=colour(line), opacity=1 if name == "hatch" else 0.55)
        fade = add(parts, "linearGradient", id=f"{self._picture.key}-fade")
        add(fade, "stop", offset=0, stop_color=colour("paper"), stop_opacity=0)
        add(fade, "stop", offset=1, stop_color=colour("paper"))

    def _pattern(self, name: str) -> str:
        return f"url(#{self._picture.key}-{name})"

    def _x(self, time: int) -> float:
        """Return the position of a time in per cent. Times outside lie at the edge."""
        share = (time - self._picture.start) / (self._picture.end - self._picture.start)
        return 100 * min(1.0, max(0.0, share))

    def _inside(self, time: int) -> bool:
        return self._picture.start <= time <= self._picture.end

    def _middle(self, lane: int) -> int:
        return self._picture.top(lane) + ROW // 2

    def _box(self, lane: int, start: int, end: int) -> dict[str, Any]:
        """Return the place of a box on a lane."""
        left, right = self._x(start), self._x(end)
        width = max(_LEAST, right - left)
        return {"x": _percent(left), "width": _percent(width), "y": self._middle(lane) - BAR // 2, "height": BAR}

    def _at(self, layer: str, share: float, y: float) -> Element:
        """Return an element in which (0, 0) is this place of the picture."""
        return add(self._layers[layer], "svg", x=_percent(share), y=y, overflow="visible")

    def _bar(self, each: dict[str, Any]) -> None:
        if each["end"] < self._picture.start or each["start"] > self._picture.end:
            return
        box = self._box(each["lane"], each["start"], each["end"])
        family = self._picture.family(each["lane"])

        def ground(palette: Mapping[str, str]) -> str:
            if each["tone"] == "ended":
                return palette["hatch-paper"]
            return figures.mix(palette[f"family-{family}"], palette["paper"], figures.TONES[each["tone"]])

        fill = self._canvas.colour(ground)
        bar = add(self._layers["bar"], "svg", **box)  # which clips its text where there is less room than usual
        add(bar, "rect", width="100%", height=BAR, fill=self._pattern("hatch") if each["tone"] == "ended" else fill)
        if each["open_start"] and each["start"] >= self._picture.start:
            add(bar, "rect", width=_BEFORE, height=BAR, fill=self._pattern("hatch"))
        if each["open_end"]:
            end = add(bar, "svg", x="100%", overflow="visible")
            add(end, "rect", x=-_FADE, width=_FADE, height=BAR, fill=self._pattern("fade"))
        on_it = (hole for hole in self._holes if hole["lane"] == each["lane"])
        if not each["text"] or any(hole["start"] <= each["start"] < hole["end"] for hole in on_it):
            return
        left = self._x(each["start"])
        near = [(birth - left) * self._pixels for birth in self._births.get(each["lane"], ())]
        pad = max(_CIRCLE if each["open_start"] else 8, *(by + _CIRCLE for by in near if abs(by) < _CIRCLE), 0)
        after = 22 if each["open_end"] else 5
        room = (self._x(each["end"]) - left) * self._pixels - pad - after
        ink = self._canvas.colour(lambda palette: figures.readable(ground(palette)))
        inner = add(bar, "svg", x=-after, width="100%", height=BAR)  # it ends before the bar does
        self._canvas.text(inner, pad + after, 13, each["text"], colour=ink, room=room, halo=(fill, 2.5))

    def _birth(self, each: dict[str, Any]) -> None:
        if not self._inside(each["time"]):
            return
        share = self._x(each["time"])
        self._births.setdefault(each["lane"], []).append(share)
        half = 13.0 if each["number"] > 99 else 9.5
        colour, circle = self._canvas.colour, self._at("birth", share, self._middle(each["lane"]))
        look: dict[str, Any] = {"fill": colour("paper"), "stroke": colour("ink"), "stroke_width": 1.4}
        add(circle, "rect", x=-half, y=-9.5, width=2 * half, height=19, rx=9.5, **look)
        self._canvas.text(circle, 0, 3.6, str(each["number"]), size=10, weight=600, anchor="middle")

    def _hole(self, each: dict[str, Any]) -> None:
        box = self._box(each["lane"], each["start"], each["end"])
        add(self._layers["hole"], "rect", **box)
        halo = (self._canvas.colour("paper"), 4)
        room = float(box["width"][:-1]) * self._pixels - _MARK - 4
        place = add(self._layers["text"], "svg", **box)
        self._canvas.text(place, _MARK, 13, each["text"], weight=600, colour="violation-ink", room=room, halo=halo)

    def _shades(self) -> None:
        """Draw the times of exposure, or those from the first to the last step, as one box for neighbouring lanes with
        the same times."""
        boxes: list[list[int]] = []  # start, end, top, bottom
        times = [step.time for step in self._picture.steps]
        lanes = dict.fromkeys(step.lane for step in self._picture.steps)
        shades = [
            *self._picture.rows("shades"),
            *({"lane": at, "start": min(times), "end": max(times)} for at in lanes),
        ]
        for each in sorted(shades, key=lambda each: (each["start"], each["end"], self._middle(each["lane"]))):
            top = self._picture.top(each["lane"])
            if boxes and boxes[-1][:2] == [each["start"], each["end"]] and boxes[-1][3] == top:
                boxes[-1][3] += ROW
            else:
                boxes.append([each["start"], each["end"], top, top + ROW])
        for start, end, top, bottom in boxes:
            left, right = self._x(start), self._x(end)
            place = {"x": _percent(left), "width": _percent(max(_LEAST, right - left)), "y": top + 4}
            for layer in ("shade", "edge"):
                add(self._layers[layer], "rect", **place, height=bottom - top - 8)

    def _arrow(self, each: dict[str, Any]) -> None:
        left, right = self._x(each["from_time"]), self._x(each["to_time"])
        above, below = self._middle(each["from_lane"]), self._middle(each["to_lane"])
        if above == below:
            tip = below - BAR // 2
            curve, head, middle = [tip, tip - 12, tip - 12, tip - 5], "M0 0-5-8H5z", tip - 9
        else:
            down = below > above
            tip = below - 10 if down else below + 10
            middle = (above + tip) // 2
            curve, head = [above, middle, middle, tip], "M0 4-6-6H6z" if down else "M0-4 6 6H-6z"
        self._curve([left, left, right, right], curve)
        add(self._at("arrow", right, tip), "path", d=head)
        self._label(each["text"], (left + right) / 2, middle)

    def _curve(self, shares: list[float], heights: list[int]) -> None:
        """Draw the line of an arrow, which is stretched with the picture."""
        width, height = 100 * self._pixels, self._picture.height
        start, *points = (f"{share * self._pixels:.1f} {y}" for share, y in zip(shares, heights, strict=True))
        stretched: dict[str, Any] = {"viewBox": f"0 0 {width:g} {height}", "preserveAspectRatio": "none"}
        look: dict[str, Any] = {"fill": "none", "stroke": self._violation, "stroke_width": 2}
        place = add(self._layers["arrow"], "svg", width="100%", height=height, **stretched)
        add(place, "path", d=f"M{start}C{' '.join(points)}", vector_effect="non-scaling-stroke", **look)

    def _label(self, text: str, share: float, y: int) -> None:
        """Write what an arrow says, inside the picture."""
        canvas, label = self._canvas, add(self._layers["label"], "g")
        width = canvas.letters.width(canvas.letters.written(text), SMALL, 600) + 18
        width = min(width, canvas.width - 8) if canvas.width else width
        edge, y = width / 2 + 4, max(y, 11)
        if canvas.width:
            middle = min(max(share * self._pixels, edge), canvas.width - edge)
            label.set("transform", f"translate({middle:.1f} {y})")
        else:
            x = f"clamp({edge:.0f}px,{_percent(share)},100% - {edge:.0f}px)"
            label.set("style", f"transform:translate({x},{y}px)")
        ground = canvas.colour(lambda each: each["violation-ink" if each["on-violation"] == "#ffffff" else "violation"])
        add(label, "rect", x=-width / 2, y=-10, width=width, height=20, rx=10, fill=ground)
        canvas.text(label, 0, 4, text, weight=600, colour="on-violation", anchor="middle", room=width - 18)


def _rows(columns: Any) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _percent(share: float) -> str:
    return f"{share:.3f}%"
