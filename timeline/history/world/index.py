"""Index tracks by UID, kind, owner and reference, and count the children that were in a spell. It does no I/O.

A spell is a named stretch of time of a track, as `Kind.spells` gives it, such as the time in which a Pod was active.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Iterator

from timeline.core.order import At
from timeline.history.lifelines import Key, Name, Track, public_uid


class Index:
    """Index tracks. If a track changes, forget its old state and enter the new one."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Track] = {}
        self._names: dict[tuple[str, str], dict[Name, int]] = defaultdict(dict)  # by kind: how many tracks a name has
        self._children: dict[str, list[tuple[At, Key]]] = defaultdict(list)  # by the owner's UID, by first moment
        self._spells: dict[tuple[str, str], tuple[list[At], list[At]]] = {}  # sorted beginnings and ends
        self._referrers: dict[Name, set[Key]] = defaultdict(set)

    def enter(self, track: Track) -> None:
        """Add a track to the index."""
        names = self._names[track.name[:2]]
        names[track.name] = names.get(track.name, 0) + 1
        if uid := public_uid(track.ref):
            self._by_uid[uid] = track
        if track.owner:
            insort(self._children[track.owner.uid], (track.first.at, track.key))
        for key, start, end in spells_of(track):
            starts, ends = self._spells.setdefault(key, ([], []))
            insort(starts, start)
            if end is not None:
                insort(ends, end)
        for name in track.references():
            self._referrers[name].add(track.key)

    def forget(self, track: Track) -> None:
        """Remove a track from the index. It must be in the state in which it was entered."""
        names = self._names[track.name[:2]]
        names[track.name] -= 1
        if not names[track.name]:
            del names[track.name]
        if (known := self._by_uid.get(public_uid(track.ref))) and known.key == track.key:
            del self._by_uid[track.ref.uid]
        if track.owner:
            children = self._children[track.owner.uid]
            del children[bisect_left(children, (track.first.at, track.key))]
            if not children:
                del self._children[track.owner.uid]
        for key, start, end in spells_of(track):
            starts, ends = self._spells[key]
            del starts[bisect_left(starts, start)]
            if end is not None:
                del ends[bisect_left(ends, end)]
            if not starts:
                del self._spells[key]
        for name in track.references():
            self._referrers[name].discard(track.key)
            if not self._referrers[name]:
                del self._referrers[name]

    def of_uid(self, uid: str) -> Track | None:
        return self._by_uid.get(uid)

    def names(self, group: str, kind: str) -> list[Name]:
        """Return the names of one kind that have tracks, sorted."""
        return sorted(self._names.get((group, kind), ()))

    def children(self, owner_uid: str) -> list[Key]:
        """Return the keys of the tracks with this owner, in the order in which they began; none for the UID ""."""
        return [key for _, key in self._children.get(owner_uid, ())] if owner_uid else []

    def referrers(self, name: Name) -> Collection[Key]:
        """Return the keys of the tracks that refer to a name, in no order."""
        return self._referrers.get(name, ())

    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        """Return how many children of an owner were in a spell right after a place in commit order. The cost is
        logarithmic in their number."""
        starts, ends = self._spells.get((owner_uid, spell), ((), ()))
        return bisect_right(starts, at) - bisect_right(ends, at)


def counted_otherwise(track: Track, before: Track) -> int | None:
    """Return the drawn time from which `Index.tally` counts a track differently than its older state `before`; None if
    it counts both alike.

    This time may be long before the change itself: if a change shows that a Pod runs, then the Pod was active ever
    since its previous change.
    """
    changed = _edges_of(track) ^ _edges_of(before)
    return min((at[0] for _, _, at in changed), default=None)


def _edges_of(track: Track) -> set[tuple[tuple[str, str], bool, At]]:
    """Return the beginning and the end of each spell of a track, as (key, whether it is the end, place)."""
    edges = set()
    for key, start, end in spells_of(track):
        edges.add((key, False, start))
        if end is not None:
            edges.add((key, True, end))
    return edges


def spells_of(track: Track) -> Iterator[tuple[tuple[str, str], At, At | None]]:
    """Yield each spell with the key under which it is counted: the owner's UID and the name of the spell."""
    if track.owner and public_uid(track.ref):  # a track without a UID may be the same object as one with a UID
        for spell, start, end in track.kind.spells(track):
            yield (track.owner.uid, spell), start, end
