"""Draw as SVG on which copies of an object an actor acted, beside what was committed.

No queries, no scripts.
The picture is as wide as its container: positions in time are per cent of the width, or thousandths in paths. Each
revision of the object that is shown has a height of its own, and the newest is at the top.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dashboard.drawing.ticks import Tick, clock, ticks
from timeline.payloads.views import CommitPayload, UsePayload, ViewPayload

_TOP, _BOTTOM = 16, 14  # px above the newest revision and below the oldest
_STEP, _LEAST, _MOST = 22, 74, 190  # px from revision to revision, and of the whole picture
_LABELS = 15  # px that the label of a revision needs
_THOUSAND = 1000.0


class Act(NamedTuple):
    """One act, drawn as a dot at the height of its copy's revision."""

    at: str  # per cent
    y: int
    top: int  # the height of the newest revision at that time
    text: str
    copied: str
    stood: str  # "" if it is not known
    lag: str  # "" if the copy was the newest known state
    main: bool  # whether the picture is about this act


class Lag(NamedTuple):
    """The time from the change that a copy lacked to an act on that copy."""

    at: str
    width: str
    y: int
    height: int
    text: str


class Level(NamedTuple):
    """The label of a revision: its number and the phase that began with it."""

    y: int
    revision: str
    text: str


class ViewPicture(NamedTuple):
    """What the template `parts/view_lane.html` draws."""

    height: int
    committed: str  # the path of the line of what was committed
    seen: str  # the path of the area of what the actor's watch had surely shown; "" if nothing proves any
    seen_line: str
    lags: list[Lag]
    acts: list[Act]
    levels: list[Level]
    ticks: list[Tick]
    summary: str


def picture(view: ViewPayload, start: int, end: int, main: UsePayload) -> ViewPicture:
    """Draw a view between two times, in microseconds since 1970. `main` is the act that the picture is about."""
    return _Drawing(view, start, max(end, start + 1)).draw(main)


class _Drawing:
    def __init__(self, view: ViewPayload, start: int, end: int) -> None:
        self._view, self._start, self._end = view, start, end
        self._uses = [each for each in view["uses"] if start <= each["time"] <= end]
        commits = view["commits"]
        first = max(0, bisect_right([each["time"] for each in commits], start) - 1)
        self._commits = [each for each in commits[first:] if each["time"] <= end]
        known = {int(each["resource_version"]) for each in self._commits}
        copied = {int(each["resource_version"]) for each in self._uses}
        self._levels = sorted(known | copied | set(self._shown(commits)))
        inner = min(_MOST, max(_LEAST, _STEP * len(self._levels)))
        self._height = inner + _TOP + _BOTTOM
        self._step = inner / max(1, len(self._levels) - 1)

    def _shown(self, commits: Sequence[CommitPayload]) -> Iterator[int]:
        """Yield the revisions of the object that the watch had surely shown in the time of the picture."""
        for each in self._view["seen"]:
            if each["end"] >= self._start and each["start"] <= self._end and each["least"]:
                least = int(each["least"])
                yield from [at for commit in commits if (at := int(commit["resource_version"])) <= least][-1:]

    def draw(self, main: UsePayload) -> ViewPicture:
        seen = self._seen()
        stale = [each for each in self._uses if each["unseen"]]
        return ViewPicture(
            height=self._height,
            committed=self._path([(each["time"], int(each["resource_version"])) for each in self._commits]),
            seen=f"{seen}V{self._height}H{self._x(self._seen_from()):.1f}z" if seen else "",
            seen_line=seen,
            lags=[self._lag(each, each == main) for each in _apart(stale, main)],
            acts=[self._act(each, each == main) for each in sorted(self._uses, key=lambda each: each == main)],
            levels=self._labels(),
            ticks=ticks(self._start, self._end),
            summary=self._summary(stale),
        )

    def _x(self, time: int) -> float:
        """Return a position in thousandths of the width. Times outside lie at the edge."""
        share = (time - self._start) / (self._end - self._start)
        return _THOUSAND * min(1.0, max(0.0, share))

    def _percent(self, time: int) -> str:
        return f"{self._x(time) / 10:.3f}%"

    def _y(self, revision: int) -> int:
        """Return the height of the newest shown revision up to this one."""
        level = max(0, bisect_right(self._levels, revision) - 1)
        return round(self._height - _BOTTOM - level * self._step)

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
        return self._height if below else self._y(int(least or 0))

    def _seen_from(self) -> int:
        return max(self._start, min(each["start"] for each in self._view["seen"] if each["end"] >= self._start))

    def _newest(self, time: int) -> int:
        before = [int(each["resource_version"]) for each in self._commits if each["time"] <= time]
        return max(before, default=self._levels[0])

    def _act(self, use: UsePayload, main: bool) -> Act:
        copied, stood = use["resource_version"], use["stood"]
        y, top = self._y(int(copied)), self._y(int(stood) if stood else self._newest(use["time"]))
        return Act(
            self._percent(use["time"]), y, top, use["what"], copied, stood if use["unseen"] and stood else "",
            use["lag"] if use["unseen"] else "", main,
        )  # fmt: skip

    def _lag(self, use: UsePayload, main: bool) -> Lag:
        left, right = self._x(use["unseen_at"]), self._x(use["time"])
        top, below = self._y(int(use["unseen"] or 0)), self._y(int(use["resource_version"]))
        text = f"copy {use['lag']} old" if main else ""
        return Lag(f"{left / 10:.3f}%", f"{(right - left) / 10:.3f}%", top, max(2, below - top), text)

    def _labels(self) -> list[Level]:
        """Return the labels of the revisions from the top, without those that would cover each other."""
        phases = {each["resource_version"]: each["text"] for each in self._view["commits"]}
        found: list[Level] = []
        for revision in reversed(self._levels):
            y = self._y(revision)
            if not found or y - found[-1].y >= _LABELS:
                found.append(Level(y, str(revision), phases.get(str(revision), "")))
        return found

    def _summary(self, stale: Sequence[UsePayload]) -> str:
        view = self._view
        acts = f"{len(stale)} act{'' if len(stale) == 1 else 's'} on old copies"
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
