"""Keep the entries of one object, without repetitive writes. It does no I/O."""

from collections.abc import Callable

from msgspec.structs import replace

from timeline.core.entries import Entry
from timeline.core.observations import merged
from timeline.core.order import CommitClock
from timeline.history.ledger.folding import MANY, Folded, fold
from timeline.history.ledger.incarnations import continued, track_of
from timeline.history.lifelines import Name, Track
from timeline.history.seen import Seen
from timeline.kinds import kind_of

_LONGEST = 2_000  # the most changes that are kept of one object of a live source


class ObjectEntries:
    """The entries of one UID, or of one name where the observations carry no UID."""

    __slots__ = ("entries", "folded", "fresh", "name", "number", "room", "seen", "track", "uid")

    def __init__(self, name: Name, uid: str, number: int, seen: Seen) -> None:
        self.name = name
        self.uid = uid
        self.number = number  # the number of the object within the source, from 1
        self.seen = seen  # how much of its kind was observed
        self.entries: dict[object, Entry] = {}  # by `observations.identity`
        self.folded: Folded | None = None  # the writes that were left out
        # Of a followed source: the track that was built last, None if it has to be built anew because known entries
        # have changed; and the entries that have come since.
        self.track: Track | None = None
        self.fresh: list[Entry] | None = None
        self.room = MANY  # the number of entries up to which `fold` is not worth its time

    def append(self, entry: Entry) -> None:
        """Keep a new entry of the object for the next time that its track is continued."""
        if self.track is None:
            return
        if self.fresh is None:
            self.fresh = []
        self.fresh.append(entry)

    def built(self, clock: CommitClock, space: str, moved: tuple[int, int] | None) -> Track:
        """Return the track of a UID of a followed source, as if there were no other incarnation of its name.

        What has come is added to the track that was built last, unless changes with revisions in the range `moved` may
        be drawn at other times than then, and the track has some.
        """
        track = self.track
        if track and moved and _has(track, *moved):
            track = None
        if track and self.fresh:
            track = continued(track, self.fresh, clock, space)
        self.track = track or track_of(self.name, [*self.entries.values()], clock, space)
        self.fresh = None
        return self.track

    def fold(self, blind: Callable[[int, int], bool]) -> None:
        """Move repetitive writes from `entries` to `folded`, if there are enough entries.

        `blind` takes two times of arrival, in microseconds, and returns whether the watch of the kind had a gap between
        them.
        """
        if len(self.entries) + len(self.folded or ()) >= MANY:
            self.folded = self.folded or Folded()
            self.folded.add(fold(self.entries, kind_of(self.name.group, self.name.kind), blind))
            self.room = max(MANY, 2 * len(self.entries))
            self.track = None

    def shorten(self) -> None:
        """Forget all but the first and the latest changes of an object that has too many."""
        if len(self.entries) > _LONGEST:
            changes = sorted(self.entries, key=lambda change: self.entries[change].resource_version or 0)
            for change in changes[1 : -_LONGEST // 2]:
                del self.entries[change]
            self.room = _LONGEST
            self.track = None

    def merged(self, before: Entry, now: Entry) -> Entry:
        """Return one entry for two observations of one change.

        If the write that this change replaced was left out, the merged entry keeps the revision that `before` replaces,
        which is that of the last write which was not left out.
        """
        after = merged(before, now)
        if self.folded and after.replaces in self.folded:
            return replace(after, replaces=before.replaces, facts=before.facts)
        return after


def _has(track: Track, least: int, most: int) -> bool:
    """Return whether a track has a change with a revision in this range."""
    revisions = (moment.entry.resource_version for moment in track.moments)
    return any(revision is not None and least <= revision <= most for revision in revisions)
