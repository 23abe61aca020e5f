"""This module computes something in a copy of this process, so that a second processor shares the work. It is
pure.

The copy has everything that this process has in memory, which would take longer to send to another process than to
use. It is made by `fork`, so it may only compute and send: connections belong to this process, and a lock that another
thread held when the copy was made stays locked in it. An import has other threads, which report its progress and write
rows. So what is computed beside them may use no lock: it must not write to a log, count a metric, or import a module
that was not imported before. While both use the same objects, the copy takes up to as much memory as these have.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any, NoReturn


class Broken(Exception):
    """This is raised if the copy ended before it had sent everything, as when the system needs its memory, or if the
    system made none."""


@contextmanager
def computed(compute: Callable[[], Iterator[Any]]) -> Iterator[Iterator[Any]]:
    """Run a generator in a copy of this process during the context, and yield an iterator over what it yields.

    The iterator may be used in another thread. It raises Broken if the generator raises anything.
    """
    receiving, sending = Pipe(duplex=False)
    try:
        process = os.fork()
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
