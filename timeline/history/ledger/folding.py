"""Leave out repetitive writes: those between two writes that carry the same information. It does no I/O.

Leases are renewed, and Nodes report that they are alive, every few seconds for years. Of such a write only its revision
and its times are kept, so that it does not count as missing. Memory therefore grows only with what changes.
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from timeline.core.entries import Change, Clock, Entry, Facts
from timeline.kinds import Kind

MANY = 128  # writes are left out only of objects that have at least this many
_WIDEST = 2**62  # writes with greater revisions are kept, because arrays of 64 bits do not hold them


class Stamps(NamedTuple):
    """The revisions and times (µs since 1970) of the writes that one file shows, sorted by revision."""

    revisions: "array[int]"
    received: "array[int]"
    staged: "array[int]"


class Folded:
    """The writes of one object that were left out. Each takes 24 bytes of memory."""

    def __init__(self) -> None:
        self._files: dict[str, Stamps] = {}

    def __len__(self) -> int:
        return sum(len(stamps.revisions) for stamps in self._files.values())

    def __contains__(self, revision: object) -> bool:
        for revisions, _, _ in self._files.values():
            at = bisect_left(revisions, revision) if isinstance(revision, int) else len(revisions)
            if at < len(revisions) and revisions[at] == revision:
                return True
        return False

    def __iter__(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield (file, revision, received, staged) of each write."""
        for file, stamps in self._files.items():
            for revision, received, staged in zip(*stamps, strict=True):
                yield file, revision, received, staged

    def drop(self, before: int) -> None:
        """Forget the writes that were received before a time, in microseconds since 1970."""
        for file, stamps in self._files.items():
            kept = [row for row in zip(*stamps, strict=True) if row[1] >= before]
            if len(kept) < len(stamps.revisions):
                columns = zip(*kept, strict=True) if kept else ((), (), ())
                self._files[file] = Stamps(*(array("q", column) for column in columns))

    def add(self, entries: list[Entry]) -> None:
        """Add writes that `fold` returned."""
        by_file: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for entry in entries:
            file = entry.place.file if entry.place else ""
            by_file[file].append((entry.resource_version or 0, entry.received, entry.staged))
        for file, new in by_file.items():
            known = zip(*self._files[file], strict=True) if file in self._files else ()
            self._files[file] = Stamps(*(array("q", column) for column in zip(*sorted((*known, *new)), strict=True)))


def fold(entries: dict[object, Entry], kind: Kind, blind: Callable[[int, int], bool]) -> list[Entry]:
    """Remove repetitive writes of one object from `entries`, and return them.

    `entries` are the writes by `observations.identity`, which is the revision if a write has one. A write is removed if
    it repeats the write before it and the write after it repeats it in turn, and if surely no other write lies between
    the three: each names the revision that it replaces, or arrived in a watch that had no gap since the one before.
    `blind` takes two times of arrival, in microseconds, and returns whether the watch had a gap between them. The write
    after the removed one is changed to replace the one before it.
    """
    plain = [entry for entry in entries.values() if _plain(entry)]
    places = {entry.resource_version: entry.replaces for entry in plain}
    places |= _followed(entries, blind)
    following = {places[entry.resource_version]: entry for entry in plain}
    left_out = []
    for revision in sorted(entry.resource_version or 0 for entry in following.values()):
        entry = entries[revision]
        before, after = entries.get(places[revision]), following.get(revision)
        if before is None or after is None or not _plain(before) or _repeats(before, entry, kind) is None:
            continue
        facts = _repeats(entry, after, kind)
        if facts is not None:
            del following[revision], entries[revision]
            after = replace(after, replaces=before.resource_version, facts=facts)
            places[after.resource_version] = before.resource_version
            entries[after.resource_version] = following[before.resource_version] = after
            left_out.append(entry)
    return left_out


def _followed(entries: dict[object, Entry], blind: Callable[[int, int], bool]) -> dict[int | None, int | None]:
    """Return, for each plain write that arrived in a watch, the revision of the write right before it, by its own
    revision."""
    watched = [entry for entry in entries.values() if entry.arrived and entry.resource_version is not None]
    watched.sort(key=lambda entry: entry.resource_version or 0)
    return {
        entry.resource_version: before.resource_version
        for before, entry in pairwise(watched)
        if _plain(entry) and not blind(before.arrived, entry.arrived)
    }


def _plain(entry: Entry) -> bool:
    """Return whether a write is a candidate to be left out: it is a modification that shows the whole state, and it is
    known which write it replaced."""
    return (
        entry.change is Change.MODIFIED
        and (entry.arrived != 0 or (entry.clock is Clock.AUDIT and entry.replaces is not None))
        and entry.facts is not None
        and not entry.sets
        and entry.ref.uid != ""
        and entry.resource_version is not None
        and entry.resource_version < _WIDEST
    )


def _repeats(before: Entry, after: Entry, kind: Kind) -> Facts | None:
    """Return the facts to keep if `after` repeats `before`; None if it carries new information."""
    if (before.owner, before.action, before.actor, before.user_agent, before.level, before.intent) != (
        after.owner, after.action, after.actor, after.user_agent, after.level, after.intent,
    ):  # fmt: skip
        return None
    if before.client != after.client:
        return None
    if (before.place and before.place.file) != (after.place and after.place.file):
        return None
    facts: Facts | None = kind.again(before.facts, after.facts, after.received - before.received)
    return facts
