"""Draw as SVG on which copies of an object an actor acted, beside what was committed.

No queries, no scripts.
The picture is as wide as its container: positions in time are per cent of the width, or thousandths in paths. Each
revision of the object that is shown has a height of its own, and the newest is at the top.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dashboard.drawing.canvas import Canvas, Element, add, picture
from dashboard.drawing.ticks import clock, ticks
from timeline.payloads.views import CommitPayload, UsePayload, ViewPayload

_TOP, _BOTTOM = 16, 14  # px above the newest revision and below the oldest
_STEP, _LEAST, _MOST = 22, 74, 190  # px from revision to revision, and of the whole picture
_LABELS = 15  # px that the label of a revision needs
_THOUSAND = 1000.0


class Level(NamedTuple):
    """The label of a revision: its number and the phase that began with it."""

    y: int
    revision: str
    text: str


class ViewPicture:
    """A view between two times, in microseconds since 1970. `main` is the act that the picture is about."""

    def __init__(self, view: ViewPayload, start: int, end: int, main: UsePayload) -> None:
        end = max(end, start + 1)
        self._main = main
        self._view, self._start, self._end = view, start, end
        self._uses = [each for each in view["uses"] if start <= each["time"] <= end]
        commits = view["commits"]
        first = max(0, bisect_right([each["time"] for each in commits], start) - 1)
        self._commits = [each for each in commits[first:] if each["time"] <= end]
        known = {int(each["resource_version"]) for each in self._commits}
        copied = {int(each["resource_version"]) for each in self._uses}
        self._levels = sorted(known | copied | set(self._shown(commits)))
        inner = min(_MOST, max(_LEAST, _STEP * len(self._levels)))
        self.height = inner + _TOP + _BOTTOM
        self._step = inner / max(1, len(self._levels) - 1)

    def _shown(self, commits: Sequence[CommitPayload]) -> Iterator[int]:
        """Yield the revisions of the object that the watch had surely shown in the time of the picture."""
        for each in self._view["seen"]:
            if each["end"] >= self._start and each["start"] <= self._end and each["least"]:
                least = int(each["least"])
                yield from [at for commit in commits if (at := int(commit["resource_version"])) <= least][-1:]

    def svg(self) -> str:
        """Return the picture and its axis for a page, which has the styles of its parts."""
        stale = [each for each in self._uses if each["unseen"]]
        canvas, marked = Canvas(), ticks(self._start, self._end)
        root = picture(width="100%", height=self.height, role="img", aria_label=self._summary(len(stale)))
        canvas.grid(root, marked)
        lags = _apart(stale, self._main)
        for each in lags:
            add(root, "rect", class_="view-lag", **self._lag(each))
        self._steps(add(root, "svg", width="100%", height=self.height, **self._stretched()))
        if self._main in lags:
            box = add(root, "svg", **self._lag(self._main), overflow="visible")
            add(box, "text", class_="view-lag-text", x=6, y=14).text = f"copy {self._main['lag']} old"
        acts = sorted(self._uses, key=lambda each: each == self._main)
        for each in acts:
            at = self._percent(each["time"])
            y1, y2 = self._stood(each), self._y(int(each["resource_version"]))
            add(root, "line", class_="view-drop", x1=at, x2=at, y1=y1, y2=y2)
        for each in acts:
            self._act(root, each)
        return canvas.page(root, marked)

    def _stretched(self) -> dict[str, str]:
        return {"viewBox": f"0 0 {_THOUSAND:.0f} {self.height}", "preserveAspectRatio": "none"}

    def _steps(self, place: Element) -> None:
        """Draw what was committed, and what the watch had surely shown, if anything proves that."""
        still = {"vector_effect": "non-scaling-stroke"}
        if seen := self._seen():
            area = f"{seen}V{self.height}H{self._x(self._seen_from()):.1f}z"
            add(place, "path", class_="view-seen", d=area)
            add(place, "path", class_="view-seen-line", d=seen, **still)
        committed = self._path([(each["time"], int(each["resource_version"])) for each in self._commits])
        add(place, "path", class_="view-committed", d=committed, **still)

    def _act(self, root: Element, use: UsePayload) -> None:
        """Draw an act as a dot at the height of its copy's revision. One on an old copy names what stood, if known."""
        copied, main = use["resource_version"], use == self._main
        old = bool(use["unseen"])
        compared = {"data_copied": copied, "data_stood": use["stood"]} if old and use["stood"] else {}
        style = "view-act" + " old" * old + " main" * main
        place = {"cx": self._percent(use["time"]), "cy": self._y(int(copied)), "r": 6 if main else 4}
        dot = add(root, "circle", class_=style, **place, **compared)
        replaced = f", replaced {use['lag']} before" if old else ""
        add(dot, "title").text = f"{use['what']} on revision {copied}{replaced}"

    def _x(self, time: int) -> float:
        """Return a position in thousandths of the width. Times outside lie at the edge."""
        share = (time - self._start) / (self._end - self._start)
        return _THOUSAND * min(1.0, max(0.0, share))

    def _percent(self, time: int) -> str:
        return f"{self._x(time) / 10:.3f}%"

    def _y(self, revision: int) -> int:
        """Return the height of the newest shown revision up to this one."""
        level = max(0, bisect_right(self._levels, revision) - 1)
        return round(self.height - _BOTTOM - level * self._step)

    def _path(self, steps: Sequence[tuple[int, int]]) -> str:
        """Return the path of a line that rises in steps at these (time, revision), up to the right edge."""
        if not steps:
            return ""
        parts = [f"M{self._x(steps[0][0]):.1f} {self._y(steps[0][1])}"]
        parts += [f"H{self._x(time):.1f}V{self._y(revision)}" for time, revision in steps[1:]]
        return "".join([*parts, f"H{_THOUSAND:.0f}"])

    def _seen(self) -> str:
        """Return the path of the line of what the watch had surely shown, to the end of the last stretch of time."""
        parts, at = [], None
        for each in self._view["seen"]:
            if each["end"] < self._start or each["start"] > self._end:
                continue
            left, right, y = self._x(each["start"]), self._x(each["end"]), self._seen_y(each["least"])
            parts.append(f"M{left:.1f} {y}" if at is None else f"V{y}")
            parts.append(f"H{right:.1f}")
            at = y
        return "".join(parts)

    def _seen_y(self, least: str | None) -> int:
        below = least is None or int(least) < self._levels[0]
        return self.height if below else self._y(int(least or 0))

    def _seen_from(self) -> int:
        return max(self._start, min(each["start"] for each in self._view["seen"] if each["end"] >= self._start))

    def _newest(self, time: int) -> int:
        before = [int(each["resource_version"]) for each in self._commits if each["time"] <= time]
        return max(before, default=self._levels[0])

    def _stood(self, use: UsePayload) -> int:
        """Return the height of the newest revision at the time of an act."""
        return self._y(int(use["stood"]) if use["stood"] else self._newest(use["time"]))

    def _lag(self, use: UsePayload) -> dict[str, Any]:
        """Return the place of the time from the change that a copy lacked to an act on that copy."""
        left, right = self._x(use["unseen_at"]), self._x(use["time"])
        top, below = self._y(int(use["unseen"] or 0)), self._y(int(use["resource_version"]))
        box = {"x": f"{left / 10:.3f}%", "width": f"{(right - left) / 10:.3f}%"}
        return {**box, "y": top, "height": max(2, below - top)}

    def levels(self) -> list[Level]:
        """Return the labels of the revisions from the top, without those that would cover each other."""
        phases = {each["resource_version"]: each["text"] for each in self._view["commits"]}
        found: list[Level] = []
        for revision in reversed(self._levels):
            y = self._y(revision)
            if not found or y - found[-1].y >= _LABELS:
                found.append(Level(y, str(revision), phases.get(str(revision), "")))
        return found

    def _summary(self, stale: int) -> str:
        view = self._view
        acts = f"{stale} act{'' if stale == 1 else 's'} on old copies"
        return (
            f"Revisions of {view['kind']} {view['name']} and the copies on which {view['actor']} acted, from "
            f"{clock(self._start)} to {clock(self._end)} UTC: {acts}"
        )


def _apart(stale: Sequence[UsePayload], main: UsePayload) -> list[UsePayload]:
    """Return the acts whose lags are drawn, one for each copy: the last one on it, or the main act."""
    by_copy: dict[str, UsePayload] = {}
    for each in stale:
        if by_copy.get(each["resource_version"]) != main:
            by_copy[each["resource_version"]] = each
    return list(by_copy.values())
