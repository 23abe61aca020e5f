"""Pure: where a life is found: by its UID, its kind, its owner, what it refers to, and what it is at."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Iterator

from timeline.core.order import At
from timeline.history.lifelines import Key, Name, Track, public_uid


class Index:
    """The lives that were entered and not forgotten since, as they were then. Of those that were, nothing is left."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Track] = {}
        self._names: dict[tuple[str, str], dict[Name, int]] = defaultdict(dict)  # how many lives each has
        self._children: dict[str, list[tuple[At, Key]]] = defaultdict(list)  # in order of their first moments
        self._spells: dict[tuple[str, str], tuple[list[At], list[At]]] = {}  # sorted beginnings and ends
        self._referrers: dict[Name, set[Key]] = defaultdict(set)

    def enter(self, track: Track) -> None:
        names = self._names[track.name[:2]]
        names[track.name] = names.get(track.name, 0) + 1
        if uid := public_uid(track.ref):
            self._by_uid[uid] = track
        if track.owner:
            insort(self._children[track.owner.uid], (track.first.at, track.key))
        for key, start, end in _spells_of(track):
            starts, ends = self._spells.setdefault(key, ([], []))
            insort(starts, start)
            if end is not None:
                insort(ends, end)
        for name in track.references():
            self._referrers[name].add(track.key)

    def forget(self, track: Track) -> None:
        """Take a life out, as it was when it was entered."""
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
        for key, start, end in _spells_of(track):
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
        """Those of one kind, in order."""
        return sorted(self._names.get((group, kind), ()))

    def children(self, owner_uid: str) -> list[Key]:
        """In the order in which they began."""
        return [key for _, key in self._children.get(owner_uid, ())] if owner_uid else []

    def referrers(self, name: Name) -> Collection[Key]:
        """In no order."""
        return self._referrers.get(name, ())

    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        """How many children of an owner were in a spell right after a place in commit order, in logarithmic time."""
        starts, ends = self._spells.get((owner_uid, spell), ((), ()))
        return bisect_right(starts, at) - bisect_right(ends, at)


def counted_otherwise(track: Track, was: Track) -> int | None:
    """The drawn time from which `Index.tally` counts a life in another way than it did; None where it never does.

    This may be long before the change that tells it: a Pod that is seen to run was active ever since the change before.
    """
    changed = _edges_of(track) ^ _edges_of(was)
    return min((at[0] for _, _, at in changed), default=None)


def _edges_of(track: Track) -> set[tuple[tuple[str, str], bool, At]]:
    """Where its spells begin (False) and end (True)."""
    edges = set()
    for key, start, end in _spells_of(track):
        edges.add((key, False, start))
        if end is not None:
            edges.add((key, True, end))
    return edges


def _spells_of(track: Track) -> Iterator[tuple[tuple[str, str], At, At | None]]:
    """Each with the key that it is counted under: the owner's UID and the name of the spell."""
    if track.owner and public_uid(track.ref):  # else it may be another track's Pod, seen without its UID
        for spell, start, end in track.kind.spells(track):
            yield (track.owner.uid, spell), start, end
