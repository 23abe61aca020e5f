"""Keep the lanes of a live source in order, change by change. It does no I/O.

It begins with the ranks that the database has. Tracks are compared by `places.member_key`, so the order is that of
`arrangement.py`, but ranks leave room between groups, so that a group that is found late moves no other.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from timeline.history.lifelines import Key, Name, Track
from timeline.history.world.world import World
from timeline.layout.places import Group, Lane, MemberKey, Ranks, Strip, beginning, member_key, place
from timeline.layout.strips import LaneKey, OwnedKind, Strips


class StoredGroups(NamedTuple):
    """The groups of a live source that the database has, by the track number of their root."""

    ranks: Mapping[int, int]
    forgotten: Mapping[int, int]  # how many members the worker no longer holds in memory


class Moved(NamedTuple):
    """The rows that a change of some tracks has moved or changed."""

    lanes: list[Lane]
    strips: list[Strip]
    dissolved: list[int]  # the places of strips that no longer exist


class LiveArrangement:
    """Keep the lanes of one world in the order of creation, in groups by root owner."""

    def __init__(self, world: World, stored: StoredGroups | None = None) -> None:
        self._world = world
        self._stored = stored or StoredGroups({}, {})
        self._groups: dict[Name, Group] = {}  # by the name of their root: a re-created owner keeps its group
        self._ranks = Ranks()
        self._positions: dict[Key, tuple[Name, MemberKey]] = {}  # the root of each track, and its key in that group
        self._lanes: dict[LaneKey, list[tuple[MemberKey, Key]]] = {}  # the tracks of each lane, in order of beginning
        self._strips = Strips()
        self._orphaned: dict[Key, None] = {}  # tracks whose root may have changed because others were forgotten

    def lanes(self) -> Iterator[Lane]:
        """Yield all lanes, sorted by place."""
        return map(self._lane, sorted(self._lanes, key=self._place))

    def strips(self) -> list[Strip]:
        """Return all strips, sorted by place."""
        return sorted(self._strips_of(self._strips.places()), key=lambda strip: strip.place)

    def arrange(self, changed: Iterable[Track]) -> Moved:
        """Arrange tracks that are new or have changed; return all rows that this moves or changes."""
        moved: dict[LaneKey, None] = {}
        orphaned = filter(None, map(self._world.track, self._orphaned))
        waiting = [*changed, *orphaned]
        self._orphaned = {}
        arranged: set[Key] = set()
        kept: set[LaneKey] = set()  # lanes without tracks that no longer exist
        for track in waiting:  # the list grows by tracks whose root may have changed
            if track.key in arranged:
                continue
            arranged.add(track.key)
            root = self._world.root(track).name
            before, now = self._positions.get(track.key), (root, member_key(track))
            lane = root, track.name
            moved[lane] = None
            if before != now:
                if before is None or before[0] != root:
                    waiting += self._dependent(track)
                if before:
                    self._remove(track.key, *before, moved)
                self._insert(track.key, *now, moved)
            if lane not in kept:
                kept.add(lane)
                self._drop_vanished(lane, moved)
        for lane in moved:
            self._strips.enter(lane, self._owned(lane))
        strips, others, dissolved = self._strips.settle(self._place)
        moved.update(dict.fromkeys(others))
        return Moved([*map(self._lane, moved)], list(self._strips_of(strips)), dissolved)

    def forget(self, track: Track) -> None:
        """Forget a track that the world is about to forget. Its rows in the database stay as they are."""
        self._orphaned.update((each.key, None) for each in self._dependent(track))
        root, member = self._positions.pop(track.key)
        group = self._groups[root]
        group.forget(member, track.key)
        if self._leave_lane((root, track.name), member, track.key):
            self._strips.forget((root, track.name))
        self._close_if_empty(root, group)

    def _dependent(self, track: Track) -> Iterator[Track]:
        """Yield the tracks whose root may change when the root of this track does."""
        yield from self._world.children(track)
        for name in track.references():
            yield from (each for each in self._world.incarnations(name) if not each.owner)
        if track.ref.kind == "Service":
            yield from self._world.incarnations(track.name._replace(kind="Endpoints"))

    def _drop_vanished(self, lane: LaneKey, moved: dict[LaneKey, None]) -> None:
        """Remove the tracks of a lane that no longer exist in the world, because it merged them with others."""
        for member, key in [each for each in self._lanes[lane] if self._world.track(each[1]) is None]:
            self._remove(key, lane[0], member, moved)

    def _insert(self, key: Key, root: Name, member: MemberKey, moved: dict[LaneKey, None]) -> None:
        self._positions[key] = root, member
        group = self._groups.get(root) or self._open(root, moved)
        if (head := self._head(root)) != group.head:
            self._ranks.remove(group)
            group.head = head
            self._move([group, *self._ranks.enter(group)], moved)
        moved.update(((root, other[0]), None) for other in group.insert(member, key))
        insort(self._lanes.setdefault((root, key[0]), []), (member, key))

    def _remove(self, key: Key, root: Name, member: MemberKey, moved: dict[LaneKey, None]) -> None:
        del self._positions[key]
        group, lane = self._groups[root], (root, key[0])
        moved.update(((root, other[0]), None) for other in group.remove(member, key))
        if self._leave_lane(lane, member, key):
            moved.pop(lane, None)
            self._strips.leave(lane)
        self._close_if_empty(root, group)

    def _leave_lane(self, lane: LaneKey, member: MemberKey, key: Key) -> bool:
        """Remove a track from its lane; return whether it was the last one, so that the lane was removed, too."""
        members = self._lanes[lane]
        del members[bisect_left(members, (member, key))]
        if not members:
            del self._lanes[lane]
        return not members

    def _open(self, root: Name, moved: dict[LaneKey, None]) -> Group:
        number = self._world.number(self._world.incarnations(root)[0])
        group = self._groups[root] = Group(root, self._head(root), self._stored.forgotten.get(number, 0))
        self._move(self._ranks.enter(group, self._stored.ranks.get(number)), moved)
        return group

    @staticmethod
    def _move(groups: Iterable[Group], moved: dict[LaneKey, None]) -> None:
        """Add all lanes of these groups to `moved`."""
        moved.update(((group.root, key[0]), None) for group in groups for _, key in group.members)

    def _close_if_empty(self, root: Name, group: Group) -> None:
        if not group.members:
            del self._groups[root]
            self._ranks.remove(group)

    def _head(self, root: Name) -> tuple[int, int, Name, str]:
        return beginning(self._world.incarnations(root)[0])

    def _owned(self, lane: LaneKey) -> OwnedKind | None:
        owner = self._world.owner_of(self._tracks(lane)[0])
        return (owner.key, lane[1].group, lane[1].kind, lane[1].namespace) if owner else None

    def _strips_of(self, owned: Iterable[OwnedKind]) -> Iterator[Strip]:
        for each in owned:
            if owner := self._world.track(each[0]):
                lanes = sorted(map(self._lane, self._strips.lanes(each)), key=lambda lane: lane.place)
                yield Strip(lanes[0].strip, owner, lanes)

    def _lane(self, lane: LaneKey) -> Lane:
        group, root = self._groups[lane[0]], self._world.incarnations(lane[0])[0]
        numbered = [(group.number(*each), self._world.track(each[1])) for each in self._lanes[lane]]
        at, strip = place(group.rank, numbered[0][0]), self._strips.place_of(lane)
        tracks, numbers = [track for _, track in numbered if track], [number for number, track in numbered if track]
        return Lane(at, strip, root, tracks, numbers)

    def _tracks(self, lane: LaneKey) -> list[Track]:
        return [track for _, key in self._lanes[lane] if (track := self._world.track(key))]

    def _place(self, lane: LaneKey) -> int:
        return place(self._groups[lane[0]].rank, self._groups[lane[0]].number(*self._lanes[lane][0]))
