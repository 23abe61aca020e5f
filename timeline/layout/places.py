"""This pure module compares lanes to order them, and gives them places in that order.

Lanes stand in groups, one for each root owner. Groups are ordered by the beginning of their root, and lanes within a
group by the beginning of their first life. A place joins both in one number, so that a database index can walk it.
"""

from bisect import bisect_left, insort
from typing import NamedTuple

from timeline.history.lifelines import Key, Name, Track
from timeline.history.world import World
from timeline.kinds import NOISE

CROWD = 20  # lanes of one owner and kind; when there are more, a strip stands for them until it is opened
RANK_SHIFT = 24  # bits of a place below the group's rank: each group has room for eight million lives
ROOM = 1024  # between the ranks of two neighbouring groups of a live source, for groups that are found later

Beginning = tuple[int, int, Name, str]  # drawn time in microseconds, revision, name, UID
MemberKey = tuple[bool, Beginning]  # orders the lives of a group: noise such as Events comes last


class Lane(NamedTuple):
    """These are the lives of one name under one root owner, in the order in which they began."""

    place: int  # among all lanes of the source, in the order of creation
    strip: int  # the place of the strip that stands for it; 0 where no strip does
    tracks: list[Track]


class Strip(NamedTuple):
    """The lanes of one owner and kind, drawn as one row until it is opened."""

    place: int  # right before its first lane
    owner: Track
    lanes: list[Lane]


def beginning(track: Track) -> Beginning:
    """Return the key by which lives are put into the order of creation."""
    return track.first.time, track.first.entry.resource_version or 0, *track.key


def member_key(track: Track) -> MemberKey:
    """Return the key by which lives are ordered within their group."""
    return track.family in NOISE, beginning(track)


def root_of(world: World, track: Track) -> Track:
    """Return the first life of the name at the end of a track's chain of owners."""
    return world.incarnations(world.root(track).name)[0]


def place(rank: int, number: int) -> int:
    """Return the place of the lane whose first life has this creation number in the group of this rank."""
    return (rank << RANK_SHIFT) + 2 * number + 1


def rank_of(place: int) -> int:
    """Return the rank of the group in which a place lies."""
    return place >> RANK_SHIFT


class Group:
    """These are the lives under one root owner, in the order of creation. Their numbers begin with 1."""

    def __init__(self, root: Name, head: Beginning, forgotten: int) -> None:
        self.root = root
        self.head = head  # the beginning of its root
        self.rank = 0
        self.forgotten = forgotten  # members that the worker no longer holds in memory; their numbers stay taken
        self.members: list[tuple[MemberKey, Key]] = []

    def number(self, member: MemberKey, key: Key) -> int:
        """Return a member's creation number."""
        return self.forgotten + bisect_left(self.members, (member, key)) + 1

    def insert(self, member: MemberKey, key: Key) -> list[Key]:
        """Add a life; return it and all that it moves by one number."""
        insort(self.members, (member, key))
        return self._from(member, key)

    def remove(self, member: MemberKey, key: Key) -> list[Key]:
        """Remove a life; return those that this moves by one number."""
        moved = self._from(member, key)[1:]
        del self.members[bisect_left(self.members, (member, key))]
        return moved

    def forget(self, member: MemberKey, key: Key) -> None:
        """Remove a life from memory. Whoever knew the group's numbers before need not change them."""
        self.remove(member, key)
        self.forgotten += 1

    def _from(self, member: MemberKey, key: Key) -> list[Key]:
        return [key for _, key in self.members[bisect_left(self.members, (member, key)) :]]


class Ranks:
    """The groups in the order of their heads. A group that is found later is ranked between its neighbours."""

    def __init__(self) -> None:
        self._heads: list[Beginning] = []
        self._groups: list[Group] = []

    def number_all(self, groups: list[Group]) -> None:
        """Give all groups of a recording the ranks 1, 2, 3 …"""
        self._groups = sorted(groups, key=lambda group: group.head)
        self._heads = [group.head for group in self._groups]
        for rank, group in enumerate(self._groups, 1):
            group.rank = rank

    def enter(self, group: Group, known: int | None = None) -> list[Group]:
        """Give a group the rank that was stored for it, or a new one by its head.

        Return the groups whose rank this changes: all of them, where there was no room between two neighbours.
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
        if before < group.rank < after:
            return []
        for number, each in enumerate(self._groups, 1):
            each.rank = number * ROOM
        return self._groups

    def remove(self, group: Group) -> None:
        """Take out a group, before its head changes or when its last member is gone."""
        at = bisect_left(self._heads, group.head)
        del self._heads[at], self._groups[at]
