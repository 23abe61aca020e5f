"""Keep the settled tracks of one source, by name, by key, and in an index of their relations.

It is pure. A track is one incarnation of an object; the tracks of one name share a lane.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from timeline.core.order import At
from timeline.history.lifelines import Key, Moment, Name, Track, public_uid
from timeline.history.seen import GroupKind, Seen
from timeline.history.world.index import Index


class Replacement(NamedTuple):
    """A track that is new, or that differs from the track of the same key that it replaces."""

    track: Track
    before: Track | None
    since: int  # the drawn time from which the two differ, in microseconds; 0 for a new track


class Settlement(NamedTuple):
    """What one call of `Tracks.settle` changed."""

    replaced: list[Replacement]
    removed: list[Track]  # tracks whose key no longer exists
    bounded: list[Track]  # tracks that changed only in `gone_by`

    @property
    def changed(self) -> list[Track]:
        """Return every track that is new or has changed."""
        return [each.track for each in self.replaced] + self.bounded


class Lookups(ABC):
    """What can be asked about the tracks of one source, wherever they are kept."""

    def __init__(self, seen: Mapping[GroupKind, Seen]) -> None:
        self._seen = seen

    @abstractmethod
    def __iter__(self) -> Iterator[Track]:
        """Yield all tracks, by name and then in the order in which they began."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def get(self, key: Key) -> Track | None: ...

    @abstractmethod
    def has(self, name: Name) -> bool:
        """Return whether a name has tracks."""

    @abstractmethod
    def lane(self, name: Name) -> Collection[Track]:
        """Return every track of a name, in the order in which they began."""

    @abstractmethod
    def incarnations(self, name: Name, until: int | None = None, after: Moment | None = None) -> Sequence[Track]:
        """Return the tracks of a name in the order in which they began: those that began by a drawn time, and the first
        one after these.

        With `after`, those of the first tracks that ended before this moment, surely and by their drawn times, may be
        left out, except for the last of these.
        """

    @abstractmethod
    def begun(self, name: Name, until: int | None = None, after: int | None = None) -> Iterator[Track]:
        """Yield the tracks of a name that began by a drawn time, as `incarnations` returns them, without those that
        were observed to end before `after`, a drawn time."""

    @abstractmethod
    def is_mixed(self, name: Name) -> bool:
        """Return whether some tracks of this name have a UID while others have none."""

    @abstractmethod
    def without_uid(self, name: Name) -> Sequence[Track]:
        """Return the tracks without a UID of a name that has tracks with a UID, too; otherwise none."""

    @abstractmethod
    def names(self, group: str, kind: str) -> Sequence[Name]:
        """Return the names of one kind that have tracks, sorted."""

    @abstractmethod
    def of_uid(self, uid: str) -> Track | None: ...

    @abstractmethod
    def children(self, owner_uid: str) -> list[Track]:
        """Return the tracks with this owner, in the order in which they began; none for the UID ""."""

    @abstractmethod
    def referrers(self, name: Name, until: int | None = None, since: int | None = None) -> Iterator[Track]:
        """Yield the tracks that began between two drawn times and refer to a name, in no order."""

    @abstractmethod
    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        """Return how many children of an owner were in a spell right after a place in commit order."""

    def resolve(self, keys: Iterable[Key]) -> list[Track]:
        """Return the tracks of these keys, without keys that no longer exist."""
        return [track for key in keys if (track := self.get(key))]


class Tracks(Lookups):
    """Keep the tracks of one source in memory. `seen` says how much of each kind was observed."""

    def __init__(self, seen: Mapping[GroupKind, Seen]) -> None:
        super().__init__(seen)
        self.index = Index()
        self._lanes: dict[Name, list[Track]] = {}
        self._by_key: dict[Key, Track] = {}
        self._names: list[Name] | None = None  # the names of all lanes, sorted; None when they must be sorted anew
        # The tracks without a UID of those names that have tracks with a UID, too.
        self._mixed: dict[Name, list[Track]] = {}

    def __iter__(self) -> Iterator[Track]:
        if self._names is None:
            self._names = sorted(self._lanes)
        for name in self._names:
            yield from self._lanes[name]

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, key: Key) -> Track | None:
        return self._by_key.get(key)

    def has(self, name: Name) -> bool:
        return bool(self._lanes.get(name))

    def lane(self, name: Name) -> Collection[Track]:
        return self._lanes.get(name, ())

    def incarnations(self, name: Name, until: int | None = None, after: Moment | None = None) -> list[Track]:
        lives = self._lanes.get(name, [])
        return lives if until is None else lives[: bisect_right(lives, until, key=began) + 1]

    def begun(self, name: Name, until: int | None = None, after: int | None = None) -> Iterator[Track]:
        for track in self.incarnations(name):
            over = after is not None and track.ended is not None and track.ended.time < after
            if not over and (until is None or track.first.time <= until):
                yield track

    def is_mixed(self, name: Name) -> bool:
        return name in self._mixed

    def without_uid(self, name: Name) -> Sequence[Track]:
        return self._mixed.get(name, ())

    def names(self, group: str, kind: str) -> Sequence[Name]:
        return self.index.names(group, kind)

    def of_uid(self, uid: str) -> Track | None:
        return self.index.of_uid(uid)

    def children(self, owner_uid: str) -> list[Track]:
        return self.resolve(self.index.children(owner_uid))

    def referrers(self, name: Name, until: int | None = None, since: int | None = None) -> Iterator[Track]:
        for track in map(self._by_key.__getitem__, self.index.referrers(name)):
            began = track.first.time
            if (until is None or began <= until) and (since is None or began >= since):
                yield track

    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        return self.index.tally(owner_uid, spell, at)

    def settle(self, lives: Mapping[Name, list[Track]]) -> Settlement:
        """Replace all tracks of each of these names by the given ones, and return what that changed."""
        replaced: list[Replacement] = []
        removed: list[Track] = []
        for name, tracks in lives.items():
            known = {track.key: track for track in self._lanes.get(name, ())}
            lane = self._lanes[name] = []
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
                self.index.enter(track)
                self._by_key[track.key] = track
            for before in known.values():
                self._leave(before)
                removed.append(before)
        self._names = None
        self._find_mixed(lives)
        return Settlement(replaced, removed, self._bind(lives, {each.track.key for each in replaced}))

    def remove(self, track: Track) -> None:
        """Forget a track."""
        lane = self._lanes[track.name]
        lane.remove(track)
        if not lane:
            del self._lanes[track.name]
            self._names = None
        self._find_mixed([track.name])
        self._leave(track)

    def _leave(self, track: Track) -> None:
        self.index.forget(track)
        del self._by_key[track.key]

    def _find_mixed(self, names: Iterable[Name]) -> None:
        for name in names:
            lane = self._lanes.get(name, [])
            if len(lane) < 2:
                self._mixed.pop(name, None)
                continue
            without = [track for track in lane if not public_uid(track.ref)]
            if 0 < len(without) < len(lane):
                self._mixed[name] = without
            else:
                self._mixed.pop(name, None)

    def _bind(self, names: Iterable[Name], changed: set[Key]) -> list[Track]:
        """Set `gone_by` of the tracks of these names; return those that this changes, without the `changed` ones."""
        bounded = []
        for name in names:
            lanes: list[Sequence[Track]] = [self._lanes[name]]
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


def first_after(times: Sequence[int], time: int) -> int | None:
    """Return the first of these sorted times that is later than another one; None if none is."""
    at = bisect_right(times, time)
    return times[at] if at < len(times) else None


def began(track: Track) -> int:
    """Return the drawn time at which a track began, in microseconds since 1970."""
    return track.first.time
