"""Compute something in a copy of this process, so that a second processor shares the work.

The copy has everything that this process has in memory, which would take longer to send to another process than to
use. It is made by `fork`, so it may only compute and send: connections belong to this process.

A lock that another thread holds when the copy is made stays locked in it for ever. So a copy is made only while all
other threads wait: those of Causeline say by `at_work` when they do something, such as to report the progress of an
import. If there is any other thread, or one does not come to rest, there is no copy, and whoever asked for it computes
by itself. While both use the same objects, the copy takes up to as much memory as these have.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any, NoReturn
from weakref import WeakSet

_PATIENCE = 5.0  # seconds in which the other threads have to come to rest
_turn = threading.Lock()  # held by a thread of Causeline while it is at work, and while a copy is made
_known: WeakSet[threading.Thread] = WeakSet()  # the threads that only wait while they are not at work


class Broken(Exception):
    """The copy ended before it had sent everything, as when the system needs its memory, or none was made: the system
    refused it, or other threads are at work."""


@contextmanager
def at_work() -> Iterator[None]:
    """Let a thread do something that holds locks. It must do nothing else, from its beginning to its end, but wait."""
    _known.add(threading.current_thread())
    with _turn:
        yield


def _others() -> list[threading.Thread]:
    """Return the other threads of this process that could hold locks now."""
    here = threading.current_thread()
    return [each for each in threading.enumerate() if each is not here and each not in _known]


def _fork() -> int:
    """Return as `os.fork` does, once the other threads are at rest. Raise OSError if there is to be no copy."""
    if not _turn.acquire(timeout=_PATIENCE):
        raise BlockingIOError
    try:
        if _others():
            raise BlockingIOError
        return os.fork()
    finally:
        _turn.release()


@contextmanager
def computed(compute: Callable[[], Iterator[Any]]) -> Iterator[Iterator[Any]]:
    """Run a generator in a copy of this process during the context, and yield an iterator over what it yields.

    The iterator may be used in another thread. It raises Broken if the generator raises anything.
    """
    receiving, sending = Pipe(duplex=False)
    try:
        process = _fork()
    except OSError:
        receiving.close()
        sending.close()
        yield _received(receiving)
        return
    if process == 0:
        receiving.close()
        _send(compute, sending)
    sending.close()
    try:
        yield _received(receiving)
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        with suppress(
            ChildProcessError
        ):  # nobody can wait for it if whoever started this process let it ignore SIGCHLD
            os.waitpid(process, 0)
        receiving.close()


def _send(compute: Callable[[], Iterator[Any]], sending: Connection) -> NoReturn:
    """Send what a generator yields, each in a tuple, and an empty tuple when it has ended; then end this process."""
    try:
        for item in compute():
            sending.send((item,))
        sending.send(())
    finally:
        os._exit(0)  # without any clean-up of what belongs to the other process


def _received(receiving: Connection) -> Iterator[Any]:
    try:
        while item := receiving.recv():
            yield item[0]
    except (EOFError, OSError) as error:
        raise Broken from error
