"""Write a snapshot of a live source as lines of JSON and read it back.

With a snapshot, a worker that takes over a source need not read all of its entries. The names of the fields are part of
the stored format. The module is pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from timeline.core.dating import Present
from timeline.core.entries import FOREVER, Entry, LogLine, Mark, Request
from timeline.history.codec import Known, entry_of, line_of, observation_of

VERSION = 2


class ObjectSnapshot(NamedTuple):
    """One object in a snapshot: its number, the number of its lane, and its entries without their bodies."""

    number: int
    lane: int
    entries: list[Entry]


class Snapshot(NamedTuple):
    """Everything that is known of a live source. Times are microseconds since 1970."""

    first: int  # the beginning of the source
    last: int  # the end of the source
    remembered: int  # the drawn time from which on every track is known
    numbers: int  # how many objects there ever were
    lanes: int  # how many lanes there ever were
    seen: list[tuple[str, str, list[int]]]  # group, kind, and the state of `Seen`
    marks: list[Mark]
    evidence: list[Request | LogLine | Entry]  # requests, lines of logs, entries of Events whose objects were forgotten
    steps: list[tuple[str, int, int]]  # what `Clocks.steps` returned: space, revision, drawn time
    objects: list[ObjectSnapshot]
    shown: Sequence[tuple[str, str, str, int]] = ()  # what `Shown.state` returned
    # By group and kind: how many writes of forgotten objects both a log and a watch had shown; see `Ledger.changes`.
    repeated: Sequence[tuple[str, str, int]] = ()


def healed(snapshot: Snapshot, present: Present, created: int) -> Snapshot:
    """Return a snapshot without the effect of times in the future; the same one if there is none. `created` is when the
    source was made, in microseconds since 1970."""
    times = [snapshot.first, snapshot.last, snapshot.remembered, *(time for _, _, time in snapshot.steps)]
    if max(times) <= present.latest:
        return snapshot
    first = snapshot.first if snapshot.first <= present.latest else created
    present = present._replace(since=first)
    objects = [each._replace(entries=list(map(present.dated, each.entries))) for each in snapshot.objects]
    marks, evidence = list(map(present.dated, snapshot.marks)), list(map(present.dated, snapshot.evidence))
    entries = [entry for each in objects for entry in each.entries]
    shown = [max(each.received, each.arrived) for each in entries if not each.misdated]
    last = max([first, *shown, *(each.time for each in marks)])
    return snapshot._replace(
        first=first,
        last=last,
        # What had ended was forgotten, as if it had been long ago.
        remembered=snapshot.remembered if snapshot.remembered <= present.latest else last,
        seen=[(group, kind, _bounded(state, present)) for group, kind, state in snapshot.seen],
        marks=marks,
        evidence=evidence,
        steps=[step for step in snapshot.steps if step[2] <= present.latest],
        objects=objects,
    )


def _bounded(state: list[int], present: Present) -> list[int]:
    """Return a state of `Seen` without times in the future."""
    changes, listed, streamed, since, until, *logged = state
    since = present.now if present.latest < since != FOREVER else since
    return [changes, listed, streamed, since, until if until <= present.latest else present.now, *logged]


class _Head(msgspec.Struct):
    version: int
    first: int
    last: int
    numbers: int
    lanes: int
    seen: list[tuple[str, str, list[int]]]
    remembered: int
    shown: Sequence[tuple[str, str, str, int]]
    steps: list[tuple[str, str, int]]  # revisions are text, since they may exceed 64 bits
    repeated: Sequence[tuple[str, str, int]]


class _ObjectLine(msgspec.Struct):
    number: int
    lane: int
    entries: list[msgspec.Raw]


_encode = msgspec.json.Encoder().encode
_decode_head = msgspec.json.Decoder(_Head).decode
_decode_object = msgspec.json.Decoder(_ObjectLine).decode


def lines_of(snapshot: Snapshot) -> Iterator[bytes]:
    """Yield a snapshot as lines of JSON without line breaks: the head, the marks and the evidence, an empty line,
    and each object."""
    steps = [(space, str(revision), time) for space, revision, time in snapshot.steps]
    yield _encode(
        _Head(
            VERSION,
            snapshot.first,
            snapshot.last,
            snapshot.numbers,
            snapshot.lanes,
            snapshot.seen,
            snapshot.remembered,
            snapshot.shown,
            steps,
            snapshot.repeated,
        )
    )
    yield from map(line_of, snapshot.marks)
    yield from map(line_of, snapshot.evidence)
    yield b""
    for number, lane, entries in snapshot.objects:
        yield _encode(_ObjectLine(number, lane, [msgspec.Raw(line_of(entry)) for entry in entries]))


def snapshot_of(lines: Iterable[bytes]) -> Snapshot | None:
    """Return the snapshot that `lines_of` wrote; None if it was written in another version of the format."""
    rest = iter(lines)
    try:
        head = _decode_head(next(rest))
    except msgspec.ValidationError:
        return None
    if head.version != VERSION:
        return None
    known: Known = {}
    marks: list[Mark] = []
    evidence: list[Request | LogLine | Entry] = []
    while line := next(rest):
        each = observation_of(line, known, bodies=False)
        if isinstance(each, Mark):
            marks.append(each)
        else:
            evidence.append(each)
    return Snapshot(
        first=head.first,
        last=head.last,
        remembered=head.remembered,
        numbers=head.numbers,
        lanes=head.lanes,
        seen=head.seen,
        marks=marks,
        evidence=evidence,
        steps=[(space, int(revision), time) for space, revision, time in head.steps],
        objects=[_object_of(line, known) for line in rest],
        shown=head.shown,
        repeated=head.repeated,
    )


def _object_of(line: bytes, known: Known) -> ObjectSnapshot:
    read = _decode_object(line)
    return ObjectSnapshot(read.number, read.lane, [entry_of(bytes(raw), known, bodies=False) for raw in read.entries])
