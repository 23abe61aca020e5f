"""Pure: what is known of a live source as lines of JSON, and back: who takes it over need not read all of it."""

from collections.abc import Iterable, Iterator

import msgspec

from timeline.core.entries import Entry, Mark
from timeline.history.codec import Known, entry_of, line_of, observation_of
from timeline.history.ledger import Memory, ObjectSnapshot

VERSION = 1


class _Head(msgspec.Struct):
    version: int
    first: int
    last: int
    numbers: int
    lanes: int
    seen: list[tuple[str, str, list[int]]]
    remembered: int = 0
    steps: list[tuple[str, str, int]] = []  # revisions as text: they may exceed 64 bits


class _Object(msgspec.Struct):
    number: int
    lane: int
    entries: list[msgspec.Raw]


_encode = msgspec.json.Encoder().encode
_head = msgspec.json.Decoder(_Head).decode
_object = msgspec.json.Decoder(_Object).decode


def lines_of(memory: Memory) -> Iterator[bytes]:
    """The head, the marks, an empty line, and a line for each object."""
    head = memory.first, memory.last, memory.numbers, memory.lanes, memory.seen, memory.remembered
    yield _encode(_Head(VERSION, *head, [(space, str(revision), time) for space, revision, time in memory.steps]))
    yield from map(line_of, memory.marks)
    yield b""
    for number, lane, entries in memory.objects:
        yield _encode(_Object(number, lane, [msgspec.Raw(line_of(entry)) for entry in entries]))


def memory_of(lines: Iterable[bytes]) -> Memory | None:
    """None where another version has written it."""
    rest = iter(lines)
    try:
        head = _head(next(rest))
    except msgspec.ValidationError:
        return None
    if head.version != VERSION:
        return None
    known: Known = {}
    marks: list[Mark] = []
    while line := next(rest):
        mark = observation_of(line, known)
        assert isinstance(mark, Mark)
        marks.append(mark)
    objects = [_remembered(line, known) for line in rest]
    steps = [(space, int(revision), time) for space, revision, time in head.steps]
    return Memory(head.first, head.last, head.remembered, head.numbers, head.lanes, head.seen, marks, steps, objects)


def _remembered(line: bytes, known: Known) -> ObjectSnapshot:
    told = _object(line)
    entries: list[Entry] = [entry_of(bytes(raw), known, bodies=False) for raw in told.entries]
    return ObjectSnapshot(told.number, told.lane, entries)
