"""Pure: where a life is found: by its UID, its kind, its owner, what it refers to, and what it is at."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Iterator

from timeline.lifelines import Key, Name, Track, public_uid
from timeline.order import At


class Index:
    """The lives that were entered and not forgotten since, as they were then."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Track] = {}
        self._names: dict[tuple[str, str], set[Name]] = defaultdict(set)
        self._children: dict[str, list[tuple[At, Key]]] = defaultdict(list)  # in order of their first moments
        self._spells: dict[tuple[str, str], tuple[list[At], list[At]]] = {}  # sorted beginnings and ends
        self._referrers: dict[Name, set[Key]] = defaultdict(set)

    def enter(self, track: Track) -> None:
        self._names[track.name[:2]].add(track.name)
        if track.ref.uid:
            self._by_uid[track.ref.uid] = track
        if track.owner:
            insort(self._children[track.owner.uid], (track.first.at, track.key))
        for starts, ends, start, end in self._spells_of(track):
            insort(starts, start)
            if end is not None:
                insort(ends, end)
        for name in track.references():
            self._referrers[name].add(track.key)

    def forget(self, track: Track) -> None:
        """Take a life out, as it was when it was entered."""
        self._by_uid.pop(track.ref.uid, None)
        if track.owner:
            children = self._children[track.owner.uid]
            del children[bisect_left(children, (track.first.at, track.key))]
        for starts, ends, start, end in self._spells_of(track):
            del starts[bisect_left(starts, start)]
            if end is not None:
                del ends[bisect_left(ends, end)]
        for name in track.references():
            self._referrers[name].discard(track.key)

    def _spells_of(self, track: Track) -> Iterator[tuple[list[At], list[At], At, At | None]]:
        if track.owner and public_uid(track.ref):  # else it may be another track's Pod, seen without its UID
            for spell, start, end in track.kind.spells(track):
                yield *self._spells.setdefault((track.owner.uid, spell), ([], [])), start, end

    def of_uid(self, uid: str) -> Track | None:
        return self._by_uid.get(uid)

    def names(self, group: str, kind: str) -> list[Name]:
        """Those of one kind, in order, also of lives that were forgotten."""
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
