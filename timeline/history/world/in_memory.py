"""Keep the settled tracks of one source in memory, where they may change. It does no I/O."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from timeline.core.order import At
from timeline.history.lifelines import Key, Moment, Name, Track, public_uid
from timeline.history.world.tracks import Tracks, began, first_after, spells_of

if TYPE_CHECKING:
    from timeline.history.seen import GroupKind


class Replacement(NamedTuple):
    """A track that is new, or that differs from the track of the same key that it replaces."""

    track: Track
    before: Track | None
    since: int  # the drawn time from which the two differ, in microseconds; 0 for a new track


class Settlement(NamedTuple):
    """What one call of `TracksInMemory.settle` changed."""

    replaced: list[Replacement]
    removed: list[Track]  # tracks whose key no longer exists
    bounded: list[Track]  # tracks that changed only in `gone_by`

    @property
    def changed(self) -> list[Track]:
        """Return every track that is new or has changed."""
        return [each.track for each in self.replaced] + self.bounded


class TracksInMemory(Tracks):
    """The tracks of a source that grows, or that has few. `number` returns the number of a track within the source."""

    def __init__(self, number: Callable[[Track], int]) -> None:
        self._number = number
        self._lanes: dict[Name, list[Track]] = {}
        self._by_key: dict[Key, Track] = {}
        self._by_uid: dict[str, Track] = {}
        self._ordered: list[Track] = []  # all tracks in their order; empty when they must be put into it anew
        self._names: dict[GroupKind, dict[Name, None]] = defaultdict(dict)
        self._children: dict[str, list[tuple[At, Key]]] = defaultdict(list)  # by the owner's UID, by first moment
        self._spells: dict[tuple[str, str], tuple[list[At], list[At]]] = {}  # sorted beginnings and ends
        self._referrers: dict[Name, set[Key]] = defaultdict(set)
        self._owners: dict[Key, Track | None] = {}
        # By name, the tracks without a UID; only for names that also have tracks with a UID.
        self._mixed: dict[Name, list[Track]] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def at(self, ordinal: int) -> Track:
        if not self._ordered:
            self._ordered = [track for name in sorted(self._lanes) for track in self._lanes[name]]
        return self._ordered[ordinal]

    def number(self, track: Track) -> int:
        return self._number(track)

    def get(self, key: Key) -> Track | None:
        return self._by_key.get(key)

    def incarnations(self, name: Name, until: int | None = None, after: Moment | None = None) -> Sequence[Track]:
        lives = self._lanes.get(name, ())
        return lives if until is None else lives[: bisect_right(lives, until, key=began) + 1]

    def begun(self, name: Name, until: int | None = None, after: int | None = None) -> Iterator[Track]:
        for track in self._lanes.get(name, ()):
            over = after is not None and track.ended is not None and track.ended.time < after
            if not over and (until is None or track.first.time <= until):
                yield track

    def without_uid(self, name: Name) -> Sequence[Track]:
        return self._mixed.get(name, ())

    def names(self, group: str, kind: str) -> Sequence[Name]:
        return sorted(self._names.get((group, kind), ()))

    def of_uid(self, uid: str) -> Track | None:
        return self._by_uid.get(uid)

    def children(self, owner_uid: str) -> list[Track]:
        return [self._by_key[key] for _, key in self._children.get(owner_uid, ())] if owner_uid else []

    def referrers(self, name: Name, until: int | None = None, since: int | None = None) -> Iterator[Track]:
        for track in map(self._by_key.__getitem__, self._referrers.get(name, ())):
            began = track.first.time
            if (until is None or began <= until) and (since is None or began >= since):
                yield track

    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        starts, ends = self._spells.get((owner_uid, spell), ((), ()))
        return bisect_right(starts, at) - bisect_right(ends, at)

    def owner(self, track: Track, find: Callable[[Track], Track | None]) -> Track | None:
        if track.key not in self._owners:
            self._owners[track.key] = find(track)
        return self._owners[track.key]

    # Changing

    def settle(self, lives: Mapping[Name, list[Track]]) -> Settlement:
        """Replace all tracks of each of these names by the given ones, and return what that changed."""
        self._ordered, self._owners = [], {}
        replaced: list[Replacement] = []
        removed: list[Track] = []
        for name, tracks in lives.items():
            known = {track.key: track for track in self._lanes.get(name, ())}
            lane: list[Track] = []
            for track in tracks:
                before = known.pop(track.key, None)
                if before is track:
                    lane.append(track)
                    continue
                since = 0 if before is None else track.differs(before)
                if before is not None and since is None:
                    lane.append(before)
                    continue
                lane.append(track)
                replaced.append(Replacement(track, before, since or 0))
                if before:
                    self._leave(before)
                self._enter(track)
            for before in known.values():
                self._leave(before)
                removed.append(before)
            self._set_lane(name, lane)
        return Settlement(replaced, removed, self._bind(lives, {each.track.key for each in replaced}))

    def remove(self, track: Track) -> None:
        """Forget a track."""
        self._ordered, self._owners = [], {}
        self._leave(track)
        self._set_lane(track.name, [each for each in self._lanes[track.name] if each is not track])

    def _set_lane(self, name: Name, lane: list[Track]) -> None:
        if lane:
            self._lanes[name] = lane
            self._names[name[:2]][name] = None
        elif self._lanes.pop(name, None):
            del self._names[name[:2]][name]
        self._mixed.pop(name, None)
        if len(lane) > 1:
            without = [track for track in lane if not public_uid(track.ref)]
            if 0 < len(without) < len(lane):
                self._mixed[name] = without

    def _enter(self, track: Track) -> None:
        self._by_key[track.key] = track
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

    def _leave(self, track: Track) -> None:
        """Remove a track, which must be in the state in which it was entered."""
        del self._by_key[track.key]
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

    def _bind(self, names: Iterable[Name], changed: set[Key]) -> list[Track]:
        """Set `gone_by` of the tracks of these names; return those that this changes, without the `changed` ones."""
        bounded = []
        for name in names:
            lanes = [self.incarnations(name)]
            if name.kind == "Service":
                lanes.append(self.incarnations(name._replace(kind="Endpoints")))
            elif name.kind != "Endpoints" and len(lanes[0]) == 1:
                continue
            bounded += [each for lane in lanes for each in self._set_gone_by(lane) if each.key not in changed]
        return bounded

    def _set_gone_by(self, lane: Sequence[Track]) -> Iterator[Track]:
        """Set `gone_by` of tracks of one name, by which an object whose deletion was not observed was surely gone.
        Yield those that this changes.

        Only one object has a name at a time, so a track had ended when the next one was created. Endpoints are deleted
        together with their Service; no line of an audit log shows that.
        """
        lasting = [track for track in lane if not track.ended]
        if not lasting:
            return
        name = lasting[0].name
        bounds = [other.created.time for other in self.incarnations(name) if other.created]
        if name.kind == "Endpoints":
            services = self.incarnations(Name("", "Service", name.namespace, name.name))
            bounds += [service.ended.time for service in services if service.ended]
        bounds.sort()
        for track in lasting:
            before, track.gone_by = track.gone_by, first_after(bounds, track.last.time)
            if before != track.gone_by:
                yield track
