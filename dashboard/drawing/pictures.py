"""Draw a few lanes as SVG: for a finding, an object, or the example of a rule. No queries, no scripts.

A picture is as wide as its container: positions in time are per cent of the width, and text is not stretched.
"""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from dashboard.drawing import figures
from dashboard.drawing.shapes import SHAPES, Bar, Box, Dot, Line, Picture
from dashboard.drawing.ticks import clock, ticks
from timeline.payloads.windows import Columns, LanePayload

ROW = 34  # height of a lane, in pixels
BAR = 18  # height of a bar, in pixels
HEAD = 26  # room above the first lane for an arrow, in pixels
_SOFT = 0.3  # the least width, in per cent, of an uncertain interval that is drawn


def picture(
    columns: Columns, start: int, end: int, *, finding: str = "", only: Collection[int] = (), key: str = "p"
) -> Picture:
    """Draw the lanes (those with the indices `only`) between two times (µs), with the parts of one finding."""
    rows = [lane for lane in range(len(columns["lanes"])) if not only or lane in only]
    return _Drawing(columns, start, max(end, start + 1), rows).draw(finding, key)


class _Drawing:
    """Turn the columns of a window into the parts of a picture."""

    def __init__(self, columns: Columns, start: int, end: int, rows: Sequence[int]) -> None:
        self._columns = columns
        self._start, self._end = start, end
        self._place = {lane: row for row, lane in enumerate(rows)}
        self._head = 0

    def draw(self, finding: str, key: str) -> Picture:
        lanes = [self._columns["lanes"][lane] for lane in self._place]
        arrows = self._columns["arrows"]
        turns = zip(arrows["from_lane"], arrows["to_lane"], arrows["finding"], strict=True)
        self._head = HEAD if any(start == end and key == finding for start, end, key in turns) else 0
        return Picture(
            lanes=lanes,
            height=self._head + len(lanes) * ROW,
            head=self._head,
            ticks=ticks(self._start, self._end),
            bars=self._bars(finding),
            births=self._dots("births"),
            marks=self._dots("marks"),
            holes=self._boxes("holes", finding),
            unsure=self._unsure(finding),
            shades=_joined(self._boxes("shades", finding)),
            arrows=self._arrows(finding),
            summary=self._summary(lanes),
            key=key,
        )

    def _x(self, time: int) -> float:
        """Return the position of a time in per cent. Times outside lie at the edge."""
        share = (time - self._start) / (self._end - self._start)
        return 100 * min(1.0, max(0.0, share))

    def _inside(self, time: int) -> bool:
        return self._start <= time <= self._end

    def _covered(self, bar: dict[str, Any], finding: str) -> bool:
        """Return whether a hole covers the start of the bar, where its text would be."""
        holes = (each for each in _rows(self._columns["holes"]) if each["finding"] == finding)
        return any(each["lane"] == bar["lane"] and each["start"] <= bar["start"] < each["end"] for each in holes)

    def _bars(self, finding: str) -> list[Bar]:
        births = set(zip(self._columns["births"]["lane"], self._columns["births"]["time"], strict=True))
        found = []
        for each in _rows(self._columns["bars"]):
            if each["lane"] not in self._place or each["end"] < self._start or each["start"] > self._end:
                continue
            family = each["tone"] if each["tone"] == "ended" else self._columns["lanes"][each["lane"]]["family"]
            left, right = self._x(each["start"]), self._x(each["end"])
            found.append(
                Bar(
                    at=_percent(left),
                    width=_percent(max(0.1, right - left)),
                    y=self._top(each["lane"]) + (ROW - BAR) // 2,
                    family=family.lower(),
                    tone=each["tone"],
                    text="" if self._covered(each, finding) else each["text"],
                    pad=14 if each["open_start"] or (each["lane"], each["start"]) in births else 8,
                    ink=_ink(family, each["tone"]),
                    unseen=each["open_start"] and each["start"] >= self._start,
                    lives=each["open_end"],
                    track=each["track"],
                )
            )
        return found

    def _dots(self, name: str) -> list[Dot]:
        found = []
        for each in _rows(self._columns[name]):  # type: ignore[literal-required]
            if each["lane"] in self._place and self._inside(each["time"]):
                symbol = figures.SYMBOLS[each["mark"]] if name == "marks" else ""
                text = each["text"] if name == "marks" else str(each["number"])
                y = self._middle(each["lane"])
                found.append(Dot(_percent(self._x(each["time"])), y, SHAPES.get(symbol, ""), text, each["track"]))
        return found

    def _top(self, lane: int) -> int:
        return self._head + self._place[lane] * ROW

    def _middle(self, lane: int) -> int:
        return self._top(lane) + ROW // 2

    def _boxes(self, name: str, finding: str) -> list[Box]:
        found = []
        for each in _rows(self._columns[name]):  # type: ignore[literal-required]
            if each["finding"] == finding and each["lane"] in self._place:
                left, right = self._x(each["start"]), self._x(each["end"])
                y = self._top(each["lane"]) + (ROW - BAR) // 2
                found.append(Box(_percent(left), _percent(max(0.2, right - left)), y, BAR, each.get("text", "")))
        return found

    def _unsure(self, finding: str) -> list[Box]:
        ends = []
        for each in _rows(self._columns["holes"]):
            if each["finding"] == finding:
                ends += [(each["lane"], each["start"], each["begun"]), (each["lane"], each["over"], each["end"])]
        for each in _rows(self._columns["arrows"]):
            if each["finding"] == finding:
                for way in ("from", "to"):
                    time, (before, after) = each[f"{way}_time"], each[f"{way}_within"]
                    ends.append((each[f"{way}_lane"], time - before, time + (after or 0)))
        found = []
        for lane, start, end in dict.fromkeys(ends):
            left, right = self._x(start), self._x(end)
            if lane in self._place and right - left > _SOFT:
                y = self._top(lane) + (ROW - BAR) // 2
                found.append(Box(_percent(left), _percent(right - left), y, BAR, ""))
        return found

    def _arrows(self, finding: str) -> list[Line]:
        found = []
        for each in _rows({**self._columns["arrows"], "lane": self._columns["arrows"]["from_lane"]}):
            ends = each["from_lane"], each["to_lane"]
            if each["finding"] == finding and all(lane in self._place for lane in ends):
                found.append(self._arrow(each))
        return found

    def _arrow(self, each: dict[str, Any]) -> Line:
        left, right = self._x(each["from_time"]), self._x(each["to_time"])
        above, below = self._middle(each["from_lane"]), self._middle(each["to_lane"])
        half = round(len(each["text"]) * 3.2) + 9
        middle = (left + right) / 2
        anchor, shift, pad = "middle", -half, 0
        if middle < 18:
            anchor, shift, pad = "start", 0, 9
        elif middle > 82:
            anchor, shift, pad = "end", -2 * half, -9
        if above == below:
            tip = below - BAR // 2
            x, over = (f"{10 * share:.1f}" for share in (left, right))
            path = f"M{x} {tip} C{x} {tip - 12} {over} {tip - 12} {over} {tip - 5}"
            head, label = "M0 0-5-8H5z", tip - 9
        else:
            down = below > above
            tip = below - 10 if down else below + 10
            bend = (above + tip) / 2
            path = f"M{left * 10:.1f} {above} C{left * 10:.1f} {bend} {right * 10:.1f} {bend} {right * 10:.1f} {tip}"
            head, label = ("M0 4-6-6H6z" if down else "M0-4 6 6H-6z"), round(bend)
        text_at = _percent(middle)
        return Line(path, _percent(right), tip, head, each["text"], text_at, label, anchor, 2 * half, shift, pad)

    def _summary(self, lanes: Sequence[LanePayload]) -> str:
        names = ", ".join(f"{lane['kind']} {lane['name']}" for lane in lanes)
        return f"{names} from {clock(self._start)} to {clock(self._end)} UTC"


def _joined(boxes: list[Box]) -> list[Box]:
    """Join boxes of neighbouring lanes that cover the same time."""
    found: list[Box] = []
    for box in sorted(boxes, key=lambda each: (each.at, each.width, each.y)):
        if found and found[-1][:2] == box[:2] and found[-1].y + found[-1].height + ROW - BAR == box.y:
            found[-1] = found[-1]._replace(height=box.y + BAR - found[-1].y)
        else:
            found.append(box)
    return [box._replace(y=box.y - 4, height=box.height + 8) for box in found]


def _rows(columns: Any) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _percent(share: float) -> str:
    return f"{share:.3f}%"


@cache
def _ink(family: str, tone: str) -> str:
    """Return a colour for readable text on the bar, in both themes."""
    inks = []
    for theme in figures.THEMES:
        colours = figures.palette(theme)
        if tone == "ended":
            ground = colours["hatch-paper"]
        else:
            ground = figures.mix(colours[f"family-{family.lower()}"], colours["paper"], figures.TONES[tone])
        inks.append(figures.readable(ground))
    return f"light-dark({', '.join(inks)})"
