"""This module keeps the entries of one object, without repetitive writes. It is pure."""

from collections.abc import Callable

from msgspec.structs import replace

from timeline.core.entries import Entry
from timeline.core.observations import merged
from timeline.history.folding import MANY, Folded, fold
from timeline.history.lifelines import Name
from timeline.history.seen import Seen
from timeline.kinds import kind_of

_LONGEST = 2_000  # the most changes that are kept of one object of a live source


class ObjectEntries:
    """These are the entries of one UID, or of one name where the observations carry no UID."""

    __slots__ = ("entries", "folded", "name", "number", "room", "seen", "uid")

    def __init__(self, name: Name, uid: str, number: int, seen: Seen) -> None:
        self.name = name
        self.uid = uid
        self.number = number  # the number of the object within the source, from 1
        self.seen = seen  # how much of its kind was observed
        self.entries: dict[object, Entry] = {}  # by `observations.identity`
        self.folded: Folded | None = None  # the writes that were left out
        self.room = MANY  # the number of entries up to which `fold` is not worth its time

    def fold(self, blind: Callable[[int, int], bool]) -> None:
        """Move repetitive writes from `entries` to `folded`, if there are enough entries.

        `blind` takes two times of arrival, in microseconds, and returns whether the watch of the kind had a gap between
        them.
        """
        if len(self.entries) + len(self.folded or ()) >= MANY:
            self.folded = self.folded or Folded()
            self.folded.add(fold(self.entries, kind_of(self.name.group, self.name.kind), blind))
            self.room = max(MANY, 2 * len(self.entries))

    def shorten(self) -> None:
        """Forget all but the first and the latest changes of an object that has too many."""
        if len(self.entries) > _LONGEST:
            changes = sorted(self.entries, key=lambda change: self.entries[change].resource_version or 0)
            for change in changes[1 : -_LONGEST // 2]:
                del self.entries[change]
            self.room = _LONGEST

    def merged(self, before: Entry, now: Entry) -> Entry:
        """Return one entry for two observations of one change.

        If the write that this change replaced was left out, the merged entry keeps the revision that `before` replaces,
        which is that of the last write which was not left out.
        """
        after = merged(before, now)
        if self.folded and after.replaces in self.folded:
            return replace(after, replaces=before.replaces, facts=before.facts)
        return after
