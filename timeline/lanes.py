"""Pure: lifelines become lanes, bars and marks; findings become holes, shades and arrows. Times in microseconds."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from timeline.kinds import Kind, Mark, Phase, kind_of, qualified
from timeline.payloads import (
    Arrows,
    Bars,
    Births,
    Columns,
    GroupPayload,
    Holes,
    LanePayload,
    Marks,
    Shades,
)

_WEIGHTY = ("restarted", "finished", "taken")  # marks whose shape stands for those merged with them


class LaneRow(NamedTuple):
    lane: int
    heading: str
    number: int


class Span(NamedTuple):
    start: int
    end: int
    phase: Phase
    open_end: bool


class Event(NamedTuple):
    time: int
    mark: str
    text: str
    resource_version: str | None


def spans_and_events(
    kind: Kind, lifeline: list[list[Any]], until: int | None, last: int
) -> tuple[list[Span], list[Event], Any]:
    """The phases of one life, its marks, and the facts it ended with; open until `last` where it has no end."""
    spans: list[Span] = []
    events: list[Event] = []
    before: Any = None
    for time, revision, change, _, told in lifeline:
        facts = before if told is None else msgspec.convert(told, kind.facts_type)
        facts = facts if facts is not None else kind.facts_type()
        phase = kind.phase(facts)
        if change == "deleted":
            events.append(Event(time, "deleted", "deleted", revision))
        else:
            if spans and spans[-1].phase != phase:
                spans[-1] = spans[-1]._replace(end=time, open_end=False)
            if not spans or spans[-1].phase != phase:
                spans.append(Span(time, time, phase, True))
            if before is not None:
                events += [Event(time, mark.mark, mark.text, revision) for mark in _marks(kind, before, facts)]
        before = facts
    if spans:
        end = max(last, spans[-1].start) if until is None else until
        spans[-1] = spans[-1]._replace(end=end, open_end=until is None)
    return spans, events, before


def _marks(kind: Kind, before: Any, after: Any) -> Iterable[Mark]:
    yield from kind.marks(before, after)
    if after.deleting and not before.deleting:
        yield Mark("deleting", "deletion asked for")
    gone = set(before.finalizers) - set(after.finalizers)
    if gone:
        yield Mark("finalizer", f"finalizer removed: {', '.join(sorted(gone))}")


class Drawing:
    """Fills the columns of a window. What is smaller than a pixel merges into its neighbour; deletions never do.

    `pixel` is in microseconds, and may be another for each track that is added.
    """

    def __init__(self, rows: list[LaneRow], span: tuple[int, int], last: int, pixel: int) -> None:
        self._span = span
        self._last = last
        self.pixel = pixel
        self._index = {(row.lane, row.heading): index for index, row in enumerate(rows)}
        self._rows = rows
        self._lanes: list[LanePayload | None] = [None] * len(rows)
        self._lives = [0] * len(rows)
        self._lane_of_track: dict[int, int] = {}
        self._merged = 0
        self._bars = Bars(lane=[], start=[], end=[], text=[], tone=[], open_start=[], open_end=[], track=[])
        self._births = Births(lane=[], time=[], number=[], track=[])
        self._marks = Marks(lane=[], time=[], mark=[], text=[], resource_version=[], track=[])
        self._holes = Holes(lane=[], start=[], end=[], text=[], finding=[])
        self._shades = Shades(lane=[], start=[], end=[], finding=[])
        self._arrows = Arrows(from_lane=[], from_time=[], to_lane=[], to_time=[], text=[], finding=[])

    def add_track(
        self,
        track: int,
        lane_key: int,
        heading: str,
        group: str,
        kind_name: str,
        namespace: str,
        name: str,
        family: str,
        number: int,
        until: int | None,
        lifeline: list[list[Any]],
    ) -> None:
        lane = self._index.get((lane_key, heading))
        if lane is None:
            return
        kind = kind_of(group, kind_name)
        spans, events, facts = spans_and_events(kind, lifeline, until, self._last)
        self._lane_of_track[track] = lane
        self._lives[lane] += 1
        note = kind.subtitle(facts) if facts is not None else ""
        self._lanes[lane] = {
            "key": f"{kind_name}{'.' + group if group else ''}/{namespace}/{name}",
            "group": heading,
            "number": self._rows[lane].number,
            "short": kind.short,
            "family": family,
            "kind": kind_name,
            "namespace": namespace,
            "name": name,
            "subtitle": " · ".join(filter(None, [qualified(group, kind_name), note])),
        }
        created = bool(lifeline) and lifeline[0][2] == "created"
        if created and self._inside(lifeline[0][0]):
            self._births["lane"].append(lane)
            self._births["time"].append(lifeline[0][0])
            self._births["number"].append(number)
            self._births["track"].append(track)
        self._add_bars(lane, track, spans, created)
        self._add_marks(lane, track, events)

    def _inside(self, time: int) -> bool:
        return self._span[0] <= time <= self._span[1]

    def _add_bars(self, lane: int, track: int, spans: list[Span], created: bool) -> None:
        bars = self._bars
        drawn = False
        for index, span in enumerate(spans):
            if span.end < self._span[0] or span.start > self._span[1]:
                continue
            if drawn and span.end - span.start < self.pixel and not span.open_end:
                bars["end"][-1] = span.end
                self._merged += 1
                continue
            drawn = True
            bars["lane"].append(lane)
            bars["start"].append(span.start)
            bars["end"].append(span.end)
            bars["text"].append(span.phase.text)
            bars["tone"].append(span.phase.tone)
            bars["open_start"].append(index == 0 and not created)
            bars["open_end"].append(span.open_end)
            bars["track"].append(track)

    def _add_marks(self, lane: int, track: int, events: list[Event]) -> None:
        marks = self._marks
        previous = None
        for event in events:
            if not self._inside(event.time):
                continue
            if previous is not None and event.time - previous < self.pixel and event.mark != "deleted":
                if event.mark in _WEIGHTY and marks["mark"][-1] != "deleted":
                    marks["mark"][-1] = event.mark
                marks["text"][-1] += f"; {event.text}" if len(marks["text"][-1]) < 200 else ""
                self._merged += 1
                continue
            previous = event.time
            marks["lane"].append(lane)
            marks["time"].append(event.time)
            marks["mark"].append(event.mark)
            marks["text"].append(event.text)
            marks["resource_version"].append(event.resource_version)
            marks["track"].append(track)

    @property
    def size(self) -> int:
        return len(self._bars["lane"]) + len(self._marks["lane"]) + len(self._births["lane"])

    def add_findings(self, findings: Iterable[tuple[int, list[dict[str, Any]]]]) -> None:
        """`findings` are their subjects' tracks and occurrences. A hole or arrow of several findings is drawn once."""
        seen = set()
        for subject, occurrences in findings:
            for each in occurrences:
                if each["last"] < self._span[0] or each["first"] > self._span[1]:
                    continue
                lane = self._lane_of_track.get(subject, -1)
                if lane >= 0 and each["hole"]:
                    self._shades["lane"].append(lane)
                    self._shades["start"].append(each["first"])
                    self._shades["end"].append(each["last"])
                    self._shades["finding"].append(each["group"])
                if each["hole"] and each["group"] not in seen:
                    self._add_hole(each)
                if each["arrow"]:
                    self._add_arrow(each)
                seen.add(each["group"])

    def _add_hole(self, each: dict[str, Any]) -> None:
        lane = self._lane_of_track.get(each["proof"][0]["track"], -1)
        if lane < 0:
            return
        self._holes["lane"].append(lane)
        self._holes["start"].append(each["first"])
        self._holes["end"].append(each["last"])
        self._holes["text"].append(each["hole"])
        self._holes["finding"].append(each["group"])

    def _add_arrow(self, each: dict[str, Any]) -> None:
        start, end = each["proof"][0], each["proof"][-1]
        self._arrows["from_lane"].append(self._lane_of_track.get(start["track"], -1))
        self._arrows["from_time"].append(start["at"])
        self._arrows["to_lane"].append(self._lane_of_track.get(end["track"], -1))
        self._arrows["to_time"].append(end["at"])
        self._arrows["text"].append(each["arrow"])
        self._arrows["finding"].append(each["group"])

    def columns(self) -> Columns:
        for lane, lives in zip(self._lanes, self._lives, strict=True):
            if lane and lives > 1:
                lane["subtitle"] += f" · {lives} incarnations shown"
        return {
            "lanes": [lane for lane in self._lanes if lane],
            "bars": self._bars,
            "births": self._births,
            "marks": self._marks,
            "holes": self._holes,
            "shades": self._shades,
            "arrows": self._arrows,
            "merged": self._merged,
        }


def group_payload(heading: str, lanes: int, root: int, roots: dict[int, tuple[Any, ...]]) -> GroupPayload:
    if root not in roots:
        return {
            "key": heading,
            "short": "",
            "label": heading or "cluster",
            "namespace": "",
            "lanes": lanes,
            "track": None,
        }
    group, kind, namespace, name, track = roots[root]
    return {
        "key": heading,
        "short": kind_of(group, kind).short,
        "label": name,
        "namespace": namespace,
        "lanes": lanes,
        "track": track,
    }
