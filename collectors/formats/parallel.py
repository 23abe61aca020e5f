"""A long recording is read by two processes: what one line tells does not depend on the others.

The process that takes in the bytes hands blocks of lines to a helper as long as that keeps up, and reads the others
itself, so that both are busy whatever else they have to do. What is read comes in the order of the lines: no judgement
rests on it, but an import that is done again writes the same rows.
"""

import gc
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from mmap import mmap
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Protocol

from collectors import redaction
from collectors.formats.stream import Block, Line, Recording, Skipped
from timeline.core.entries import Entry

ALONE = 16 * 1024**2  # bytes that are read before a helper is worth its start
_ENOUGH = 200  # lines that are handed over at a time
_SPACE = 4 * 1024**2  # bytes that they may have
_AHEAD = 4  # blocks that the helper has before it must have answered
_HELD = 16  # blocks that wait for an earlier one before that is waited for


class Reader(Protocol):
    """What reads the lines of one recording."""

    def read(self, lines: Iterable[Line | Skipped]) -> Iterator[Entry | Skipped]: ...

    def learned(self) -> Any:
        """What it learned since it was last asked, as far as a reader of other lines has to know it."""

    def take(self, learned: Any) -> None:
        """What a reader of other lines has learned."""


def read_together(recording: Recording, reader: Reader) -> Iterator[Entry | Skipped]:
    """What a recording tells, in the order of its lines."""
    blocks = recording.blocks()
    alone = 0
    for block in blocks:
        yield from reader.read(block.lines(recording.limits))
        alone += sum(map(len, block.data))
        if alone > ALONE:
            break
    else:
        return
    helper = _Helper(reader, recording)
    order: deque[int] = deque()  # of the blocks that are not told yet, by their first lines
    read: dict[int, Iterable[Entry | Skipped]] = {}  # what those tell that have been read
    try:
        for block in _larger(blocks):
            order.append(block.number)
            if not helper.takes(block):
                items = reader.read(block.lines(recording.limits))
                read[block.number] = items if len(order) == 1 else list(items)
            read.update(helper.answers(wait=len(order) > _HELD))
            while order and order[0] in read:
                yield from read.pop(order.popleft())
        read.update(helper.answers(wait=True))
        for number in order:
            yield from read[number]
    finally:
        helper.close()


def _larger(blocks: Iterator[Block]) -> Iterator[Block]:
    """The same lines, and more at a time where it were few: handing over has its price."""
    held: list[Block] = []
    lines = 0
    for block in blocks:
        held.append(block)
        lines += len(block.data)
        if lines >= _ENOUGH:
            yield _joined(held)
            held, lines = [], 0
    if held:
        yield _joined(held)


def _joined(blocks: list[Block]) -> Block:
    return Block(blocks[0].file, blocks[0].number, [line for block in blocks for line in block.data])


class _Helper:
    """The other process. Should it end before its time, what it has not answered is read here."""

    def __init__(self, reader: Reader, recording: Recording) -> None:
        self._reader = reader
        self._limits = recording.limits
        shared = os.memfd_create("causeline")
        os.ftruncate(shared, _AHEAD * _SPACE)
        self._memory = mmap(shared, 0)  # blocks lie in it: a pipe would hold up both for most of the time
        self._free = list(range(_AHEAD))
        self._given: deque[tuple[int, Block]] = deque()
        self._ended = False
        self._pipe, theirs = Pipe()
        self._process = subprocess.Popen(  # not a fork: other threads may hold locks
            [sys.executable, "-P", "-c", _HELP, str(theirs.fileno()), str(shared)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), shared),
            process_group=0,  # Ctrl-C is for this process, which ends both
        )
        theirs.close()
        os.close(shared)
        self._pipe.send((redaction.current(), reader, recording.name, recording.limits))

    def takes(self, block: Block) -> bool:
        """Whether it has taken the block upon itself."""
        if self._ended or not self._free:
            return False
        data = b"\n".join(block.data)
        if len(data) > _SPACE:
            return False
        start = self._free[-1] * _SPACE
        self._memory[start : start + len(data)] = data
        try:
            self._pipe.send((block.number, start, start + len(data)))
        except OSError:
            self._ended = True
            return False
        self._given.append((self._free.pop(), block))
        return True

    def answers(self, wait: bool = False) -> Iterator[tuple[int, Iterable[Entry | Skipped]]]:
        """The blocks it has read since, by their first lines; all it was given, if it shall be waited for."""
        while self._given and (wait or self._ended or self._pipe.poll()):
            place, block = self._given.popleft()
            try:
                if self._ended:
                    raise EOFError
                items, learned = pickle.loads(self._answer(place * _SPACE))
            except (EOFError, OSError):
                self._ended = True
                yield block.number, self._reader.read(block.lines(self._limits))
            else:
                self._free.append(place)
                self._reader.take(learned)
                yield block.number, items

    def _answer(self, start: int) -> bytes:
        length = self._pipe.recv()
        return self._pipe.recv_bytes() if length > _SPACE else self._memory[start : start + length]

    def close(self) -> None:
        self._pipe.close()
        self._process.terminate()
        self._process.wait()


_HELP = "from collectors.formats.parallel import help_to_read; help_to_read()"


def help_to_read() -> None:
    """Answer until the other process closes its end."""
    pipe, shared = Connection(int(sys.argv[1])), int(sys.argv[2])
    memory = mmap(shared, 0)
    gc.disable()
    with suppress(EOFError, OSError):
        policy, reader, name, limits = pipe.recv()
        redaction.use(policy)
        reader.learned()  # from what was read before there were two
        while True:
            number, start, end = pipe.recv()
            block = Block(name, number, memory[start:end].split(b"\n"))
            items = list(reader.read(block.lines(limits)))
            answer = pickle.dumps((items, reader.learned()), pickle.HIGHEST_PROTOCOL)
            if len(answer) <= _SPACE:  # it takes the place of the block: who is to read it may be busy for a while
                memory[start : start + len(answer)] = answer
            pipe.send(len(answer))
            if len(answer) > _SPACE:
                pipe.send_bytes(answer)
