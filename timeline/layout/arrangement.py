"""Order the lanes of a recording: find the root owner and the number of each track, and the lanes that form a strip. It
does no I/O.

It has about 30 bytes of each track in memory, and some hundred of each lane. `live_arrangement.py` keeps the lanes of a
live source in the same order, change by change.
"""

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

from timeline.core.machine.columns import Numbers, in_order
from timeline.history.world.world import World
from timeline.kinds import NOISE
from timeline.layout.places import Lane, Strip, beginning, place
from timeline.layout.strips import LaneKey, OwnedKind, Strips

if TYPE_CHECKING:
    from timeline.history.lifelines import Name


class Arrangement:
    """Keep the lanes of a world in the order of creation, in groups by root owner."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._roots: dict[Name, int] = {}  # the index of each root owner
        self._names: list[Name] = []  # the root owners by their index
        self._root_of = array("I")  # by ordinal: the index of the root owner of each track
        # By lane: its key, the ordinals of its tracks, and its place.
        self._lanes: dict[LaneKey, int] = {}
        self._members: list[array[int]] = []
        self._places: list[int] = []
        self._strips = Strips()
        self._numbers = self._numbered(self._read())
        for (root, _), members in zip(self._lanes, self._members, strict=True):
            first = min(map(self._numbers.__getitem__, members))
            self._places.append(place(self._ranks[self._roots[root]], first))
        for lane in self._lanes:
            self._strips.enter(lane, self._owned(lane))
        self._strips.settle(self._place)

    def lanes(self) -> Iterator[Lane]:
        """Yield all lanes, sorted by place."""
        return map(self._lane, sorted(self._lanes, key=self._place))

    def strips(self) -> Iterator[Strip]:
        """Yield all strips, sorted by place."""
        for owned, at in sorted(self._strips.places().items(), key=lambda each: each[1]):
            if owner := self._world.track(owned[0]):
                lanes = sorted(self._strips.lanes(owned), key=self._place)
                yield Strip(at, owner, [*map(self._lane, lanes)])

    def _read(self) -> tuple["array[int]", "array[int]", Numbers]:
        """Find the root owner and the lane of each track; return whether it is noise, when it began, and its first
        revision."""
        noise, began, revisions = array("B"), array("q"), Numbers()
        for ordinal, track in enumerate(self._world.tracks()):
            root = self._world.root(track).name
            if root not in self._roots:
                self._roots[root] = len(self._names)
                self._names.append(root)
            self._root_of.append(self._roots[root])
            noise.append(track.family in NOISE)
            time, revision, name, _ = beginning(track)
            began.append(time)
            revisions.append(revision)
            lane = self._lanes.setdefault((root, name), len(self._members))
            if lane == len(self._members):
                self._members.append(array("I"))
            self._members[lane].append(ordinal)
        return noise, began, revisions

    def _numbered(self, read: tuple["array[int]", "array[int]", Numbers]) -> "array[int]":
        """Rank the groups, and return the number of each track within its group."""
        noise, began, revisions = read
        heads = sorted((beginning(self._world.incarnations(name)[0]), index) for name, index in self._roots.items())
        self._ranks = array("I", [0]) * len(heads)
        for rank, (_, index) in enumerate(heads, 1):
            self._ranks[index] = rank
        numbers = array("I", [0]) * len(began)
        group = number = 0
        for alike in _runs(
            (2 * self._ranks[root] + noise[each], began[each], each) for each, root in enumerate(self._root_of)
        ):
            rank = self._ranks[self._root_of[alike[0]]]
            group, number = rank, number if rank == group else 0
            if len(alike) > 1:
                alike.sort(key=lambda each: revisions.values[each])
            if len({revisions.values[each] for each in alike}) < len(alike):
                alike.sort(key=lambda each: beginning(self._world.track_at(each)))
            for each in alike:
                number += 1
                numbers[each] = number
        return numbers

    def _owned(self, lane: LaneKey) -> OwnedKind | None:
        owner = self._world.owner_of(self._world.track_at(self._ordinals(lane)[0]))
        return (owner.key, lane[1].group, lane[1].kind, lane[1].namespace) if owner else None

    def _lane(self, lane: LaneKey) -> Lane:
        root = self._world.incarnations(lane[0])[0]
        ordinals = self._ordinals(lane)
        tracks, numbers = [*map(self._world.track_at, ordinals)], [*map(self._numbers.__getitem__, ordinals)]
        return Lane(self._place(lane), self._strips.place_of(lane), root, tracks, numbers)

    def _ordinals(self, lane: LaneKey) -> list[int]:
        """Return the ordinals of the tracks of a lane, by their numbers."""
        return sorted(self._members[self._lanes[lane]], key=self._numbers.__getitem__)

    def _place(self, lane: LaneKey) -> int:
        return self._places[self._lanes[lane]]


def _runs(rows: Iterator[tuple[int, int, int]]) -> Iterator[list[int]]:
    """Yield the last numbers of rows whose first two numbers are equal; the rows are sorted by these."""
    before: tuple[int, int] | None = None
    run: list[int] = []
    for *alike, each in in_order(rows):
        if run and (alike[0], alike[1]) != before:
            yield run
            run = []
        before = alike[0], alike[1]
        run.append(each)
    if run:
        yield run
