"""Read a long recording with several processes, since what a line says does not depend on other lines.

The process that reads the bytes hands blocks of lines to helper processes as long as these keep up, and reads the other
blocks itself, so that all stay busy. It does not look into the blocks that it hands over. The entries come in the order
of the lines: no verdict depends on that order, but an import that is repeated writes the same rows.
"""

import gc
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from mmap import mmap
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn, Protocol

from collectors.formats.stream import Block, Limits, Line, Recording, Skipped, fewer
from collectors.gate import Admitted, admit
from collectors.readers import start_program
from collectors.redaction import policy
from timeline.core.entries import Entry, Observation, Request

READ_ALONE = 4 * 1024**2  # bytes that are read before there are helpers: they begin with what was learned from these
LEAST_BYTES = 512 * 1024  # bytes that a block has at least, except the last
_BLOCK_BYTES = 4 * 1024**2  # bytes that a block or an answer may have in shared memory
_BLOCKS_AHEAD = 4  # blocks that a helper may have at a time
_BLOCKS_WAITING = 12  # blocks for each helper that may wait for an earlier one; with more, this process waits
_MOST_HELPERS = 7  # more could not be given work as fast as they do it
Read = Entry | Request | Skipped | Admitted[Observation | Skipped]


class Reader(Protocol):
    """What reads the lines of one recording."""

    bodies: bool  # whether the whole objects are kept

    def read(self, lines: Iterable[Line | Skipped]) -> Iterator[Entry | Request | Skipped]: ...

    def learned(self) -> Any:
        """Return what it has learned since the last call that a reader of other lines has to know."""

    def merge(self, learned: Any) -> None:
        """Add what a reader of other lines has learned."""


def read_in_parallel(recording: Recording, reader: Reader) -> Iterator[Read]:
    """Yield the entries of a recording, in the order of its lines, and what was skipped."""
    blocks = recording.blocks(LEAST_BYTES)
    bytes_read = 0
    for block in blocks:
        yield from reader.read(block.lines(recording.limits))
        bytes_read += len(block.data)
        if bytes_read > READ_ALONE:
            break
    else:
        return
    helpers: list[_Helper] = []
    pending_numbers: deque[int] = deque()  # first lines of the blocks that are not yielded yet
    read: dict[int, Iterable[Read]] = {}  # first line -> entries of a block
    try:
        for _ in range(min(recording.processes - 1, _MOST_HELPERS)):
            try:
                helpers.append(_Helper(reader, recording, helpers))
            except OSError:  # the system has no process or no memory for it: others read, this one at least
                break
        for block in blocks:
            pending_numbers.append(block.number)
            if not any(helper.offer(block) for helper in helpers):
                items = reader.read(block.lines(recording.limits))
                read[block.number] = items if len(pending_numbers) == 1 else list(fewer(items))
            late = pending_numbers[0] if len(pending_numbers) > _BLOCKS_WAITING * len(helpers) else 0
            for helper in helpers:
                read.update(helper.results(late))
            while pending_numbers and pending_numbers[0] in read:
                yield from read.pop(pending_numbers.popleft())
        for number in pending_numbers:
            for helper in helpers:
                read.update(helper.results(number))
            yield from read.pop(number)
    finally:
        for helper in helpers:
            helper.close()


class _Helper:
    """Run the helper process. If it ends early, the blocks that it has not answered are read here."""

    def __init__(self, reader: Reader, recording: Recording, others: Sequence["_Helper"]) -> None:
        self._reader = reader
        self._limits = recording.limits
        shared_memory = os.memfd_create("causeline")
        os.ftruncate(shared_memory, _BLOCKS_AHEAD * _BLOCK_BYTES)
        self._memory = mmap(shared_memory, 0)  # for blocks: in a pipe, both processes would mostly wait
        self._free_slots = list(range(_BLOCKS_AHEAD))
        self._pending: deque[tuple[int, Block]] = deque()
        self._dead = False
        self._pipe, child_end = Pipe()
        is_program = threading.active_count() > 1  # a copy would wait for the locks that other threads hold
        try:
            if is_program:
                self._process = start_program(_PROGRAM, child_end.fileno(), shared_memory)
            else:  # a copy starts at once, and knows what this process has learned
                self._process = os.fork()
                if self._process == 0:
                    pipes = [helper._pipe for helper in (*others, self)]
                    _help(child_end, self._memory, reader, recording.name, recording.limits, pipes)
        finally:
            child_end.close()  # before anything is sent: a helper that has ended would else never be noticed
            os.close(shared_memory)
        if is_program:
            try:
                self._pipe.send((policy.current(), reader, recording.name, recording.limits))
            except OSError:
                self._dead = True

    def offer(self, block: Block) -> bool:
        """Hand a block to the helper; return False if it has no room for it or has ended."""
        if self._dead or not self._free_slots:
            return False
        data = block.data
        if len(data) > _BLOCK_BYTES:
            return False
        start = self._free_slots[-1] * _BLOCK_BYTES
        self._memory[start : start + len(data)] = data
        try:
            self._pipe.send((block.number, start, start + len(data)))
        except OSError:
            self._dead = True
            return False
        self._pending.append((self._free_slots.pop(), block))
        return True

    def results(self, until: int) -> Iterator[tuple[int, Iterable[Read]]]:
        """Yield the first line and the entries of each block that the helper has read. Wait for those up to the block
        that begins with the line `until`; for none if it is 0."""
        while self._pending and (self._pending[0][1].number <= until or self._dead or self._pipe.poll()):
            slot, block = self._pending.popleft()
            try:
                if self._dead:
                    raise EOFError
                items, learned = pickle.loads(self._read_result(slot * _BLOCK_BYTES))
            except (EOFError, OSError, pickle.UnpicklingError):
                self._dead = True
                yield block.number, self._reader.read(block.lines(self._limits))
            else:
                self._free_slots.append(slot)
                self._reader.merge(learned)
                yield block.number, (items,)

    def _read_result(self, start: int) -> bytes:
        length = self._pipe.recv()
        return self._pipe.recv_bytes() if length > _BLOCK_BYTES else self._memory[start : start + length]

    def close(self) -> None:
        self._pipe.close()
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with suppress(
            ChildProcessError
        ):  # nobody can wait for it if whoever started this process let it ignore SIGCHLD
            os.waitpid(self._process, 0)
        self._memory.close()


_PROGRAM = "from collectors.formats.parallel import run_helper; run_helper()"


def run_helper() -> None:
    """Be the helper process that `_PROGRAM` starts."""
    pipe, memory = Connection(int(sys.argv[1])), mmap(int(sys.argv[2]), 0)
    used, reader, name, limits = pipe.recv()
    policy.use(used)
    _help(pipe, memory, reader, name, limits)


def _help(
    pipe: Connection,
    memory: mmap,
    reader: Reader,
    name: str,
    limits: Limits,
    others: Sequence[Connection] = (),
) -> NoReturn:
    """Read blocks and answer them, in the helper process, until the other process closes its end; then end this
    process, without any clean-up of what belongs to the other one.

    `others` are the other process's ends of pipes. They are closed here, so that each helper notices when that process
    ends.
    """
    try:
        os.setpgid(0, 0)  # Ctrl-C goes to the other process alone, which ends this one
        for each in others:
            each.close()
        gc.disable()
        reader.learned()  # discard what was learned before there was a helper
        while True:
            number, start, end = pipe.recv()
            read: Iterator[Observation | Skipped] = reader.read(Block(name, number, memory[start:end]).lines(limits))
            items = admit(fewer(read), limits, bodies=reader.bodies)
            answer = pickle.dumps((items, reader.learned()), pickle.HIGHEST_PROTOCOL)
            if len(answer) <= _BLOCK_BYTES:  # put it where the block was: the reader may be busy for a while
                memory[start : start + len(answer)] = answer
            pipe.send(len(answer))
            if len(answer) > _BLOCK_BYTES:
                pipe.send_bytes(answer)
    finally:
        os._exit(0)
