"""Keep the revisions and times of the entries of a ledger whose entries are in a file. It does no I/O.

From them follow the clocks of the source and where lines are missing from it, without reading all entries again. Each
takes about 30 bytes.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from timeline.core.entries import FOREVER, Change, Clock, Entry, Place
from timeline.core.machine.columns import Numbers
from timeline.history.ledger.object_entries import ObjectEntries

if TYPE_CHECKING:
    from timeline.history.seen import GroupKind

_AUDIT, _CREATED, _DELETED, _REVISED = 1, 2, 4, 8


class Write(NamedTuple):
    """An entry as far as clocks need it; its fields are those of `Entry`."""

    resource_version: int | None
    received: int
    staged: int
    arrived: int  # 0, or any other number if `near` is not `received`
    near: int
    clock: Clock
    change: Change
    place: Place | None  # its line is 0


class Writes:
    """Entries in columns."""

    def __init__(self) -> None:
        self._revisions = Numbers()
        self._received = array("q")
        self._staged = array("q")
        self._flags = array("B")
        self._files = array("I")
        self._near: dict[int, int] = {}  # by row, where it is not the time at which the request was received
        self._places: list[Place | None] = [None]
        self._file_numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._flags)

    def __iter__(self) -> Iterator[Write]:
        places, near = self._places, self._near
        columns = self._revisions.values, self._received, self._staged, self._flags, self._files
        for row, (revision, received, staged, flags, file) in enumerate(zip(*columns, strict=True)):
            yield Write(
                revision if flags & _REVISED else None,
                received,
                staged,
                int(row in near),
                near.get(row, received),
                Clock.AUDIT if flags & _AUDIT else Clock.OBJECT,
                Change.CREATED if flags & _CREATED else Change.DELETED if flags & _DELETED else Change.MODIFIED,
                places[file],
            )

    @property
    def revisions(self) -> Sequence[int]:
        """Return the revision of each entry; -1 for none."""
        return self._revisions.values

    def add(self, entry: Entry) -> None:
        if entry.near != entry.received:
            self._near[len(self)] = entry.near
        revision = entry.resource_version
        self._revisions.append(-1 if revision is None else revision)
        self._received.append(entry.received)
        self._staged.append(entry.staged)
        self._flags.append(
            _AUDIT * (entry.clock is Clock.AUDIT)
            + _CREATED * (entry.change is Change.CREATED)
            + _DELETED * (entry.change is Change.DELETED)
            + _REVISED * (revision is not None)
        )
        self._files.append(self._file_number(entry.place.file) if entry.place else 0)

    def add_revised(self, entries: Iterable[Entry]) -> None:
        """Add those entries that have a revision."""
        for entry in entries:
            if entry.resource_version is not None:
                self.add(entry)

    def _file_number(self, file: str) -> int:
        number = self._file_numbers.get(file)
        if number is None:
            number = self._file_numbers[file] = len(self._places)
            self._places.append(Place(file, 0))
        return number

    def correct(self, ahead: dict[str, int]) -> None:
        """Subtract from the times of audit logs by how many microseconds the clock of each file is ahead."""
        by_number = {number: ahead[file] for file, number in self._file_numbers.items() if file in ahead}
        for row, file in enumerate(self._files):
            if file in by_number and self._flags[row] & _AUDIT:
                self._received[row] -= by_number[file]
                if row in self._near:
                    self._near[row] -= by_number[file]
                if self._staged[row] != FOREVER:
                    self._staged[row] -= by_number[file]


class Written:
    """The entries of all objects of a ledger."""

    def __init__(self) -> None:
        self.revised: dict[GroupKind, Writes] = defaultdict(Writes)  # by kind: those with a revision
        self.bare = Writes()
        # By kind: (file, revision, received, staged) of the writes that were left out (see
        # `timeline.history.ledger.folding`).
        self.folded: dict[GroupKind, list[tuple[str, int, int, int]]] = defaultdict(list)

    def __iter__(self) -> Iterator[Write]:
        for writes in self.revised.values():
            yield from writes
        yield from self.bare

    def add(self, known: ObjectEntries) -> None:
        kind = known.name[:2]
        for entry in known.entries.values():
            (self.bare if entry.resource_version is None else self.revised[kind]).add(entry)
        if known.folded:
            self.folded[kind] += known.folded

    def revisions(self, of: Callable[[str, str], bool]) -> Iterator[int]:
        """Yield the revisions of the entries of those kinds for whose group and name `of` is true."""
        for kind, writes in self.revised.items():
            if of(*kind):
                yield from writes.revisions

    def correct(self, ahead: dict[str, int]) -> None:
        """Correct the times of audit logs, as `Writes.correct` does."""
        for writes in (*self.revised.values(), self.bare):
            writes.correct(ahead)
