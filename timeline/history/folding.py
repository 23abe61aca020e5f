"""Pure: writes between two that say the same are left out where nobody asks for each of them.

A Lease is renewed, and a Node says that it lives, every few seconds for years. What is kept of such a write is its
revision and when it was, so that nothing seems to be missing; so memory grows with what changes.
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

MANY = 128  # writes of one object; of one with fewer, none is left out
_WIDEST = 2**62  # revisions beyond are not packed


class Stamps(NamedTuple):
    """Of the writes that one file told; in the order of their revisions."""

    revisions: "array[int]"
    received: "array[int]"
    staged: "array[int]"


class Folded:
    """The writes of one object that were left out. 24 bytes each."""

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
        """File, revision, received and staged of each."""
        for file, stamps in self._files.items():
            for revision, received, staged in zip(*stamps, strict=True):
                yield file, revision, received, staged

    def drop(self, before: int) -> None:
        """Leave out those that were received before a time, microseconds."""
        for file, stamps in self._files.items():
            kept = [row for row in zip(*stamps, strict=True) if row[1] >= before]
            if len(kept) < len(stamps.revisions):
                columns = zip(*kept, strict=True) if kept else ((), (), ())
                self._files[file] = Stamps(*(array("q", column) for column in columns))

    def add(self, entries: list[Entry]) -> None:
        told: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for entry in entries:
            file = entry.place.file if entry.place else ""
            told[file].append((entry.resource_version or 0, entry.received, entry.staged))
        for file, new in told.items():
            known = zip(*self._files[file], strict=True) if file in self._files else ()
            self._files[file] = Stamps(*(array("q", column) for column in zip(*sorted((*known, *new)), strict=True)))


def fold(entries: dict[object, Entry], kind: Kind, blind: Callable[[int, int], bool]) -> list[Entry]:
    """Take those out of the writes of one object, by their revisions, that stand between two that say the same.

    Each must name the revision that it replaces, or have arrived in a stream that was not `blind` since, so that it is
    sure that nothing else was written between them. The write that follows then replaces the one before.
    """
    plain = [entry for entry in entries.values() if _plain(entry)]
    places = {entry.resource_version: entry.replaces for entry in plain}
    places |= _followed(entries, blind)
    following = {places[entry.resource_version]: entry for entry in plain}
    left_out = []
    for revision in sorted(entry.resource_version or 0 for entry in following.values()):
        entry = entries[revision]
        before, after = entries.get(places[revision]), following.get(revision)
        if before is None or after is None or not _plain(before) or _again(before, entry, kind) is None:
            continue
        facts = _again(entry, after, kind)
        if facts is not None:
            del following[revision], entries[revision]
            after = replace(after, replaces=before.resource_version, facts=facts)
            places[after.resource_version] = before.resource_version
            entries[after.resource_version] = following[before.resource_version] = after
            left_out.append(entry)
    return left_out


def _followed(entries: dict[object, Entry], blind: Callable[[int, int], bool]) -> dict[int | None, int | None]:
    """By the revision of each plain write that arrived in a stream, the one that came right before it."""
    told = [entry for entry in entries.values() if entry.arrived and entry.resource_version is not None]
    told.sort(key=lambda entry: entry.resource_version or 0)
    return {
        entry.resource_version: before.resource_version
        for before, entry in pairwise(told)
        if _plain(entry) and not blind(before.arrived, entry.arrived)
    }


def _plain(entry: Entry) -> bool:
    return (
        entry.change is Change.MODIFIED
        and (entry.arrived != 0 or (entry.clock is Clock.AUDIT and entry.replaces is not None))
        and entry.facts is not None
        and not entry.sets
        and entry.ref.uid != ""
        and entry.resource_version is not None
        and entry.resource_version < _WIDEST
    )


def _again(before: Entry, after: Entry, kind: Kind) -> Facts | None:
    """The facts of a write that does what the one before it did, as they are to be kept."""
    if (before.owner, before.action, before.actor, before.user_agent, before.level) != (
        after.owner, after.action, after.actor, after.user_agent, after.level,
    ):  # fmt: skip
        return None
    if (before.place and before.place.file) != (after.place and after.place.file):
        return None
    facts: Facts | None = kind.again(before.facts, after.facts, after.received - before.received)
    return facts
