"""Define the order of lanes, and number them in that order. It does no I/O.

Lanes are in groups, one for each root owner. Groups are ordered by the beginning of their root, and lanes within a
group by the beginning of their first track. A place joins both in one number, so that a database index can follow the
order.
"""

from bisect import bisect_left, insort
from typing import NamedTuple

from timeline.history.lifelines import Key, Name, Track
from timeline.history.world.world import World
from timeline.kinds import NOISE

CROWD = 20  # if one owner has more lanes of one kind, they are drawn as one strip until it is opened
RANK_SHIFT = 24  # the bits of a place below the rank of the group: each group has room for eight million tracks
ROOM = 2**16  # the distance between the ranks of two neighbouring groups of a live source, for groups found later
_LEAST_ROOM = 2**10  # the least distance between the ranks of groups that were moved to make room
_NEIGHBOURS = 8  # groups on each side of a new one that are moved first to make room for it

Beginning = tuple[int, int, Name, str]  # drawn time in microseconds, revision, name, UID
MemberKey = tuple[bool, Beginning]  # the sort key of tracks in a group; it is True for noise such as Events, put last


class Lane(NamedTuple):
    """The tracks of one name under one root owner, in the order in which they began."""

    place: int  # its position among all lanes of the source, in the order of creation (see `place`)
    strip: int  # the place of the strip that it belongs to; 0 for none
    root: Track  # the first incarnation of the name at the end of the chain of owners
    tracks: list[Track]
    numbers: list[int]  # of these tracks: their creation numbers within the group, from 1


class Strip(NamedTuple):
    """The lanes of one owner, kind and namespace, drawn as one row until it is opened."""

    place: int  # the number right before the place of its first lane
    owner: Track
    lanes: list[Lane]


def beginning(track: Track) -> Beginning:
    """Return the key by which tracks are sorted in the order of creation."""
    return track.first.time, track.first.entry.resource_version or 0, *track.key


def member_key(track: Track) -> MemberKey:
    """Return the key by which tracks are sorted within their group."""
    return track.family in NOISE, beginning(track)


def root_of(world: World, track: Track) -> Track:
    """Return the first incarnation of the name at the end of a track's chain of owners."""
    return world.incarnations(world.root(track).name)[0]


def place(rank: int, number: int) -> int:
    """Return the place of the lane whose first track has this creation number in the group of this rank."""
    return (rank << RANK_SHIFT) + 2 * number + 1


def rank_of(place: int) -> int:
    """Return the rank of the group to which a place belongs."""
    return place >> RANK_SHIFT


class Group:
    """The tracks under one root owner, in the order of creation. Their numbers begin with 1."""

    def __init__(self, root: Name, head: Beginning, forgotten: int) -> None:
        self.root = root
        self.head = head  # the beginning of its root, by which groups are ordered
        self.rank = 0
        self.forgotten = forgotten  # how many members the worker has forgotten; their numbers are not used again
        self.members: list[tuple[MemberKey, Key]] = []

    def number(self, member: MemberKey, key: Key) -> int:
        """Return a member's creation number."""
        return self.forgotten + bisect_left(self.members, (member, key)) + 1

    def insert(self, member: MemberKey, key: Key) -> list[Key]:
        """Add a track; return its key and those of all tracks whose number this increases by one."""
        insort(self.members, (member, key))
        return self._from(member, key)

    def remove(self, member: MemberKey, key: Key) -> list[Key]:
        """Remove a track; return the keys of the tracks whose number this decreases by one."""
        moved = self._from(member, key)[1:]
        del self.members[bisect_left(self.members, (member, key))]
        return moved

    def forget(self, member: MemberKey, key: Key) -> None:
        """Forget a track without changing the numbers of the tracks after it."""
        self.remove(member, key)
        self.forgotten += 1

    def _from(self, member: MemberKey, key: Key) -> list[Key]:
        return [key for _, key in self.members[bisect_left(self.members, (member, key)) :]]


class Ranks:
    """Keep the groups in the order of their heads, and give them ranks. A group that is found later gets a rank between
    its neighbours."""

    def __init__(self) -> None:
        self._heads: list[Beginning] = []
        self._groups: list[Group] = []

    def enter(self, group: Group, known: int | None = None) -> list[Group]:
        """Add a group with the rank that was stored for it (`known`), or with a new one according to its head.

        Return the groups whose rank this changes if there was no room between two of them: as few around the new one as
        have room together. The new one may be among them.
        """
        at = bisect_left(self._heads, group.head)
        self._heads.insert(at, group.head)
        self._groups.insert(at, group)
        if known:
            group.rank = known
            return []
        before = self._groups[at - 1].rank if at else 0
        after = self._groups[at + 1].rank if at + 1 < len(self._groups) else before + 2 * ROOM
        group.rank = (before + after) // 2
        return [] if before < group.rank < after else self._spread(at)

    def _spread(self, at: int) -> list[Group]:
        """Give new ranks to the groups around a position, at equal distances, so that there is room for groups between
        them again. Return the groups that have new ranks."""
        width = _NEIGHBOURS
        while True:
            first, end = max(0, at - width), min(len(self._groups), at + width + 1)
            before = self._groups[first - 1].rank if first else 0
            most = (self._groups[end].rank - before) // (end - first + 1) if end < len(self._groups) else ROOM
            if most >= _LEAST_ROOM:
                break
            width *= 2
        moved = self._groups[first:end]
        for number, each in enumerate(moved, 1):
            each.rank = before + number * most
        return moved

    def remove(self, group: Group) -> None:
        """Remove a group, because its head is about to change or its last member was removed."""
        at = bisect_left(self._heads, group.head)
        del self._heads[at], self._groups[at]
