"""Define what a world asks of the tracks of its source, wherever these are kept.

A track is one incarnation of an object; the tracks of one name share a lane. The order of tracks is by name, and then
by their beginnings. It does no I/O.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from timeline.core.order import At
from timeline.history.lifelines import Key, Moment, Name, Track, public_uid


class Tracks(ABC):
    """The tracks of one source: `in_memory.py` keeps those that grow or are few, `in_file.py` those of a recording that
    is too large for memory."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def at(self, ordinal: int) -> Track:
        """Return a track by its place among all tracks, from 0."""

    def __iter__(self) -> Iterator[Track]:
        return map(self.at, range(len(self)))

    @abstractmethod
    def number(self, track: Track) -> int:
        """Return the number of a track within the source, which is unique and never changes."""

    @abstractmethod
    def get(self, key: Key) -> Track | None: ...

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
        """Return how many children of an owner were in a spell right after a place in commit order. The cost is
        logarithmic in their number."""

    @abstractmethod
    def owner(self, track: Track, find: Callable[[Track], Track | None]) -> Track | None:
        """Return what `find` returns for a track. It is called once for each track until tracks change."""

    def resolve(self, keys: Iterable[Key]) -> list[Track]:
        """Return the tracks of these keys, without keys that no longer exist."""
        return [track for key in keys if (track := self.get(key))]


def first_after(times: Sequence[int], time: int) -> int | None:
    """Return the first of these sorted times that is later than another one; None if none is."""
    at = bisect_right(times, time)
    return times[at] if at < len(times) else None


def began(track: Track) -> int:
    """Return the drawn time at which a track began, in microseconds since 1970."""
    return track.first.time


def spells_of(track: Track) -> Iterator[tuple[tuple[str, str], At, At | None]]:
    """Yield each spell with the key under which it is counted: the owner's UID and the name of the spell."""
    if track.owner and public_uid(track.ref):  # a track without a UID may be the same object as one with a UID
        for spell, start, end in track.kind.spells(track):
            yield (track.owner.uid, spell), start, end


def counted_otherwise(track: Track, before: Track) -> int | None:
    """Return the drawn time from which `Tracks.tally` counts a track differently than its older state `before`; None if
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
