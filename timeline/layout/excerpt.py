"""Choose the lanes that a report shows, which has no server to load more. The lanes of findings come first.

The module is pure. Times are microseconds since 1970, UTC.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Name, Track, name_of
from timeline.history.world.world import World
from timeline.judging.findings import Finding, Severity
from timeline.kinds import NOISE
from timeline.layout import lists, outline
from timeline.layout.arrangement import Arrangement
from timeline.layout.assembly import MARKS, LanePage, Range, assemble
from timeline.layout.drawing import Drawing
from timeline.layout.intervals import FREED, gaps
from timeline.layout.lanes import Count, LaneRow, RootOwner, full
from timeline.layout.places import Lane
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.incidents.making import Places, places_of_findings
from timeline.payloads.views import ViewPayload, acted_on, views
from timeline.payloads.windows import Gaps, OverviewPayload, WindowPayload

LANES = 400  # the most lanes of a report
LANE_MARKS = 250  # the most bars and marks of one lane; more are merged, so that one lane cannot crowd out the others
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Excerpt(NamedTuple):
    """What a report shows of a recording."""

    window: WindowPayload
    findings: list[FindingGroupPayload]
    overview: OverviewPayload
    lanes: int  # how many lanes there are, drawn or not; without Events and other noise that no finding concerns


def excerpt(
    world: World,
    findings: Iterable[Finding],
    namespaces: Collection[str] = (),
    span: tuple[int, int] | None = None,
    places: Places | None = None,
) -> Excerpt:
    """Return all findings between two times, and as many lanes as there is room for; without a span, all findings.

    The lanes that findings concern come first, then their owners and relatives, then the others. If `namespaces` are
    given, the others are only lanes of these. `places` says to which incidents the findings belong; without it, these
    are all findings that there are.
    """
    findings = list(findings)
    places = places_of_findings(findings) if places is None else places
    return _Excerpt(world, findings, namespaces, span or _whole(world, findings), places).draw()


def _whole(world: World, findings: Iterable[Finding]) -> tuple[int, int]:
    """Return the time of a recording. Requests that changed nothing may prove findings before its first change or after
    its last one."""
    every = [each for found in findings for each in found.occurrences]
    return min([world.first, *(each.first for each in every)]), max([world.last, *(each.last for each in every)])


def part(
    window: WindowPayload,
    findings: Sequence[FindingGroupPayload],
    span: tuple[int, int],
    counts: list[int],
    actors: list[tuple[str, int]],
    freed: list[tuple[int, int]],
) -> OverviewPayload:
    """Return the overview of what a report shows of a source between two times: its lanes and findings, with `counts`
    of changes in equal slices of that time, who made most changes, and which time retention has deleted."""
    ordered = sorted(findings, key=lambda row: row["start"])
    severities = Counter(row["severity"] for row in findings)
    return {
        "first": span[0],
        "last": span[1],
        "counts": counts,
        "ticks": [row["start"] for row in ordered],
        "severities": [row["severity"] for row in ordered],
        "families": Counter(lane["family"] for lane in window["lanes"]).most_common(),
        "namespaces": sorted(Counter(lane["namespace"] for lane in window["lanes"] if lane["namespace"]).items()),
        "rules": sorted(Counter(row["rule"] for row in findings).items()),
        "actors": actors,
        "severity_counts": [(severity, severities[severity]) for severity in _SEVERITIES if severities[severity]],
        "noise": 0,
        "freed": freed,
    }


class _Excerpt:
    def __init__(
        self,
        world: World,
        findings: Iterable[Finding],
        namespaces: Collection[str],
        span: tuple[int, int],
        places: Places,
    ) -> None:
        self._world = world
        self._places = places
        self._span = span[0], max(span[1], span[0] + 1)
        self._findings = sorted(
            findings, key=lambda found: (_SEVERITIES.index(found.severity), found.occurrences[0].first, found.id)
        )
        self._ids = {track.key: number for number, track in enumerate(world.tracks(), 1)}
        self._lanes = {lane.place: lane for lane in Arrangement(world).lanes()}
        self._lane_of = {track.key: lane.place for lane in self._lanes.values() for track in lane.tracks}
        self._of_name: dict[Name, list[int]] = {}
        for track in world.tracks():
            lanes = self._of_name.setdefault(track.name, [])
            if (lane := self._lane_of[track.key]) not in lanes:
                lanes.append(lane)
        concerned = list(self._concerned())
        others = [
            at
            for at, lane in self._lanes.items()
            if lane.tracks[0].family not in NOISE
            and (not namespaces or lane.tracks[0].ref.namespace in namespaces)
            and any(self._exists(track) for track in lane.tracks)
        ]
        self._order = list(dict.fromkeys([*concerned, *self._relatives(concerned, others), *others]))

    def draw(self) -> Excerpt:
        span = self._span
        chosen = self._chosen(span)
        lanes = [self._lanes[at] for at in sorted(chosen)]
        drawing = self._drawing(lanes, span, chosen)
        stored = lists.stored(self._world, self._findings, self._id, self._places, span)
        drawing.add_findings((each.subject, each.document["severity"], each.occurrences) for each in stored)
        drawing.add_views(self._views(chosen))
        findings = lists.rows(stored)
        lanes_of = Counter(str(self._root(self._lanes[at])) for at in self._order)
        counts = {heading: Count(count) for heading, count in lanes_of.items()}
        page = LanePage(self._rows(lanes), 0, 0, len(lanes), False, counts, self._roots(lanes))
        window = assemble(Range(0, 0, span, span), page, drawing, self._gaps(), None)
        slices, actors = outline.histogram(self._world, span), outline.actors(self._world)
        shown = part(window, findings, span, slices, actors, [*self._world.freed.spans])
        return Excerpt(window, findings, shown, len(self._order))

    def _views(self, chosen: Collection[int]) -> Iterator[ViewPayload]:
        for owner in acted_on(self._findings, self._world):
            if self._lane_of[owner.key] in chosen:
                yield from views(owner, self._world, self._id)

    def _exists(self, track: Track) -> bool:
        """Return whether an object existed at some time of the span."""
        start, end = self._span
        return track.first.time <= end and (track.until is None or track.until >= start)

    def _gaps(self) -> Gaps:
        streams = self._world.streams.items()
        missed = ((full(*kind), gap.since, gap.time, gap.reason) for kind, stream in streams for gap in stream.gaps)
        freed = (("", *span, FREED) for span in self._world.freed.spans)
        return gaps(chain(missed, freed), 0)

    def _chosen(self, span: tuple[int, int]) -> dict[int, int]:
        """Return the places of the lanes to draw, each with its `pixel`: the microseconds below which bars and marks
        are merged."""
        chosen: dict[int, int] = {}
        room = MARKS
        for at in self._order[:LANES]:
            pixel = 1
            lane = [self._lanes[at]]
            while (size := self._drawing(lane, span, {at: pixel}).size) > LANE_MARKS and pixel < span[1] - span[0]:
                pixel *= 4
            room -= size
            if room < 0:
                break
            chosen[at] = pixel
        return chosen

    def _drawing(self, lanes: list[Lane], span: tuple[int, int], pixels: dict[int, int]) -> Drawing:
        drawing = Drawing(self._rows(lanes), span, _whole(self._world, self._findings)[1], 1)
        for number, lane in enumerate(lanes, 1):
            drawing.pixel = pixels[lane.place]
            root = self._root(lane)
            for track, born in zip(lane.tracks, lane.numbers, strict=True):
                drawing.add_track(self._id(track), number, root, born, track.until, outline.lifeline(track))
        return drawing

    def _rows(self, lanes: list[Lane]) -> list[LaneRow]:
        rows = []
        for number, lane in enumerate(lanes, 1):
            first = lane.tracks[0]
            root, creator = self._root(lane), outline.creator(first)
            rows.append(LaneRow(number, root, str(root), lane.numbers[0], *first.name, first.family, creator=creator))
        return rows

    def _roots(self, lanes: list[Lane]) -> dict[int, RootOwner]:
        roots = {self._id(lane.root): lane.root for lane in lanes}
        return {number: (*root.name, number) for number, root in roots.items()}

    def _concerned(self) -> Iterator[int]:
        """Yield the lanes that prove the findings, most severe first; then the lanes of their owners; then the lanes
        that the findings affect."""
        first = [at for found in self._findings for ref in lists.named(found) for at in self._lanes_of(ref)]
        yield from first
        for at in first:
            yield from self._owners(at)
        for found in self._findings:
            for ref in found.affects:
                yield from self._lanes_of(ref)

    def _owners(self, at: int) -> Iterator[int]:
        seen = {at}
        track = self._lanes[at].tracks[0]
        while (owner := self._world.owner_of(track)) and (above := self._lane_of[owner.key]) not in seen:
            seen.add(above)
            yield above
            track = owner

    def _relatives(self, concerned: list[int], others: list[int]) -> Iterator[int]:
        """Yield the other lanes of the same root owners, one of each group in turn, so that a large group leaves room
        for the others."""
        families: dict[int, list[int]] = {self._root(self._lanes[at]): [] for at in concerned}
        for at in others:
            if (root := self._root(self._lanes[at])) in families:
                families[root].append(at)
        return (at for turn in zip_longest(*families.values()) for at in turn if at is not None)

    def _lanes_of(self, ref: ObjectRef) -> list[int]:
        track = self._world.track((name_of(ref), ref.uid))
        return [self._lane_of[track.key]] if track else self._of_name.get(name_of(ref), [])

    def _root(self, lane: Lane) -> int:
        return self._id(lane.root)

    def _id(self, track: Track) -> int:
        """Return the number of a track, which does not depend on the order in which entries were read."""
        return self._ids[track.key]
