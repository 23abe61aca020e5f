"""Keep the settled tracks of a source that is too large for memory.

A few tracks of one name after another are together in a temporary file, and are read when a rule asks for one of them:
who goes through one name asks for the next one soon, and to read them together takes half the time. What finds the
tracks is in memory, about 150 bytes for each. The answers are those of `timeline/history/world/in_memory.py`.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload
from weakref import WeakValueDictionary

from timeline.core.entries import Clock
from timeline.core.machine.columns import Numbers, in_order
from timeline.core.machine.spill import Spilling
from timeline.core.order import At
from timeline.history.digests import digest
from timeline.history.lifelines import Key, Moment, Name, Track, public_uid
from timeline.history.world.tracks import Tracks, first_after, spells_of

if TYPE_CHECKING:
    from timeline.history.seen import GroupKind

_NEVER = -1  # in columns of times
_NOT_OVER = 2**63 - 1
_UNKNOWN, _NOBODY = -2, -1  # in the column of owners
_TOGETHER = 16  # tracks that are read together at most
_MOMENTS = 64  # of these tracks, unless a track alone has more


class ReadTrack(Track):
    """A track that was read from the file. As long as anything holds it, it is not read again."""

    __slots__ = ("__weakref__", "number", "ordinal")

    number: int  # see `Tracks.number`
    ordinal: int  # its place among all tracks


def _over(track: Track, before: int, *, bare: bool) -> tuple[int, int]:
    """Return when a track ended, and the highest revision of its beginning and its end; _NOT_OVER for both unless both
    show that it ended before a later moment, and that it began after `before`, the revision with which the track before
    it ended. With `bare`, the times at which requests were received and answered are used in place of revisions."""
    if not track.ended:
        return _NOT_OVER, _NOT_OVER
    first, last = track.first.entry, track.ended.entry
    began, ended = (first.received, last.staged) if bare else (first.resource_version, last.resource_version)
    if began is None or ended is None or began <= before or max(began, ended) >= _NOT_OVER:
        return _NOT_OVER, _NOT_OVER
    return track.ended.time, max(began, ended)


def _is_bare(track: Track) -> bool:
    """Return whether only the times of an audit log order the beginning and the end of a track with other changes."""
    edges = [track.first.entry, *([track.ended.entry] if track.ended else [])]
    return all(each.resource_version is None and each.clock is Clock.AUDIT for each in edges)


def _together(tracks: Sequence[Track]) -> Iterator[list[Track]]:
    """Divide tracks into portions, each of which is put into the file as one piece."""
    held: list[Track] = []
    moments = 0
    for track in tracks:
        if held and (len(held) == _TOGETHER or moments + len(track.moments) > _MOMENTS):
            yield held
            held, moments = [], 0
        held.append(track)
        moments += len(track.moments)
    if held:
        yield held


class _Found:
    """Ordinals by digests, in columns sorted by both."""

    def __init__(self) -> None:
        self._rows: list[array[int]] = [array("q"), array("I")]
        self._digests: Sequence[int] = ()
        self._ordinals: Sequence[int] = ()

    def add(self, what: object, ordinal: int) -> None:
        self._rows[0].append(digest(what))
        self._rows[1].append(ordinal)

    def sort(self) -> None:
        digests, ordinals = array("q"), array("I")
        for each, ordinal, _ in in_order((each, ordinal, 0) for each, ordinal in zip(*self._rows, strict=True)):
            digests.append(each)
            ordinals.append(ordinal)
        self._digests, self._ordinals, self._rows = digests, ordinals, []

    def get(self, what: object) -> Sequence[int]:
        """Return the ordinals that were added with a value, in ascending order. A few may be of other values."""
        wanted = digest(what)
        first = bisect_left(self._digests, wanted)
        return self._ordinals[first : bisect_right(self._digests, wanted, first)]


class _Edges:
    """The beginnings or ends of spells, by owner and spell, in columns sorted by place."""

    def __init__(self) -> None:
        self._rows: list[tuple[array[int], array[int], Numbers]] = [(array("q"), array("q"), Numbers())]

    def add(self, key: tuple[str, str], at: At) -> None:
        digests, times, revisions = self._rows[0]
        digests.append(digest(key))
        times.append(at[0])
        revisions.append(at[1])

    def sort(self) -> None:
        digests, times, revisions = self._rows[0]
        ordered = array("q"), array("q"), Numbers()
        for key, time, revision in in_order(zip(digests, times, revisions.values, strict=True)):
            ordered[0].append(key)
            ordered[1].append(time)
            ordered[2].append(revision)
        self._rows = [ordered]

    def count(self, key: tuple[str, str], at: At) -> int:
        """Return how many are at or before a place."""
        digests, times, revisions = self._rows[0]
        wanted = digest(key)
        first = bisect_left(digests, wanted)
        end = bisect_right(digests, wanted, first)
        begun = bisect_left(times, at[0], first, end)
        return bisect_right(revisions.values, at[1], begun, bisect_right(times, at[0], begun, end)) - first


class _Lives(Sequence[Track]):
    """The tracks of one name in the order in which they began. Each is read when it is asked for."""

    def __init__(self, read: Callable[[int], Track], ordinals: Sequence[int]) -> None:
        self._read = read
        self._ordinals = ordinals

    def __len__(self) -> int:
        return len(self._ordinals)

    @overload
    def __getitem__(self, index: int) -> Track: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Track]: ...

    def __getitem__(self, index: int | slice) -> Track | Sequence[Track]:
        if isinstance(index, slice):
            return _Lives(self._read, self._ordinals[index])
        return self._read(self._ordinals[index])

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        lives = self._ordinals[start:stop]
        if not isinstance(value, ReadTrack):
            raise ValueError
        at = bisect_left(lives, value.ordinal)
        if at == len(lives) or lives[at] != value.ordinal:
            raise ValueError
        return at + start


class TracksInFile(Tracks):
    """The tracks of a source that is settled only once: `add` them, then `finish`.

    Of the tracks that were read, those with as many moments in all as `spilling` has entries in a part stay in memory.
    `number` returns the number of a track within the source.
    """

    def __init__(self, spilling: Spilling, number: Callable[[Track], int]) -> None:
        self._spill, self._most = spilling.spill, spilling.part
        self._number = number
        self._names: list[Name] = []
        self._starts = array("I")  # the ordinal of the first track of each name
        self._of_name: dict[Name, int] = {}  # the index of each name
        self._kinds: dict[GroupKind, tuple[int, int]] = {}  # the first index of the names of a kind, and the end
        self._mixed: set[Name] = set()  # names with tracks that have a UID and others that have none
        self._bare: set[Name] = set()  # names whose tracks are all bare (see `_is_bare`)
        self._spaces: dict[Name, str] = {}  # the counter of the revisions of a name, if it is not ""
        # A value for each track:
        self._places = array("q")  # in the file; tracks that are together have one place
        self._numbers = array("q")
        self._began = array("q")
        self._last = array("q")
        self._created = array("q")
        self._ended = array("q")
        self._gone_by = array("q")
        self._over_by = array("q")  # when this track and all before it of its name had ended, or _NOT_OVER
        # The highest revision that began or ended any of these, for bare names the last answer; or _NOT_OVER.
        self._over_with = array("q")
        self._owners = array("i")
        self._by_uid, self._children, self._referrers = _Found(), _Found(), _Found()
        self._spells = _Edges(), _Edges()
        self._alive: WeakValueDictionary[int, ReadTrack] = WeakValueDictionary()
        self._recent: dict[int, ReadTrack] = {}
        self._held = 0  # moments of the recent tracks

    # Filling

    def add(self, name: Name, tracks: Sequence[Track]) -> None:
        """Add all tracks of a name. Names come sorted."""
        index = len(self._names)
        self._names.append(name)
        self._of_name[name] = index
        self._kinds[name[:2]] = self._kinds.get(name[:2], (index, 0))[0], index + 1
        self._starts.append(len(self._numbers))
        if len({bool(public_uid(track.ref)) for track in tracks}) == 2:
            self._mixed.add(name)
        if space := tracks[0].first.space:
            self._spaces[name] = space
        for together in _together(tracks):
            place = self._spill.put([(track.ref, track.owner, track.moments, track.unplaced) for track in together])
            self._places.extend([place] * len(together))
        if bare := all(map(_is_bare, tracks)):
            self._bare.add(name)
        over = _NEVER, _NEVER
        for track in tracks:
            self._add(track)
            over = max(over[0], (found := _over(track, over[1], bare=bare))[0]), max(over[1], found[1])
            self._over_by.append(over[0])
            self._over_with.append(over[1])

    def _add(self, track: Track) -> None:
        ordinal = len(self._numbers)
        self._numbers.append(self._number(track))
        self._began.append(track.first.time)
        self._last.append(track.last.time)
        self._created.append(track.created.time if track.created else _NEVER)
        self._ended.append(track.ended.time if track.ended else _NEVER)
        self._gone_by.append(_NEVER)
        self._owners.append(_UNKNOWN)
        self._by_uid.add(track.ref.uid, ordinal)
        if track.owner:
            self._children.add(track.owner.uid, ordinal)
        for key, start, end in spells_of(track):
            self._spells[0].add(key, start)
            if end is not None:
                self._spells[1].add(key, end)
        for name in track.references():
            self._referrers.add(name, ordinal)

    def finish(self) -> None:
        """Sort what finds tracks, and set `gone_by`, when all names were added."""
        for each in (self._by_uid, self._children, self._referrers, *self._spells):
            each.sort()
        for name in self._names:
            if name.kind == "Endpoints" or len(self._range(name)) > 1:
                self._bind(name)
        self._recent, self._held = {}, 0  # tracks that were read before `gone_by` was known

    def _bind(self, name: Name) -> None:
        """Set `gone_by` of the tracks of a name, as `TracksInMemory` does."""
        if all(self._ended[each] != _NEVER for each in self._range(name)):
            return
        bounds = [time for each in self._range(name) if (time := self._created[each]) != _NEVER]
        if name.kind == "Endpoints":
            services = self._range(Name("", "Service", name.namespace, name.name))
            bounds += [time for each in services if (time := self._ended[each]) != _NEVER]
        bounds.sort()
        for each in self._range(name):
            if self._ended[each] == _NEVER and (bound := first_after(bounds, self._last[each])) is not None:
                self._gone_by[each] = bound

    # Reading

    def at(self, ordinal: int) -> Track:
        return self._read(ordinal)

    def number(self, track: Track) -> int:
        assert isinstance(track, ReadTrack)
        return track.number

    def _read(self, ordinal: int) -> ReadTrack:
        track = self._recent.pop(ordinal, None)
        if track is None:
            track = self._alive.get(ordinal)
            if track is None:
                return self._read_together(ordinal)
            self._held += len(track.moments)
        self._recent[ordinal] = track
        self._make_room()
        return track

    def _read_together(self, ordinal: int) -> ReadTrack:
        """Read a track and those that are in the same place."""
        place = self._places[ordinal]
        name = self._names[bisect_right(self._starts, ordinal) - 1]
        first = bisect_left(self._places, place)
        for number, (ref, owner, moments, unplaced) in enumerate(self._spill.get(place), first):
            if number not in self._alive:
                track = self._alive[number] = ReadTrack(ref, name, owner, moments)
                track.number, track.ordinal, track.unplaced = self._numbers[number], number, unplaced
                if (gone_by := self._gone_by[number]) != _NEVER:
                    track.gone_by = gone_by
                self._recent[number] = track
                self._held += len(moments)
        wanted = self._recent[ordinal] = self._recent.pop(ordinal)
        self._make_room()
        return wanted

    def _make_room(self) -> None:
        """Leave out the tracks that were used longest ago if too many moments are in memory."""
        while self._held > self._most and len(self._recent) > 1:
            self._held -= len(self._recent.pop(next(iter(self._recent))).moments)

    def _range(self, name: Name) -> range:
        """Return the ordinals of all tracks of a name."""
        index = self._of_name.get(name)
        if index is None:
            return range(0)
        return range(self._starts[index], self._starts[index + 1] if index + 1 < len(self._starts) else len(self))

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: Key) -> Track | None:
        name, uid = key
        lane = self._range(name)
        found = self._by_uid.get(uid)
        for each in found[bisect_left(found, lane.start) : bisect_left(found, lane.stop)]:
            if (track := self._read(each)).ref.uid == uid:
                return track
        return None

    def incarnations(self, name: Name, until: int | None = None, after: Moment | None = None) -> Sequence[Track]:
        lives = self._range(name)
        if until is not None:
            lives = lives[: bisect_right(lives, until, key=self._began.__getitem__) + 1]
        began = after and (after.entry.received if name in self._bare else after.entry.resource_version)
        if after and began and (name in self._bare or after.space == self._spaces.get(name, "")):
            over = min(
                bisect_left(lives, after.time, key=self._over_by.__getitem__),
                bisect_left(lives, began, key=self._over_with.__getitem__),
            )
            lives = lives[max(0, over - 1) :]
        return _Lives(self._read, lives)

    def begun(self, name: Name, until: int | None = None, after: int | None = None) -> Iterator[Track]:
        for each in self._range(name):
            over = after is not None and _NEVER != self._ended[each] < after
            if not over and (until is None or self._began[each] <= until):
                yield self._read(each)

    def without_uid(self, name: Name) -> Sequence[Track]:
        lives = self.incarnations(name) if name in self._mixed else ()
        return [track for track in lives if not public_uid(track.ref)]

    def names(self, group: str, kind: str) -> Sequence[Name]:
        first, end = self._kinds.get((group, kind), (0, 0))
        return self._names[first:end]

    def of_uid(self, uid: str) -> Track | None:
        for each in reversed(self._by_uid.get(uid)):
            if public_uid((track := self._read(each)).ref) == uid:
                return track
        return None

    def children(self, owner_uid: str) -> list[Track]:
        found = [self._read(each) for each in self._children.get(owner_uid)] if owner_uid else []
        of_owner = [track for track in found if track.owner and track.owner.uid == owner_uid]
        return sorted(of_owner, key=lambda track: (track.first.at, track.key))

    def referrers(self, name: Name, until: int | None = None, since: int | None = None) -> Iterator[Track]:
        for each in self._referrers.get(name):
            began = self._began[each]
            if (until is None or began <= until) and (since is None or began >= since):
                track = self._read(each)
                if name in track.references():
                    yield track

    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        starts, ends = self._spells
        return starts.count((owner_uid, spell), at) - ends.count((owner_uid, spell), at)

    def owner(self, track: Track, find: Callable[[Track], Track | None]) -> Track | None:
        assert isinstance(track, ReadTrack)
        known = self._owners[track.ordinal]
        if known == _UNKNOWN:
            found = find(track)
            assert found is None or isinstance(found, ReadTrack)
            self._owners[track.ordinal] = _NOBODY if found is None else found.ordinal
            return found
        return None if known == _NOBODY else self._read(known)
