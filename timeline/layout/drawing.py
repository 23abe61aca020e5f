"""Turn tracks into bars and marks, and findings into holes, shades and arrows.

The results are lists of values ("columns") of one window. The module is pure. Times are microseconds since 1970, UTC.
"""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from timeline.judging.findings import Severity
from timeline.kinds import kind_of, qualified
from timeline.layout.lanes import LaneRow, lane_payloads
from timeline.layout.phases import Event, Reading, Span, spans_and_events
from timeline.payloads.incidents.ranges import bounds, committed
from timeline.payloads.views import ViewPayload, within
from timeline.payloads.windows import Arrows, Bars, Births, Columns, Dots, Holes, LaneViewPayload, Marks, Shades, Strips

SEVERAL = -1  # the actor of a mark that stands for changes of several actors
_WEIGHTY = ("restarted", "finished", "taken")  # merged marks get the shape of one of these, if there is one among them


class Cell(NamedTuple):
    """A slice of time of a strip, with the greatest number of its objects that existed at once in it."""

    strip: int
    start: int
    end: int
    living: int


class Lives(NamedTuple):
    """Lives of one lane that are drawn as one bar, because they are too many for a screen."""

    lane: int  # Track.lane
    root: int  # Track.root
    start: int  # when the first of them began
    end: int | None  # when the last of them ended; None while one exists
    many: int  # how many they are
    number: int  # the first creation number
    track: int  # the number of one of them


class Drawing:
    """Collect the columns of a window: tracks, strips and findings are added one by one.

    Bars and marks that are closer than a pixel are merged, except for deletions. `pixel` is in microseconds, and may be
    changed before each track. `readings` has what `spans_and_events` returns for tracks for which that is known.
    """

    def __init__(
        self,
        rows: list[LaneRow],
        span: tuple[int, int],
        last: int,
        pixel: int,
        readings: dict[int, Reading] | None = None,
        view: tuple[int, int] | None = None,
    ) -> None:
        """Begin with empty columns.

        `span` is the range of time to draw, `last` the end of the source, and `view` the part of the span that is seen
        at first, or all of it.
        """
        self._view = view or span
        self._lively: set[int] = set()  # the lanes that change in view
        self._named: set[int] = set()  # the lanes that findings in view name
        self._proving: set[int] = set()  # the times of the events that prove the selected finding
        self._span = span
        self._last = last
        self._readings = {} if readings is None else readings
        self.pixel = pixel
        self._index = {(row.lane, row.root): index for index, row in enumerate(rows) if row.lane}
        self._strips_at = {row.strip: index for index, row in enumerate(rows) if not row.lane}
        self._lanes = lane_payloads(rows)
        self._rows = rows
        self._lives = [0] * len(rows)
        self._lane_of_track: dict[int, int] = {}
        self._merged = 0
        # Who made each bar, birth and mark; None for several. The columns get their indices at the end.
        self._of_bars: list[str] = []
        self._of_births: list[str] = []
        self._of_marks: list[str | None] = []
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
            actor=[],
            track=[],
        )
        self._births = Births(lane=[], time=[], number=[], resource_version=[], within=[], actor=[], track=[])
        self._marks = Marks(lane=[], time=[], mark=[], text=[], resource_version=[], within=[], actor=[], track=[])
        self._views: list[LaneViewPayload] = []
        self._holes = Holes(lane=[], start=[], begun=[], over=[], end=[], text=[], finding=[])
        self._shades = Shades(lane=[], start=[], end=[], finding=[])
        self._arrows = Arrows(
            from_lane=[], from_time=[], from_within=[], to_lane=[], to_time=[], to_within=[], text=[], finding=[]
        )
        self._dots = Dots(lane=[], time=[], severity=[], finding=[])

    def add_track(
        self, track: int, lane_key: int, root: int, number: int, until: int | None, lifeline: list[list[Any]]
    ) -> None:
        """Draw one track, if its lane is a row of the window.

        The arguments are the numbers of the track, of its lane and of its root owner, its creation number within its
        group, its end or None, and its lifeline as `outline.lifeline` returns it.
        """
        lane = self._index.get((lane_key, root))
        if lane is None:
            return
        payload = self._lanes[lane]
        kind = kind_of(self._rows[lane].group, self._rows[lane].kind)
        reading = self._readings.get(track)
        if reading is None:
            reading = self._readings[track] = spans_and_events(kind, lifeline, until, self._last)
        spans, events, facts = reading
        if lane not in self._lively:
            first, last = self._view
            if any(first <= row[0] <= last for row in lifeline):
                self._lively.add(lane)
        self._lane_of_track[track] = lane
        payload["number"] = min(number, payload["number"]) if self._lives[lane] else number
        self._lives[lane] += 1
        note = kind.subtitle(facts) if facts is not None else ""
        payload["track"] = track
        payload["subtitle"] = " · ".join(filter(None, [qualified(kind.group, kind.kind), note]))
        created = bool(lifeline) and lifeline[0][2] == "created"
        if created and self._inside(lifeline[0][0]):
            self._births["lane"].append(lane)
            self._births["time"].append(lifeline[0][0])
            self._births["number"].append(number)
            self._births["resource_version"].append(lifeline[0][1])
            self._births["within"].append(spans[0].start_within if spans else None)
            self._of_births.append(spans[0].actor if spans else "")
            self._births["track"].append(track)
        self._add_bars(lane, track, spans, created)
        self._add_marks(lane, track, events)

    def add_lives(self, several: Iterable[Lives]) -> None:
        """Draw lives as one bar each, if their lanes are rows of the window. They must come before the tracks of these
        lanes, in the order of their beginnings."""
        bars, (first, last) = self._bars, self._view
        for lane_key, root, start, until, many, number, track in several:
            lane = self._index.get((lane_key, root))
            if lane is None:
                continue
            payload, row = self._lanes[lane], self._rows[lane]
            end = max(self._last, start) if until is None else until
            if first <= start <= last or first <= end <= last:
                self._lively.add(lane)
            if self._lives[lane]:
                payload["number"] = min(number, payload["number"])
            else:
                payload["number"] = number
                payload["subtitle"] = qualified(row.group, row.kind)
            self._lives[lane] += many
            self._merged += many - 1
            payload["track"] = track
            bars["lane"].append(lane)
            bars["start"].append(start)
            bars["end"].append(end)
            bars["text"].append(f"{many} incarnations" if many > 1 else "1 incarnation")
            bars["open_end"].append(until is None)
            bars["track"].append(track)
            self._of_bars.append(row.creator)
        added = len(bars["lane"]) - len(bars["tone"])
        bars["tone"] += ["pale"] * added
        bars["open_start"] += [False] * added
        bars["start_within"] += [None] * added
        bars["end_within"] += [None] * added

    def add_cells(self, cells: Iterable[Cell]) -> None:
        """Draw the cells of strips. Cells of one strip must come in order; neighbours with equal counts are merged."""
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

    def fold(self, members: Iterable[tuple[int, int, int, int]]) -> None:
        """Make arrows to tracks that are not drawn point at their lanes, if these are drawn, or at their strips.

        `members` are (track, its lane, its root owner, place of its strip).
        """
        for track, lane, root, strip in members:
            if (lane, root) in self._index:
                self._lane_of_track[track] = self._index[lane, root]
            elif strip in self._strips_at:
                self._lane_of_track[track] = self._strips_at[strip]

    @property
    def tracks(self) -> set[int]:
        """Return the numbers of the tracks that are drawn."""
        return set(self._lane_of_track)

    def _inside(self, time: int) -> bool:
        return self._span[0] <= time <= self._span[1]

    def _add_bars(self, lane: int, track: int, spans: list[Span], created: bool) -> None:
        bars, (first, last) = self._bars, self._span
        drawn = False
        for index, (start, end, phase, open_end, start_within, end_within, actor) in enumerate(spans):
            if end < first or start > last:
                continue
            if drawn and end - start < self.pixel and not open_end:
                bars["end"][-1] = end
                bars["end_within"][-1] = end_within
                self._merged += 1
                continue
            drawn = True
            bars["lane"].append(lane)
            bars["start"].append(start)
            bars["end"].append(end)
            bars["text"].append(phase.text)
            bars["tone"].append(phase.tone)
            bars["open_start"].append(index == 0 and not created)
            bars["open_end"].append(open_end)
            bars["start_within"].append(start_within)
            bars["end_within"].append(end_within)
            self._of_bars.append(actor)
            bars["track"].append(track)

    def _add_marks(self, lane: int, track: int, events: list[Event]) -> None:
        marks, (first, last) = self._marks, self._span
        previous = None
        for time, mark, text, resource_version, interval, actor in events:
            if not first <= time <= last:
                continue
            if previous is not None and time - previous < self.pixel and mark != "deleted":
                if mark in _WEIGHTY and marks["mark"][-1] != "deleted":
                    marks["mark"][-1] = mark
                if len(marks["text"][-1]) < 200:
                    marks["text"][-1] += f"; {text}"
                if self._of_marks[-1] != actor:
                    self._of_marks[-1] = None
                self._merged += 1
                continue
            previous = time
            marks["lane"].append(lane)
            marks["time"].append(time)
            marks["mark"].append(mark)
            marks["text"].append(text)
            marks["resource_version"].append(resource_version)
            marks["within"].append(interval)
            self._of_marks.append(actor)
            marks["track"].append(track)

    @property
    def size(self) -> int:
        """Return the number of bars, marks, births and cells."""
        return sum(len(columns["lane"]) for columns in (self._bars, self._marks, self._births, self._strips))

    def add_findings(self, findings: Iterable[tuple[int, Severity, list[dict[str, Any]]]], selected: str = "") -> None:
        """Draw the dots, holes, shades and arrows of findings.

        `findings` have the track of a subject, the severity, and the occurrences, as `occurrences.occurrence` returns
        them. A dot or a hole that several findings share is drawn once. The occurrence with the key `selected` is drawn
        even if it is outside of the span.
        """
        seen = set()
        dotted = set()
        for subject, severity, occurrences in findings:
            for each in occurrences:
                if each["group"] == selected:
                    self._proving.update(proof["at"] for proof in each["proof"])
                outside = each["last"] < self._span[0] or each["first"] > self._span[1]
                if outside and each["group"] != selected:
                    continue
                lane = self._lane_of_track.get(subject, -1)
                if each["group"] == selected or (each["first"] <= self._view[1] and each["last"] >= self._view[0]):
                    named = {subject, *(proof["track"] for proof in each["proof"])}
                    self._named |= {self._lane_of_track[track] for track in named if track in self._lane_of_track}
                if lane >= 0 and each["hole"]:
                    start, *_, end = bounds(each["first"], each["last"], each["proof"])
                    self._shades["lane"].append(lane)
                    self._shades["start"].append(start)
                    self._shades["end"].append(end)
                    self._shades["finding"].append(each["group"])
                if each["group"] not in dotted and self._add_dot(each, severity, lane):
                    dotted.add(each["group"])
                if each["hole"] and each["group"] not in seen:
                    self._add_hole(each)
                if each["arrow"]:
                    self._add_arrow(each)
                seen.add(each["group"])

    def add_views(self, views: Iterable[ViewPayload], opened: Collection[str] | None = None) -> None:
        """Draw views below the lanes of their objects, as far as they are in the span.

        Of several views of a lane only the first is drawn, and those with an act that proves the selected finding,
        unless `opened` has the key of their fold. Without it, all are drawn.
        """
        by_lane: dict[int, list[ViewPayload]] = {}
        for each in views:
            lane = self._lane_of_track.get(each["track"], -1)
            if lane >= 0 and (shown := within(each, *self._span)):
                by_lane.setdefault(lane, []).append(shown)
        for lane, shown_here in by_lane.items():
            key = f"seen/{self._lanes[lane]['key']}"
            proving = [each for each in shown_here[1:] if any(use["time"] in self._proving for use in each["uses"])]
            drawn = shown_here if opened is None or key in opened else [*shown_here[:1], *proving]
            for number, each in enumerate(drawn):
                others = 0 if number or opened is None else len(shown_here) - 1 - len(proving)
                self._views.append({**each, "lane": lane, "others": others, "key": key})

    def _add_dot(self, each: dict[str, Any], severity: Severity, subject: int) -> bool:
        """Draw where an occurrence begins, and return whether its lane is drawn. `subject` is the lane of its subject,
        or -1."""
        lane = self._lane_of_track.get(each["proof"][0]["track"], subject)
        if lane >= 0 and self._inside(each["first"]):
            self._dots["lane"].append(lane)
            self._dots["time"].append(each["first"])
            self._dots["severity"].append(severity)
            self._dots["finding"].append(each["group"])
        return lane >= 0

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
        (from_least, from_most), (to_least, to_most) = committed(start), committed(end)
        from_time, to_time = start["at"], end["at"]
        if to_time <= from_time:  # an arrow would have no length, so it is drawn between the outer bounds
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
        """Return all columns. Call this only once, at the end."""
        actors: dict[str, int] = {}
        self._bars["actor"] = [actors.setdefault(actor, len(actors)) for actor in self._of_bars]
        self._births["actor"] = [actors.setdefault(actor, len(actors)) for actor in self._of_births]
        self._marks["actor"] = [
            SEVERAL if actor is None else actors.setdefault(actor, len(actors)) for actor in self._of_marks
        ]
        for lane, lives in zip(self._lanes, self._lives, strict=True):
            if lives > 1:
                lane["subtitle"] += f" · {lives} incarnations shown"
        for index, lane in enumerate(self._lanes):
            still = lane["furniture"] or (lane["members"] == 1 and index not in self._lively)
            lane["quiet"] = still and not lane["pinned"] and index not in self._named
        return {
            "lanes": self._lanes,
            "bars": self._bars,
            "strips": self._strips,
            "births": self._births,
            "marks": self._marks,
            "holes": self._holes,
            "shades": self._shades,
            "arrows": self._arrows,
            "dots": self._dots,
            "views": self._views,
            "actors": list(actors),
            "merged": self._merged,
        }
