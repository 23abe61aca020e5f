"""This module reads a long recording with several processes, since what a line says does not depend on other lines.

The process that reads the bytes hands blocks of lines to helper processes as long as these keep up, and reads the other
blocks itself, so that all stay busy. It does not look into the blocks that it hands over. The entries come in the order
of the lines: no verdict depends on that order, but an import that is repeated writes the same rows.
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

from msgspec.structs import replace

from collectors import redaction
from collectors.formats.stream import Block, Line, Recording, Skipped
from timeline.core.entries import Entry, Request

READ_ALONE = 16 * 1024**2  # bytes that are read before helpers are started, since starting them takes time
_FEWEST_BYTES = 512 * 1024  # bytes that a block has at least, except the last
_BLOCK_BYTES = 4 * 1024**2  # bytes that a block or an answer may have in shared memory
_BLOCKS_AHEAD = 4  # blocks that a helper may have at a time
_BLOCKS_WAITING = 12  # blocks for each helper that may wait for an earlier one; with more, this process waits
_MOST_HELPERS = 7  # more could not be given work as fast as they do it


class Reader(Protocol):
    """This protocol describes what reads the lines of one recording."""

    def read(self, lines: Iterable[Line | Skipped]) -> Iterator[Entry | Request | Skipped]: ...

    def learned(self) -> Any:
        """Return what it has learned since the last call that a reader of other lines has to know."""

    def merge(self, learned: Any) -> None:
        """Add what a reader of other lines has learned."""


def read_in_parallel(recording: Recording, reader: Reader) -> Iterator[Entry | Request | Skipped]:
    """Yield the entries of a recording, in the order of its lines, and what was skipped."""
    blocks = recording.blocks()
    bytes_read = 0
    for block in blocks:
        yield from reader.read(block.lines(recording.limits))
        bytes_read += len(block.data)
        if bytes_read > READ_ALONE:
            break
    else:
        return
    helpers = [_Helper(reader, recording) for _ in range(min(recording.processes - 1, _MOST_HELPERS))]
    pending_numbers: deque[int] = deque()  # first lines of the blocks that are not yielded yet
    read: dict[int, Iterable[Entry | Request | Skipped]] = {}  # first line -> entries of a block that was read
    try:
        for block in _larger_blocks(blocks):
            pending_numbers.append(block.number)
            if not any(helper.offer(block) for helper in helpers):
                items = reader.read(block.lines(recording.limits))
                read[block.number] = items if len(pending_numbers) == 1 else list(items)
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


def _larger_blocks(blocks: Iterator[Block]) -> Iterator[Block]:
    """Join blocks until they have enough bytes to be worth handing over."""
    blocks_held: list[Block] = []
    size = 0
    for block in blocks:
        blocks_held.append(block)
        size += len(block.data)
        if size >= _FEWEST_BYTES:
            yield _join(blocks_held)
            blocks_held, size = [], 0
    if blocks_held:
        yield _join(blocks_held)


def _join(blocks: list[Block]) -> Block:
    return blocks[0] if len(blocks) == 1 else replace(blocks[0], data=b"\n".join(block.data for block in blocks))


class _Helper:
    """This class runs the helper process. If that ends early, the blocks it has not answered are read here."""

    def __init__(self, reader: Reader, recording: Recording) -> None:
        self._reader = reader
        self._limits = recording.limits
        shared_memory = os.memfd_create("causeline")
        os.ftruncate(shared_memory, _BLOCKS_AHEAD * _BLOCK_BYTES)
        self._memory = mmap(shared_memory, 0)  # for blocks: in a pipe, both processes would mostly wait
        self._free_slots = list(range(_BLOCKS_AHEAD))
        self._pending: deque[tuple[int, Block]] = deque()
        self._dead = False
        self._pipe, child_end = Pipe()
        self._process = subprocess.Popen(  # a new process, not a fork: other threads may hold locks
            [sys.executable, "-P", "-c", _HELPER_CODE, str(child_end.fileno()), str(shared_memory)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            pass_fds=(child_end.fileno(), shared_memory),
            process_group=0,  # Ctrl-C goes to this process alone, which ends the helper
        )
        child_end.close()
        os.close(shared_memory)
        self._pipe.send((redaction.current(), reader, recording.name, recording.limits))

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

    def results(self, until: int) -> Iterator[tuple[int, Iterable[Entry | Request | Skipped]]]:
        """Yield the first line and the entries of each block that the helper has read. Wait for those up to the block
        that begins with the line `until`; for none if it is 0."""
        while self._pending and (self._pending[0][1].number <= until or self._dead or self._pipe.poll()):
            slot, block = self._pending.popleft()
            try:
                if self._dead:
                    raise EOFError
                items, learned = pickle.loads(self._read_result(slot * _BLOCK_BYTES))
            except (EOFError, OSError):
                self._dead = True
                yield block.number, self._reader.read(block.lines(self._limits))
            else:
                self._free_slots.append(slot)
                self._reader.merge(learned)
                yield block.number, items

    def _read_result(self, start: int) -> bytes:
        length = self._pipe.recv()
        return self._pipe.recv_bytes() if length > _BLOCK_BYTES else self._memory[start : start + length]

    def close(self) -> None:
        self._pipe.close()
        self._process.terminate()
        self._process.wait()


_HELPER_CODE = "from collectors.formats.parallel import run_helper; run_helper()"


def run_helper() -> None:
    """Read blocks and answer them, in the helper process, until the other process closes its end."""
    pipe, shared_memory = Connection(int(sys.argv[1])), int(sys.argv[2])
    memory = mmap(shared_memory, 0)
    gc.disable()
    with suppress(EOFError, OSError):
        policy, reader, name, limits = pipe.recv()
        redaction.use(policy)
        reader.learned()  # discard what was learned before the helper was started
        while True:
            number, start, end = pipe.recv()
            block = Block(name, number, memory[start:end])
            items = list(reader.read(block.lines(limits)))
            answer = pickle.dumps((items, reader.learned()), pickle.HIGHEST_PROTOCOL)
            if len(answer) <= _BLOCK_BYTES:  # put it where the block was: the reader may be busy for a while
                memory[start : start + len(answer)] = answer
            pipe.send(len(answer))
            if len(answer) > _BLOCK_BYTES:
                pipe.send_bytes(answer)
