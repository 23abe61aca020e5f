"""Pure: lifelines become lanes, bars and marks; findings become holes, shades and arrows. Times in microseconds."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from timeline.core.entries import microseconds
from timeline.kinds import Kind, Mark, Phase, kind_of, qualified
from timeline.payloads.findings import (
    Arrows,
    Bars,
    Births,
    Columns,
    Gaps,
    GroupPayload,
    Holes,
    LanePayload,
    Marks,
    Shades,
    Strips,
    Within,
)

_WEIGHTY = ("restarted", "finished", "taken")  # marks whose shape stands for those merged with them


def lane_key(group: str, kind: str, namespace: str, name: str) -> str:
    """As LanePayload tells it."""
    return f"{full(group, kind)}/{namespace}/{name}"


def full(group: str, kind: str) -> str:
    """The kind as keys of lanes begin: with its group, where it has one."""
    return f"{kind}.{group}" if group else kind


class LaneRow(NamedTuple):
    """A row of the screen: the lives of one name under one root, or a strip, which stands for many such lanes."""

    lane: int  # 0 for a strip
    root: int
    heading: str
    number: int
    group: str
    kind: str
    namespace: str
    name: str  # of the owner, for a strip
    family: str
    strip: int = 0  # the place of the strip that it is, or belongs to
    members: int = 1
    opened: bool = False
    pinned: bool = False

    @property
    def key(self) -> str:
        key = lane_key(self.group, self.kind, self.namespace, self.name)
        return key if self.lane else f"{key}/{self.strip}"


class Cell(NamedTuple):
    """A slice of a strip, and how many of its objects lived in it at most."""

    strip: int
    start: int
    end: int
    living: int


class Span(NamedTuple):
    start: int
    end: int
    phase: Phase
    open_end: bool
    start_within: Within | None
    end_within: Within | None


class Event(NamedTuple):
    time: int
    mark: str
    text: str
    resource_version: str | None
    within: Within | None


Read = tuple[list[Span], list[Event], Any]


def spans_and_events(kind: Kind, lifeline: list[list[Any]], until: int | None, last: int) -> Read:
    """The phases of one life, its marks, and the facts it ended with; open until `last` where it has no end."""
    spans: list[Span] = []
    events: list[Event] = []
    before: Any = None
    for time, revision, change, _, *known, told in lifeline:
        within: Within | None = (known[0][0], known[0][1]) if known else None
        if told is None and before is not None and change != "deleted":
            continue  # it says what the one before it said
        facts = before if told is None else msgspec.convert(told, kind.facts_type)
        facts = facts if facts is not None else kind.facts_type()
        phase = kind.phase(facts)
        if change == "deleted":
            events.append(Event(time, "deleted", "deleted", revision, within))
        else:
            if spans and spans[-1].phase != phase:
                spans[-1] = spans[-1]._replace(end=time, open_end=False, end_within=within)
            if not spans or spans[-1].phase != phase:
                spans.append(Span(time, time, phase, True, within, None))
            if before is not None:
                events += [Event(time, mark.mark, mark.text, revision, within) for mark in _marks(kind, before, facts)]
        before = facts
    if spans:
        end = max(last, spans[-1].start) if until is None else until
        time, _, change, *_ = lifeline[-1]
        ended = within if change == "deleted" else None if until is None else (until - time, 0)
        spans[-1] = spans[-1]._replace(end=end, open_end=until is None, end_within=ended)
    return spans, events, before


def _marks(kind: Kind, before: Any, after: Any) -> Iterable[Mark]:
    yield from kind.marks(before, after)
    if after.deleting and not before.deleting:
        yield Mark("deleting", "deletion asked for")
    gone = set(before.finalizers) - set(after.finalizers)
    if gone:
        yield Mark("finalizer", f"finalizer removed: {', '.join(sorted(gone))}")


def gaps(unseen: Iterable[tuple[str, int, int, str]], pixel: int) -> Gaps:
    """`unseen`: full kind, since, until, why. Of one kind, those that lie closer together than a pixel are one."""
    found = Gaps(kind=[], start=[], end=[], text=[])
    for kind, since, until, why in sorted(unseen):
        if found["kind"][-1:] == [kind] and since - found["end"][-1] <= pixel:
            found["end"][-1] = max(found["end"][-1], until)
        else:
            found["kind"].append(kind)
            found["start"].append(since)
            found["end"].append(until)
            found["text"].append(why)
    return found


class Drawing:
    """Fills the columns of a window. What is smaller than a pixel merges into its neighbour; deletions never do.

    `pixel` is in microseconds, and may be another for each track that is added. `read` keeps what lifelines say for the
    next drawing of the same tracks.
    """

    def __init__(
        self, rows: list[LaneRow], span: tuple[int, int], last: int, pixel: int, read: dict[int, Read] | None = None
    ) -> None:
        self._span = span
        self._last = last
        self._read = {} if read is None else read
        self.pixel = pixel
        self._index = {(row.lane, row.root): index for index, row in enumerate(rows) if row.lane}
        self._strips_at = {row.strip: index for index, row in enumerate(rows) if not row.lane}
        strips = {row.strip: row.key for row in rows if not row.lane}
        self._lanes = [_lane_payload(row, strips.get(row.strip, "") if row.lane else "") for row in rows]
        self._rows = rows
        self._lives = [0] * len(rows)
        self._lane_of_track: dict[int, int] = {}
        self._merged = 0
        self._strips = Strips(lane=[], start=[], end=[], count=[])
        self._bars = Bars(
            lane=[],
            start=[],
            end=[],
            text=[],
            tone=[],
            open_start=[],
            open_end=[],
            start_within=[],
            end_within=[],
            track=[],
        )
        self._births = Births(lane=[], time=[], number=[], within=[], track=[])
        self._marks = Marks(lane=[], time=[], mark=[], text=[], resource_version=[], within=[], track=[])
        self._holes = Holes(lane=[], start=[], begun=[], over=[], end=[], text=[], finding=[])
        self._shades = Shades(lane=[], start=[], end=[], finding=[])
        self._arrows = Arrows(
            from_lane=[], from_time=[], from_within=[], to_lane=[], to_time=[], to_within=[], text=[], finding=[]
        )

    def add_track(
        self, track: int, lane_key: int, root: int, number: int, until: int | None, lifeline: list[list[Any]]
    ) -> None:
        """One life. Where its lane is a row of its own, its strip stands for it no more."""
        lane = self._index.get((lane_key, root))
        if lane is None:
            return
        payload = self._lanes[lane]
        kind = kind_of(self._rows[lane].group, self._rows[lane].kind)
        read = self._read.get(track)
        if read is None:
            read = self._read[track] = spans_and_events(kind, lifeline, until, self._last)
        spans, events, facts = read
        self._lane_of_track[track] = lane
        if not self._lives[lane]:
            payload["number"] = number
        self._lives[lane] += 1
        note = kind.subtitle(facts) if facts is not None else ""
        payload["track"] = track
        payload["subtitle"] = " · ".join(filter(None, [qualified(kind.group, kind.kind), note]))
        created = bool(lifeline) and lifeline[0][2] == "created"
        if created and self._inside(lifeline[0][0]):
            self._births["lane"].append(lane)
            self._births["time"].append(lifeline[0][0])
            self._births["number"].append(number)
            self._births["within"].append(spans[0].start_within if spans else None)
            self._births["track"].append(track)
        self._add_bars(lane, track, spans, created)
        self._add_marks(lane, track, events)

    def add_cells(self, cells: Iterable[Cell]) -> None:
        """The cells of strips, each strip's in order; neighbours of one count merge."""
        columns = self._strips
        for cell in cells:
            lane = self._strips_at[cell.strip]
            before = columns["lane"][-1:], columns["end"][-1:], columns["count"][-1:]
            if before == ([lane], [cell.start], [cell.living]):
                columns["end"][-1] = cell.end
            elif cell.living:
                columns["lane"].append(lane)
                columns["start"].append(cell.start)
                columns["end"].append(cell.end)
                columns["count"].append(cell.living)

    def fold(self, members: Iterable[tuple[int, int]]) -> None:
        """(track, strip) of those that are not drawn: what points at them is to point at their strip."""
        for track, strip in members:
            if strip in self._strips_at:
                self._lane_of_track[track] = self._strips_at[strip]

    @property
    def tracks(self) -> set[int]:
        """Those that are drawn."""
        return set(self._lane_of_track)

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
                bars["end_within"][-1] = span.end_within
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
            bars["start_within"].append(span.start_within)
            bars["end_within"].append(span.end_within)
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
            marks["within"].append(event.within)
            marks["track"].append(track)

    @property
    def size(self) -> int:
        """How many things there are to draw."""
        return sum(len(columns["lane"]) for columns in (self._bars, self._marks, self._births, self._strips))

    def add_findings(self, findings: Iterable[tuple[int, list[dict[str, Any]]]], selected: str = "") -> None:
        """`findings` are their subjects' tracks and occurrences. A hole of several findings is drawn once. Those of the
        selected group are told wherever they lie."""
        seen = set()
        for subject, occurrences in findings:
            for each in occurrences:
                outside = each["last"] < self._span[0] or each["first"] > self._span[1]
                if outside and each["group"] != selected:
                    continue
                lane = self._lane_of_track.get(subject, -1)
                if lane >= 0 and each["hole"]:
                    start, *_, end = bounds(each["first"], each["last"], each["proof"])
                    self._shades["lane"].append(lane)
                    self._shades["start"].append(start)
                    self._shades["end"].append(end)
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
        start, begun, over, end = bounds(each["first"], each["last"], each["proof"])
        self._holes["lane"].append(lane)
        self._holes["start"].append(start)
        self._holes["begun"].append(begun)
        self._holes["over"].append(over)
        self._holes["end"].append(end)
        self._holes["text"].append(each["hole"])
        self._holes["finding"].append(each["group"])

    def _add_arrow(self, each: dict[str, Any]) -> None:
        start, end = each["proof"][0], each["proof"][-1]
        (from_least, from_most), (to_least, to_most) = _committed(start), _committed(end)
        from_time, to_time = start["at"], end["at"]
        if to_time <= from_time:  # it is drawn from bound to bound where it has no length of its own
            from_time, to_time = from_least, max(to_most, from_least + 1)
        self._arrows["from_lane"].append(self._lane_of_track.get(start["track"], -1))
        self._arrows["from_time"].append(from_time)
        self._arrows["from_within"].append((from_time - from_least, from_most - from_time))
        self._arrows["to_lane"].append(self._lane_of_track.get(end["track"], -1))
        self._arrows["to_time"].append(to_time)
        self._arrows["to_within"].append((to_time - to_least, to_most - to_time))
        self._arrows["text"].append(each["arrow"])
        self._arrows["finding"].append(each["group"])

    def columns(self) -> Columns:
        for lane, lives in zip(self._lanes, self._lives, strict=True):
            if lives > 1:
                lane["subtitle"] += f" · {lives} incarnations shown"
        return {
            "lanes": self._lanes,
            "bars": self._bars,
            "strips": self._strips,
            "births": self._births,
            "marks": self._marks,
            "holes": self._holes,
            "shades": self._shades,
            "arrows": self._arrows,
            "merged": self._merged,
        }


def bounds(first: int, last: int, proof: Sequence[Any]) -> tuple[int, int, int, int]:
    """Of what is drawn between two times: when it began at the soonest and at the latest, and when it was over at the
    soonest and at the latest. Where its two ends may overlap, the middle stands for both inner ones."""
    known = {_since_1970(each["time"]): _committed(each) for each in proof}
    start, begun = known.get(first, (first, first))
    over, end = known.get(last, (last, last))
    end = max(end, start + 1)
    if begun > over:
        begun = over = (max(start, over) + min(begun, end)) // 2
    return start, begun, over, end


def _committed(proof: Any) -> tuple[int, int]:
    """Between when; as it is drawn where nothing bounds it."""
    earliest, latest, at = proof["earliest"], proof["latest"], _since_1970(proof["time"])
    return min(at, _since_1970(earliest)) if earliest else at, max(at, _since_1970(latest)) if latest else at


def _since_1970(iso: str) -> int:
    return microseconds(datetime.fromisoformat(iso))


def _lane_payload(row: LaneRow, strip: str) -> LanePayload:
    about = qualified(row.group, row.kind)
    return {
        "key": row.key,
        "group": row.heading,
        "number": row.number,
        "short": kind_of(row.group, row.kind).short,
        "family": row.family,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "subtitle": about if row.lane else f"{row.members} {about} objects",
        "track": 0,
        "members": row.members,
        "opened": row.opened,
        "strip": strip,
        "pinned": row.pinned,
    }


class Heading(NamedTuple):
    """What stands over a run of lanes: the key of the root owner, or the name of the kind or namespace."""

    key: str
    lanes: int
    first: int  # index of the lane before which it stands
    closed: bool = False


def group_payload(heading: Heading, root: tuple[str, str, str, str, int] | None) -> GroupPayload:
    """`root` is the owner whose lanes these are: group, kind, namespace, name, track."""
    group, kind, namespace, name, track = root or ("", "", "", heading.key or "cluster", None)
    return {
        "key": heading.key,
        "short": kind_of(group, kind).short if root else "",
        "label": name,
        "namespace": namespace,
        "lanes": heading.lanes,
        "track": track,
        "first": heading.first,
        "closed": heading.closed,
    }
