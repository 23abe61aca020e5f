"""Pure: as much of a world as fits on one page without a server. The lanes that its findings concern come first."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Key, Name, Track, name_of
from timeline.history.world import World
from timeline.judging.findings import Finding, Severity
from timeline.kinds import NOISE
from timeline.layout import outline
from timeline.layout.lanes import Drawing, Heading, LaneRow, full, gaps, group_payload
from timeline.payloads import documents
from timeline.payloads.findings import FindingGroupPayload, Gaps, GroupPayload, OverviewPayload, WindowPayload

LANES = 400
MARKS = 2500  # bars and marks that a browser redraws within 100 ms
LANE_MARKS = 250  # more of one lane are merged, so that it cannot push the others out
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Row(NamedTuple):
    """A lane: one name, under the root owner of its lives."""

    name: Name
    root: Key


class Excerpt(NamedTuple):
    window: WindowPayload
    findings: list[FindingGroupPayload]
    overview: OverviewPayload
    lanes: int  # that there are, drawn or not; without the noise that no finding concerns


def excerpt(world: World, findings: Iterable[Finding], namespaces: Collection[str] = ()) -> Excerpt:
    """All findings, and the lanes they concern, their owners and relatives, then the others, as far as there is room.

    Where namespaces are named, only lanes of these are drawn beside those that findings concern.
    """
    return _Excerpt(world, findings, namespaces).draw()


class _Excerpt:
    def __init__(self, world: World, findings: Iterable[Finding], namespaces: Collection[str]) -> None:
        self._world = world
        self._findings = sorted(
            findings, key=lambda found: (_SEVERITIES.index(found.severity), found.occurrences[0].first, found.id)
        )
        self._creation = outline.creation(world)
        self._ids = {track.key: number for number, track in enumerate(world.tracks(), 1)}
        self._rows: dict[Row, list[Track]] = {}
        self._of_name: dict[Name, list[Row]] = {}
        for track in world.tracks():
            self._rows.setdefault(self._row(track), []).append(track)
        for row in self._rows:
            self._of_name.setdefault(row.name, []).append(row)
        concerned = list(self._concerned())
        others = [
            row
            for row in sorted(self._rows, key=self._place)
            if self._family(row) not in NOISE and (not namespaces or row.name.namespace in namespaces)
        ]
        self._order = list(dict.fromkeys([*concerned, *self._relatives(concerned, others), *others]))

    def draw(self) -> Excerpt:
        world = self._world
        span = world.first, max(world.last, world.first + 1)
        chosen = self._chosen(span)
        rows = sorted(chosen, key=self._place)
        drawing = self._drawing(rows, span, chosen)
        told = [self._told(found) for found in self._findings]
        drawing.add_findings((each.subject, each.occurrences) for each in told)
        findings = [row.payload for row in documents.rows(told)]
        window: WindowPayload = {
            "source": 0,
            "sequence": 0,
            "gaps": self._gaps(),
            "start": span[0],
            "end": span[1],
            "first": span[0],
            "last": span[1],
            "offset": 0,
            "lanes_total": len(rows),
            "lanes_more": False,
            "pins": 0,
            "groups": self._groups(rows),
            "findings_in_view": len(findings),
            **drawing.columns(),
        }
        return Excerpt(window, findings, self._overview(rows, findings, span), len(self._order))

    def _gaps(self) -> Gaps:
        streams = self._world.streams.items()
        unseen = ((full(*kind), gap.since, gap.time, gap.reason) for kind, stream in streams for gap in stream.gaps)
        return gaps(unseen, 0)

    def _told(self, found: Finding) -> documents.Told:
        subject = self._subject(found)
        return documents.Told(
            self._id(subject),
            self._rank(self._row(subject)),
            documents.finding(found),
            [documents.occurrence(found, each, self._number_of) for each in found.occurrences],
        )

    def _chosen(self, span: tuple[int, int]) -> dict[Row, int]:
        """The lanes to draw, with the microseconds below which each merges what lies closer together."""
        chosen: dict[Row, int] = {}
        room = MARKS
        for row in self._order[:LANES]:
            pixel = 1
            while (size := self._drawing([row], span, {row: pixel}).size) > LANE_MARKS and pixel < span[1] - span[0]:
                pixel *= 4
            room -= size
            if room < 0:
                break
            chosen[row] = pixel
        return chosen

    def _drawing(self, rows: list[Row], span: tuple[int, int], pixels: dict[Row, int]) -> Drawing:
        lanes = [
            LaneRow(lane, 0, str(self._rank(row)), self._number(row), *row.name, self._family(row))
            for lane, row in enumerate(rows, 1)
        ]
        drawing = Drawing(lanes, span, self._world.last, 1)
        for lane, row in enumerate(rows, 1):
            drawing.pixel = pixels[row]
            for track in self._rows[row]:
                number = self._creation.numbers[track.key]
                drawing.add_track(self._id(track), lane, 0, number, track.until, outline.lifeline(track))
        return drawing

    def _concerned(self) -> Iterator[Row]:
        """What proves the findings, gravest first; then their owners; then what else they befell."""
        first = [row for found in self._findings for ref in _named(found) for row in self._rows_of(ref)]
        yield from first
        for row in first:
            yield from self._owners(row)
        for found in self._findings:
            for ref in found.affects:
                yield from self._rows_of(ref)

    def _owners(self, row: Row) -> Iterator[Row]:
        seen = {row}
        track = self._rows[row][0]
        while (owner := self._world.owner_of(track)) and (above := self._row(owner)) not in seen:
            seen.add(above)
            yield above
            track = owner

    @staticmethod
    def _relatives(concerned: list[Row], others: list[Row]) -> Iterator[Row]:
        """Lanes under the same roots, in turn, so that a large family leaves room for the next."""
        families: dict[Key, list[Row]] = {row.root: [] for row in concerned}
        for row in others:
            if row.root in families:
                families[row.root].append(row)
        return (row for turn in zip_longest(*families.values()) for row in turn if row)

    def _groups(self, rows: list[Row]) -> list[GroupPayload]:
        """The headings of the rows; each counts all lanes that it has, drawn or not."""
        counts = Counter(row.root for row in self._order)
        found: dict[Key, GroupPayload] = {}
        for index, row in enumerate(rows):
            if row.root not in found:
                root = self._creation.roots[row.root]
                heading = Heading(str(self._rank(row)), counts[row.root], index)
                found[row.root] = group_payload(heading, (*root.name, self._id(root)))
        return list(found.values())

    def _overview(self, rows: list[Row], groups: list[FindingGroupPayload], span: tuple[int, int]) -> OverviewPayload:
        namespaces = Counter(row.name.namespace for row in rows if row.name.namespace)
        severities = Counter(group["severity"] for group in groups)
        return {
            "first": span[0],
            "last": span[1],
            "counts": outline.histogram(self._world),
            "ticks": [group["start"] for group in groups],
            "severities": [group["severity"] for group in groups],
            "families": Counter(self._family(row) for row in rows).most_common(),
            "namespaces": sorted(namespaces.items()),
            "rules": sorted(Counter(group["rule"] for group in groups).items()),
            "severity_counts": [(severity, severities[severity]) for severity in _SEVERITIES if severities[severity]],
            "noise": 0,
        }

    def _subject(self, found: Finding) -> Track:
        """What it is shown with: its subject; where none stands (a Lease only named), what proves it first."""
        tracks = (self._world.track((name_of(ref), ref.uid)) for ref in _named(found))
        return next(track for track in tracks if track)

    def _rows_of(self, ref: ObjectRef) -> list[Row]:
        track = self._world.track((name_of(ref), ref.uid))
        return [self._row(track)] if track else self._of_name.get(name_of(ref), [])

    def _row(self, track: Track) -> Row:
        return Row(track.name, self._creation.roots[track.key].key)

    def _rank(self, row: Row) -> int:
        return self._creation.ranks[row.root]

    def _number(self, row: Row) -> int:
        return self._creation.numbers[self._world.incarnations(row.name)[0].key]

    def _place(self, row: Row) -> tuple[int, int, Name]:
        return self._rank(row), self._number(row), row.name

    def _family(self, row: Row) -> str:
        return self._rows[row][0].family

    def _id(self, track: Track) -> int:
        """The same in whatever order the entries came."""
        return self._ids[track.key]

    def _number_of(self, ref: ObjectRef) -> int | None:
        return self._ids.get((name_of(ref), ref.uid))


def _named(found: Finding) -> Iterator[ObjectRef]:
    """The objects whose lanes show a finding."""
    yield found.subject
    yield from (proof.ref for each in found.occurrences for proof in each.proof)
    if found.other:
        yield found.other
