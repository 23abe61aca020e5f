"""Lock the files of programs that must never run twice."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from pathlib import Path
from typing import BinaryIO, TextIO


def open_lock(path: Path) -> BinaryIO:
    """Open a lock file that only its owner can open, since whoever can read a file can lock it, too."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.fchmod(descriptor, 0o600)  # an earlier version let everybody read it
    return os.fdopen(descriptor, "ab")


def try_lock(file: BinaryIO | TextIO | int, how: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file or its descriptor, or return False while somebody else holds the lock."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def kill_holders(lock: Path) -> None:
    """Kill the processes that a dead program has left behind. They are those that still hold its lock.

    Each process of PostgreSQL has its own session, so the signal to the process group does not reach it, and it may
    wait forever for a process that was killed. This works only on Linux.
    """
    locked = lock.stat()
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        pid = int(descriptor.parts[2])
        with contextlib.suppress(OSError):
            if pid != os.getpid() and os.path.samestat(descriptor.stat(), locked):
                os.kill(pid, signal.SIGKILL)


def still_held(name: str, lock: Path | None) -> str:
    """Return the error for a lock that an earlier process holds."""
    return (
        f"A process of an earlier {name} is still running and holds {lock}. "
        f"End it (see `fuser {lock}`), then start again."
    )
