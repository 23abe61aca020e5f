"""Start a program for the supervisor: drop root, end with the supervisor, and execute the program.

It is run as a script (`python -I -S guard.py …`), so it needs no import path and no Python that the unprivileged
account can start: the interpreter may be below root's home. It enters the working folder while it is still root,
because the account may not be able to enter that folder's parents either.

When the supervisor dies, a watcher process sees that a pipe is closed, and ends the program's whole group. That
includes the children of a pool, and a program that hangs while it stops because the servers stopped at the same
moment. If the watcher is gone, Linux ends the program (PR_SET_PDEATHSIG, which is set after the change of uid, because
that clears it).
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
    """Change to the account permanently."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def drop_capabilities() -> None:
    """Remove the capabilities that root kept for a command, and let the program gain none (sudo, setuid files)."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    if os.getuid() != 0:
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def die_with(supervisor: int, death_signal: int) -> None:
    """Let the kernel send `death_signal` when the supervisor dies, or if it has just died."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != supervisor:
        sys.exit("the supervisor has died")


def watch(pipe: int, death_signal: int) -> None:
    """Start a process that ends this one's group when the pipe closes and nothing was written to it.

    It is forked twice, so that the program has no child that it did not start.
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
    os.closerange(0, pipe)  # the watcher must not hold the program's lock and output open
    os.closerange(pipe + 1, MOST_DESCRIPTORS)
    if not os.read(pipe, 1):  # a byte says that the supervisor saw the program end
        end(program, death_signal)
    os._exit(0)


def end(group: int, death_signal: int) -> None:
    """Ask the group to end, and kill what still runs after the grace period."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, death_signal)
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline:
            time.sleep(0.1)
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)


def main() -> None:
    """Run `guard.py UID GID SUPERVISOR DEATH_SIGNAL PIPE FOLDER PROGRAM…`; a UID or PIPE of -1 means none."""
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
