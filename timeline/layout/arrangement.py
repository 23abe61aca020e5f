"""Pure: the order of lanes of a live source. It is the order of `timeline.layout.outline`, kept up change by change.

Groups have ranks with room between them, so that one that came earlier than was known is put in its place without the
others moving.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from timeline.history.lifelines import Key, Name, Track
from timeline.history.world import World
from timeline.kinds import NOISE
from timeline.layout.outline import CROWD, Lane, Strip, began, place

_ROOM = 1024  # between the ranks of two groups that come one after the other
_Born = tuple[bool, tuple[int, int, Name, str]]
_LaneKey = tuple[Name, Name]  # of the root, and its own
_Crowd = tuple[Key, str, str]  # key of the owner, group and kind


class Group:
    """All that stands under one root."""

    def __init__(self, rank: int, head: tuple[int, int, Name, str], before: int) -> None:
        self.rank = rank
        self.head = head
        self.before = before  # members that are not remembered any more
        self.members: list[tuple[_Born, Key]] = []  # in order

    def number(self, born: _Born, key: Key) -> int:
        return self.before + bisect_left(self.members, (born, key)) + 1


class Known(NamedTuple):
    """What was written before of the groups: by their root's number in the source."""

    ranks: Mapping[int, int]
    before: Mapping[int, int]


class Arranged(NamedTuple):
    """What a change has moved."""

    lanes: list[Lane]
    strips: list[Strip]
    dissolved: list[int]  # places of strips that are none any more


class Arrangement:
    def __init__(self, world: World, known: Known) -> None:
        self._world = world
        self._known = known
        self._groups: dict[Name, Group] = {}
        self._ranks: list[tuple[tuple[int, int, Name, str], int]] = []  # by beginning
        self._places: dict[Key, tuple[Name, _Born]] = {}  # root and beginning of every track
        self._lanes: dict[_LaneKey, dict[Key, None]] = {}
        self._crowds: dict[_Crowd, dict[_LaneKey, None]] = defaultdict(dict)
        self._crowd_of: dict[_LaneKey, _Crowd] = {}
        self._strips: dict[_Crowd, int] = {}  # their places
        self._dissolved: list[int] = []  # places of strips that lost their last lane, until that is told
        self._orphaned: dict[Key, None] = {}  # whose root may be another one since some were forgotten

    def root(self, track: Track) -> Track:
        """The first life of the name that its chain of owners ends at."""
        return self._world.incarnations(self._places[track.key][0])[0]

    def number(self, track: Track) -> int:
        """The creation number within its root's group."""
        name, born = self._places[track.key]
        return self._groups[name].number(born, track.key)

    def arrange(self, changed: Iterable[Track]) -> Arranged:
        """Put tracks that are new or changed into their places; all lanes that this moves, or changes otherwise."""
        moved: dict[_LaneKey, None] = {}
        orphaned = filter(None, map(self._world.track, self._orphaned))
        waiting = [*changed, *orphaned]
        self._orphaned = {}
        for track in waiting:  # it grows
            root = self._world.root(track).name
            before = self._places.get(track.key)
            moved[root, track.name] = None
            born = (track.family in NOISE, began(track))
            if before == (root, born):
                continue
            if before is None or before[0] != root:
                waiting += self._dependent(track)
            if before:
                self._take_out(track, *before, moved)
            self._put_in(track, root, born, moved)
        crowds: dict[_Crowd, None] = {}
        for lane in moved:
            self._crowd(lane, crowds)
        return self._arranged(moved, crowds)

    def lanes(self) -> list[Lane]:
        """All of them, in their order."""
        found = [Lane(self._place(lane), self._strip(lane), self._tracks(lane)) for lane in self._lanes]
        return sorted(found, key=lambda lane: lane.place)

    def _strip(self, lane: _LaneKey) -> int:
        crowd = self._crowd_of.get(lane)
        return self._strips.get(crowd, 0) if crowd else 0

    def forget(self, track: Track) -> None:
        """It is not remembered any more, and the world is about to forget it; what was written of it stays."""
        self._orphaned.update((each.key, None) for each in self._dependent(track))
        name, born = self._places.pop(track.key)
        group = self._groups[name]
        del group.members[bisect_left(group.members, (born, track.key))]
        group.before += 1
        lane = name, track.name
        self._lanes[lane].pop(track.key)
        if not self._lanes[lane]:
            del self._lanes[lane]
            self._leave_crowd(lane)
        if not group.members:
            del self._groups[name]
            self._ranks.remove((group.head, group.rank))

    def _leave_crowd(self, lane: _LaneKey) -> int | None:
        """The place of the strip that is none any more, if this lane was the last one in it."""
        crowd = self._crowd_of.pop(lane, None)
        if crowd is None:
            return None
        self._crowds[crowd].pop(lane)
        if self._crowds[crowd]:
            return None
        del self._crowds[crowd]
        return self._strips.pop(crowd, None)

    def _dependent(self, track: Track) -> Iterator[Track]:
        """Those whose root may be another one when this track's is."""
        yield from self._world.children(track)
        for name in track.references():
            yield from (each for each in self._world.incarnations(name) if not each.owner)
        if track.ref.kind == "Service":
            yield from self._world.incarnations(track.name._replace(kind="Endpoints"))

    def _take_out(self, track: Track, root: Name, born: _Born, moved: dict[_LaneKey, None]) -> None:
        group = self._groups[root]
        at = bisect_left(group.members, (born, track.key))
        del group.members[at]
        for _, key in group.members[at:]:
            moved[root, key[0]] = None
        lane = root, track.name
        self._lanes[lane].pop(track.key)
        if not self._lanes[lane]:
            del self._lanes[lane]
            moved.pop(lane, None)
            if (strip := self._leave_crowd(lane)) is not None:
                self._dissolved.append(strip)
        if not group.members:
            del self._groups[root]
            self._ranks.remove((group.head, group.rank))

    def _put_in(self, track: Track, root: Name, born: _Born, moved: dict[_LaneKey, None]) -> None:
        self._places[track.key] = root, born
        group = self._groups.get(root) or self._open(root)
        head = began(self._world.incarnations(root)[0])
        if head != group.head:
            self._ranks.remove((group.head, group.rank))
            group.head, group.rank = head, self._rank(head)
            for _, key in group.members:
                moved[root, key[0]] = None
        entry = (born, track.key)
        at = bisect_left(group.members, entry)
        insort(group.members, entry)
        for _, key in group.members[at:]:
            moved[root, key[0]] = None
        self._lanes.setdefault((root, track.name), {})[track.key] = None

    def _open(self, root: Name) -> Group:
        first = self._world.incarnations(root)[0]
        number = self._world.number(first)
        head = began(first)
        if known := self._known.ranks.get(number):
            insort(self._ranks, (head, known))
        rank = known or self._rank(head)
        group = self._groups[root] = Group(rank, head, self._known.before.get(number, 0))
        return group

    def _rank(self, head: tuple[int, int, Name, str]) -> int:
        """Between those of its neighbours; entered."""
        at = bisect_left(self._ranks, (head, 0))
        before = self._ranks[at - 1][1] if at else 0
        after = self._ranks[at][1] if at < len(self._ranks) else before + 2 * _ROOM
        rank = (before + after) // 2  # where there is no room any more, two stand side by side
        self._ranks.insert(at, (head, rank))
        return rank

    def _crowd(self, lane: _LaneKey, touched: dict[_Crowd, None]) -> None:
        """Enter a lane among those of its owner and kind."""
        if lane not in self._lanes:
            return
        owner = self._world.owner_of(self._tracks(lane)[0])
        crowd = (owner.key, lane[1].group, lane[1].kind) if owner else None
        before = self._crowd_of.get(lane)
        if before != crowd:
            if before:
                self._crowds[before].pop(lane)
                touched[before] = None
            if crowd:
                self._crowds[crowd][lane] = None
                self._crowd_of[lane] = crowd
            else:
                self._crowd_of.pop(lane, None)
        if crowd:
            touched[crowd] = None

    def _arranged(self, moved: dict[_LaneKey, None], crowds: Iterable[_Crowd]) -> Arranged:
        strips, dissolved, self._dissolved = [], self._dissolved, []
        for crowd in crowds:
            lanes, before = self._crowds[crowd], self._strips.get(crowd)
            if not lanes:
                del self._crowds[crowd]
            now = min(map(self._place, lanes)) - 1 if len(lanes) > CROWD else None
            if before != now:
                moved.update(dict.fromkeys(lanes))
                if before is not None:
                    dissolved.append(before)
                    del self._strips[crowd]
                if now is not None:
                    self._strips[crowd] = now
            owner = self._world.track(crowd[0])
            if now is not None and owner:
                strips.append(Strip(now, owner, [Lane(self._place(lane), now, self._tracks(lane)) for lane in lanes]))
        rows = [Lane(self._place(lane), self._strip(lane), self._tracks(lane)) for lane in moved if lane in self._lanes]
        return Arranged(rows, strips, [place for place in dissolved if place not in self._strips.values()])

    def _tracks(self, lane: _LaneKey) -> list[Track]:
        held = self._lanes[lane]
        return [track for track in self._world.incarnations(lane[1]) if track.key in held]

    def _place(self, lane: _LaneKey) -> int:
        first = self._tracks(lane)[0]
        return place(self._groups[lane[0]].rank, self.number(first))
