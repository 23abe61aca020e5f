"""Decode and redact what strangers send, in processes of its own.

A web process answers everybody in one interpreter, which a regular expression or a decoder holds until it has ended,
and freed memory does not all return to the system. So what programs send to it is read by a few other processes, each
with bounded memory and processor time. A process that exceeds them ends, and another one takes its place.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import LifoQueue
from typing import Any, Concatenate, ParamSpec, TypeVar

from collectors.redaction import policy
from timeline.core.machine.memory import give_back

AT_ONCE = 2  # processes of one web process, which start when they are needed; further calls wait
MEMORY = 384 * 1024**2  # bytes that one process may take
SECONDS = 20  # of processor time that one call may take
_PATIENCE = 20 * SECONDS  # seconds that one call may take on a machine that is busy
_NICE = 5  # pages are answered first
_DIED = "Reading it took too much memory or time"
P = ParamSpec("P")
T = TypeVar("T")
Pieces = Iterator[bytes]


class Died(Exception):
    """A process has ended before its answer, most likely because of what it read."""


def call(function: Callable[Concatenate[Pieces, P], T], pieces: Iterable[bytes], *args: P.args, **named: P.kwargs) -> T:
    """Return what a function of a module without Django makes of pieces of bytes, in another process.

    The function may stop reading before the last piece. Raise what it raises, and Died. This waits for a process that
    is free, so that the thread of an event loop must not call it.
    """
    process = _free.get()
    try:
        process = process or _Process()
        answered, value = process.call((function, args, named, policy.current(), SECONDS), pieces)
    except (OSError, EOFError):
        if process:
            process.close()
        process = None
        raise Died(_DIED) from None
    finally:
        _free.put(process)
    if not answered:
        raise value
    return value  # type: ignore[no-any-return]


class _Process:
    """One of the processes. It ends when this one ends, because its pipe is closed then."""

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        try:
            self._number = start_program("from collectors.readers import run; run()", theirs.fileno())
        finally:
            theirs.close()

    def call(self, order: Any, pieces: Iterable[bytes]) -> tuple[bool, Any]:
        """Return whether the call has returned, and what it returned or raised. Raise OSError or EOFError."""
        self._pipe.send(order)
        for piece in pieces:
            if piece:
                self._pipe.send_bytes(piece)
        self._pipe.send_bytes(b"")
        if not self._pipe.poll(_PATIENCE):
            raise EOFError
        return self._pipe.recv()  # type: ignore[no-any-return]

    def close(self) -> None:
        self._pipe.close()
        with suppress(ProcessLookupError):
            os.kill(self._number, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._number, 0)


_free: LifoQueue[_Process | None] = LifoQueue()
for _ in range(AT_ONCE):
    _free.put(None)


def start_program(program: str, *files: int) -> int:
    """Start Python with a program and these open files, whose numbers are its arguments, and return its process id."""
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-c", program, *map(str, files)],
        os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            # A file that is duplicated to its own number stays open in this program, but not in those that other
            # threads start at the same time, as an inheritable one would.
            *((os.POSIX_SPAWN_DUP2, file, file) for file in files),
        ],
    )


def run() -> None:
    """Be one of the processes, until the other end of its pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the other process alone, which ends this one
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipe = Connection(int(sys.argv[1]))
    with suppress(EOFError, BrokenPipeError):
        while True:
            _answer(pipe, *pipe.recv())
            give_back()


def _answer(
    pipe: Connection,
    function: Callable[..., Any],
    args: Sequence[Any],
    named: dict[str, Any],
    used: policy.Policy,
    seconds: int,
) -> None:
    """Answer one call. The process ends if it takes too long, or if there is not enough memory even for the answer."""
    spent = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (spent + 1 + seconds, resource.RLIM_INFINITY))
    if used != policy.current():
        policy.use(used)
    pieces = iter(pipe.recv_bytes, b"")
    answer: tuple[bool, Any]
    try:
        answer = True, function(pieces, *args, **named)
    except MemoryError:
        answer = False, Died(_DIED)
    except Exception as error:
        answer = False, error.with_traceback(None)
    for _ in pieces:
        pass
    pipe.send(answer)
