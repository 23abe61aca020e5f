"""This module keeps what was learned of one object, and leaves out writes that say nothing new. It is pure."""

from collections.abc import Callable

from msgspec.structs import replace

from timeline.core.entries import Entry
from timeline.core.observations import merged
from timeline.history.folding import MANY, Folded, fold
from timeline.history.lifelines import Name
from timeline.history.seen import Seen
from timeline.kinds import kind_of

_LONGEST = 2_000  # changes of one object of a live source that are kept at a time


class ObjectEntries:
    """These are the entries of one UID, or of one name where the observations carry no UID."""

    __slots__ = ("entries", "folded", "name", "number", "room", "seen", "uid")

    def __init__(self, name: Name, uid: str, number: int, seen: Seen) -> None:
        self.name = name
        self.uid = uid
        self.number = number  # within the source, from 1
        self.seen = seen  # of its kind
        self.entries: dict[object, Entry] = {}  # by `observations.identity`
        self.folded: Folded | None = None  # the writes that were left out
        self.room = MANY  # how many entries it may have before `fold` is worth its time

    def fold(self, blind: Callable[[int, int], bool]) -> None:
        """Leave out writes that say nothing new.

        `blind` says whether the watch of the kind had a gap between two arrivals, in microseconds.
        """
        if len(self.entries) + len(self.folded or ()) >= MANY:
            self.folded = self.folded or Folded()
            self.folded.add(fold(self.entries, kind_of(self.name.group, self.name.kind), blind))
            self.room = max(MANY, 2 * len(self.entries))

    def shorten(self) -> None:
        """Keep only the first and the latest changes of an object that is written to all the time."""
        if len(self.entries) > _LONGEST:
            changes = sorted(self.entries, key=lambda change: self.entries[change].resource_version or 0)
            for change in changes[1 : -_LONGEST // 2]:
                del self.entries[change]
            self.room = _LONGEST

    def merged(self, before: Entry, now: Entry) -> Entry:
        """Return what two observations of one change show together. If the write before it was left out, the change
        goes on to replace the write before that one."""
        after = merged(before, now)
        if self.folded and after.replaces in self.folded:
            return replace(after, replaces=before.replaces, facts=before.facts)
        return after
