"""Read recordings as entries. Each module in this package that has a `FORMAT` reads one format."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

from collectors.formats.rejections import (
    KUBECONFIG,
    certain_rejection,
    is_kubeconfig,
    is_kubeconfig_name,
    looks_like,
    rejection_message,
)
from collectors.formats.stream import (
    Limits,
    Line,
    NotARecording,
    Recording,
    Skipped,
    Usage,
    fewer,
    open_all,
)
from collectors.gate import Admitted, admit
from timeline.core.entries import Entry, LogLine, Mark, Observation, Request
from timeline.history.ledger.left_out import LeftOut
from timeline.history.part import Part

__all__ = [
    "AnyReading",
    "Bounds",
    "Format",
    "Limits",
    "Line",
    "NotARecording",
    "Reading",
    "Recording",
    "Skipped",
    "audit_events",
    "read",
    "refuse",
    "refused",
]
BATCH = 500  # observations that are admitted at a time
LOG_LINES = 1_000_000  # lines of logs of programs that one reading keeps; each takes half a kilobyte of memory
IN_A_ROW = 1_000_000  # lines in a row that cannot be used, after which the rest of a file is not read
_UNKNOWN = "is not a recording that Causeline knows: "
AdmittedItems = Admitted[Observation | Skipped]  # of a helper process, which has the gate, too


class Format(NamedTuple):
    """One format, which each module of this package with a `FORMAT` declares."""

    name: str  # how it is called in messages
    sniff: Callable[[bytes], bool]  # say whether a recording that begins with these bytes has this format
    # Reads a recording as it is; with True, the observations have the whole objects.
    read: Callable[[Recording, bool], Iterator[Observation | Skipped | AdmittedItems]]
    events: Callable[[Recording], Iterator[Line | Skipped]] | None = None  # its audit events, one a line, unread
    leaves_out: bool = False  # whether it leaves out what `Recording.left_out` does not ask for
    rank: int = 0  # a format of a higher rank recognises only what none of a lower rank does (see `is_of_rank_below`)


@cache
def formats() -> tuple[Format, ...]:
    """Return the formats of all modules of this package that have a `FORMAT`, in the order of the modules' names."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(module.FORMAT for module in modules if hasattr(module, "FORMAT"))


def is_of_rank_below(rank: int, head: bytes) -> bool:
    """Return whether a recording that begins with these bytes has a format of a lower rank than this."""
    return any(each.sniff(head) for each in formats() if each.rank < rank)


def rejection_reason(name: str, head: bytes = b"") -> str:
    """Return why a file can never be a recording, by its name or its first bytes; "" if it may be one.

    The reason is a clause that follows the file's name, such as "it is a PNG picture".
    """
    if is_kubeconfig_name(name) or is_kubeconfig(head):
        return KUBECONFIG
    return "" if any(format.sniff(head) for format in formats()) else certain_rejection(head)


def rejected_file(name: str, words: str) -> NotARecording:
    """Return the exception to raise for a file that is rejected for this reason."""
    return NotARecording(rejection_message([Skipped(name, 0, f"{_UNKNOWN}{words}")]))


def read(
    inputs: Sequence[tuple[Path, str]],
    *,
    bodies: bool,
    limits: Limits = Limits(),  # noqa: B008
    processes: int = 1,
    part: bool = False,
    only: Part | None = None,
) -> "Reading":
    """Open files, folders, archives (or `-`, the standard input) and read them as one recording.

    Each path comes with the name that messages use for it. With several `processes`, others help to read a long audit
    log: at most one if bodies are kept. Raise NotARecording if nothing in the paths can be understood; its message says
    what they look like instead. If the paths are only a `part` of a recording, this is no error: each of them is
    skipped. With `only`, lines about the rest are left out if all paths are files in a format that can leave them out
    (see `Reading.left_out`).
    """
    return Reading(inputs, bodies, limits, processes, part, only)


def audit_events(
    inputs: Sequence[tuple[Path, str]],
    limits: Limits = Limits(),  # noqa: B008
) -> Iterator[Line | Skipped]:
    """Yield the audit events in these paths, one a line and unread, and what was skipped.

    What is no audit log is skipped. Raise NotARecording for a path that does not exist.
    """
    for recording in open_all(inputs, Usage(limits)):
        known = _known(recording)
        if isinstance(known, Skipped):
            yield known
            continue
        opened, format = known
        if format.events is None:
            yield Skipped(opened.name, 0, f"is not an audit log: {format.name}")
            continue
        yield from fewer(format.events(opened))
        yield from opened.report_error()


def named(inputs: Iterable[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Replace bytes in the names that are not UTF-8, and NUL characters: file names may hold them, text may not."""
    return [(path, name.encode("utf-8", "replace").decode().replace("\0", "?")) for path, name in inputs]


class AnyReading(Protocol):
    """What yields the entries of a recording, and says how far it has come."""

    files: dict[str, str]  # each file that was begun so far -> the name of its format

    @property
    def bytes_total(self) -> int: ...

    @property
    def bytes_read(self) -> int: ...

    def close(self) -> None: ...

    def __iter__(self) -> Iterator[Observation | Skipped]: ...


class Reading:
    """Iterate, once, over the entries of a recording and over what was skipped in it."""

    def __init__(
        self,
        inputs: Sequence[tuple[Path, str]],
        bodies: bool,
        limits: Limits,
        processes: int,
        part: bool,
        only: Part | None = None,
    ) -> None:
        self.only = only if only and _all_leave_out(inputs, limits) else None  # None if everything is read
        self.left_out: list[LeftOut] = []  # with `only`, what is known of what is left out, by file
        self.files: dict[str, str] = {}  # each file that was begun so far -> the name of its format
        self._bodies = bodies
        # What is read with bodies is mostly imported, by several workers, and takes much memory in each helper.
        self._processes = min(processes, 2) if bodies else processes
        self._usage = Usage(limits)
        self._opened = open_all(inputs, self._usage)
        self._rejected: list[Skipped] = []
        self._first: tuple[Recording, Format] | None = None
        for recording in self._opened:
            known = _known(recording)
            if not isinstance(known, Skipped):
                self._first = known
                return
            self._rejected.append(known)
        if not part:
            raise NotARecording(rejection_message(self._rejected))

    @property
    def bytes_total(self) -> int:
        """Return the size of all inputs on disk in bytes; what comes through a pipe is not in it."""
        return self._usage.bytes_total

    @property
    def bytes_read(self) -> int:
        """Return how many of these bytes have been read."""
        return self._usage.bytes_read

    @property
    def bytes_decompressed(self) -> int:
        """Return how many bytes have come out of what is packed."""
        return self._usage.bytes_decompressed

    def close(self) -> None:
        """Close the open files of a reading that is not iterated to its end."""
        self._opened.close()

    def __iter__(self) -> Iterator[Observation | Skipped]:
        yield from self._rejected
        bounds = Bounds(self._usage.limits)
        for known in chain([self._first] if self._first else [], map(_known, self._opened)):
            if isinstance(known, Skipped):
                yield known
                continue
            recording, format = known
            self.files[recording.name] = format.name
            recording.processes = self._processes
            if self.only:
                recording.left_out = LeftOut(self.only, recording.name)
                self.left_out.append(recording.left_out)
            in_a_row = 0
            for batch in self._batches(fewer(format.read(recording, self._bodies))):
                yield from bounds.kept(batch, recording.name)
                if bounds.reached:
                    self.close()
                    return
                skipped = [each.lines for each in batch if isinstance(each, Skipped)]
                in_a_row = in_a_row + sum(skipped) if len(skipped) == len(batch) else 0
                if in_a_row >= IN_A_ROW:
                    yield Skipped(recording.name, 0, f"not read further: {in_a_row} lines in a row could not be used")
                    break
            else:
                yield from recording.report_error()

    def _batches(self, items: Iterator[Observation | Skipped | AdmittedItems]) -> Iterator[AdmittedItems]:
        """Yield the items in batches, as the gate admits them."""
        limits, bodies = self._usage.limits, self._bodies
        batch: list[Observation | Skipped] = []
        for item in items:
            if isinstance(item, Admitted):
                yield admit(batch, limits, bodies=bodies)
                yield item
                batch = []
                continue
            batch.append(item)
            if len(batch) == BATCH:
                yield admit(batch, limits, bodies=bodies)
                batch = []
        yield admit(batch, limits, bodies=bodies)


class Bounds:
    """Leave out what is more than one reading may keep: objects, and lines of logs."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._objects: set[object] = set()
        self._lines = 0  # of logs of programs
        self._cut: set[str] = set()  # the files whose lines of logs were partly left out
        self.reached = False  # whether nothing more is to be read

    def kept(self, batch: AdmittedItems, file: str) -> Iterator[Observation | Skipped]:
        """Yield those items of one file that may be kept, and a Skipped for others, as `keep` does; nothing after the
        item with which `reached` becomes true."""
        if self._fits(batch):
            yield from batch
            return
        for item in batch:
            if isinstance(item, Skipped):
                yield item
                continue
            if (kept := self.keep(item, file)) is not None:
                yield kept
            if self.reached:
                return

    def _fits(self, batch: AdmittedItems) -> bool:
        """Return whether all items may be kept, which is quicker to find out for many at once; count them if so."""
        new: set[object] = set()
        for each in batch:
            if isinstance(each, Entry | Request):
                new.add(each.ref.uid or each.ref)
            elif not isinstance(each, Skipped | Mark):
                return False
        new -= self._objects
        if len(self._objects) + len(new) > self._limits.objects:
            return False
        self._objects |= new
        return True

    def keep(self, item: Observation, file: str) -> Observation | Skipped | None:
        """Return the item of this file if it may be kept; else a Skipped with the reason, or None if that was said."""
        if isinstance(item, Mark):
            return item
        if isinstance(item, LogLine):
            self._lines += 1
            if self._lines <= LOG_LINES:
                return item
            if file in self._cut:
                return None
            self._cut.add(file)
            return Skipped(file, 0, f"is a log that is not read further: all logs have more than {LOG_LINES} lines")
        which = item.ref.uid or item.ref
        if which not in self._objects:
            if len(self._objects) == self._limits.objects:
                self.reached = True
                reason = f"more than {self._limits.objects} objects; CAUSELINE_OBJECT_LIMIT raises the limit"
                return Skipped(file, 0, f"not read further: {reason}")
            self._objects.add(which)
        return item


def _all_leave_out(inputs: Sequence[tuple[Path, str]], limits: Limits) -> bool:
    """Return whether each path is a file of its own in a format that can leave lines out. What other formats show may
    depend on all lines of a log beside them."""
    for path, name in inputs:
        if not path.is_file():
            return False
        opened = open_all([(path, name)], Usage(limits))
        first = next(opened, None)
        known = _known(first) if isinstance(first, Recording) and first.name == name else None
        opened.close()
        if known is None or isinstance(known, Skipped) or not known[1].leaves_out:
            return False
    return True


def _known(recording: Recording | Skipped) -> tuple[Recording, Format] | Skipped:
    """Return the recording with its format, or a Skipped that says why it has none."""
    if isinstance(recording, Skipped):
        return recording
    head = recording.head()
    if not head:
        return Skipped(recording.name, 0, recording.why_empty())
    for format in formats():
        if format.sniff(head):
            return recording, format
    return Skipped(recording.name, 0, _UNKNOWN + looks_like(head))
