"""Stands between the supervisor and a program: drops root, ties the program's life to the supervisor's, becomes it.

Run as a script (`python -I -S guard.py …`), so it needs neither an import path nor a Python that the unprivileged
account could start: the interpreter may lie below root's home. It enters the working folder while it is still root,
because that folder's parents may be closed to the account too.

When the supervisor dies, a watcher process sees its end of a pipe close and ends the program's whole group: a pool's
children too, and a program that hangs while it stops because the servers went at the same moment. Linux's kernel ends
the program as well (PR_SET_PDEATHSIG; a change of uid clears it, hence the order), should the watcher be gone.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
GRACE_SECONDS = 3
MOST_DESCRIPTORS = 4096


def drop_root(uid: int, gid: int) -> None:
    """Become the account for good."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def drop_capabilities() -> None:
    """Let the program have no right that a command beside it was left, and gain none (sudo, setuid files)."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    if os.getuid() != 0:
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def die_with(supervisor: int, death_signal: int) -> None:
    """Let the kernel send `death_signal` when the supervisor is gone, also if it went a moment ago."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != supervisor:
        sys.exit("the supervisor has died")


def watch(pipe: int, death_signal: int) -> None:
    """Leave a process behind that ends this one's group when the pipe closes without a word.

    It is forked twice, so that the program never has a child it does not know of.
    """
    program = os.getpid()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    os.closerange(0, pipe)  # the program's lock and output are not the watcher's to hold
    os.closerange(pipe + 1, MOST_DESCRIPTORS)
    if not os.read(pipe, 1):  # a byte would say that the program was seen to end in order
        end(program, death_signal)
    os._exit(0)


def end(group: int, death_signal: int) -> None:
    """Ask the group to end, and kill what has not after the grace."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, death_signal)
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline:
            time.sleep(0.1)
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)


def main() -> None:
    """`guard.py UID GID SUPERVISOR DEATH_SIGNAL PIPE FOLDER PROGRAM…`; a UID or PIPE of -1 means none."""
    uid, gid, supervisor, death_signal, pipe = map(int, sys.argv[1:6])
    folder, command = sys.argv[6], sys.argv[7:]
    os.chdir(folder)
    if uid != -1:
        drop_root(uid, gid)
    if sys.platform == "linux":
        drop_capabilities()
    if pipe != -1:
        os.set_inheritable(pipe, False)
        watch(pipe, death_signal)
    if sys.platform == "linux":
        die_with(supervisor, death_signal)
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
