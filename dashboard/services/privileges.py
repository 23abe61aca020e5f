"""Change a Causeline that root has started, and all its later processes, to an unprivileged account.

`leave_root` is called before anything is written to the data directory. If the change is impossible, it says why and
what to do, and everything but the servers goes on as root.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.services.accounts import Account, give, is_shared, nobody, own_account, unnamed_account
from dashboard.services.errors import ServiceError
from dashboard.services.locks import try_lock
from dashboard.services.mount_namespace import MountNamespace, call, enter, in_child, planned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PACKAGES = Path(__file__).resolve().parent.parent.parent
_OURS = ("postgres/PG_VERSION", "secret_key", "services.json", "logs/migrate.log")  # one is in each data directory
_SHOWN = 5  # number of folders that a message names
_IGNORED = {"lost+found"}
_PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 8, 38, 47
_RAISE = 2
_DAC_READ_SEARCH = 2
_CAPABILITIES_VERSION = 0x20080522


def leave_root(data_dir: Path, say: Callable[[str], None], reads: Sequence[Path] = ()) -> Account | None:
    """Change to the account of the data directory, which is made if it does not exist, and return that account.

    If this process is not root, or the change is impossible, nothing changes and None is returned.

    `reads` are files and folders that root named on the command line. If the account may not read them, only the
    capability to read everything is kept (CAP_DAC_READ_SEARCH). Raises ServiceError if the directory cannot be used.
    """
    if os.geteuid() != 0:
        return None
    if data_dir.exists():
        _refuse_others_folder(data_dir)
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ServiceError(
            f"{data_dir} cannot be used: {error.strerror}. Choose another folder with --data-dir."
        ) from None
    account, view, problem = _chosen_account(data_dir, reads)
    if problem:
        if data_dir.stat().st_uid != 0:
            raise ServiceError(
                f"{data_dir} belongs to {account}, and Causeline cannot run as that account: {problem}. "
                "Mend that, start Causeline as that user, or choose another folder with --data-dir."
            )
        say(
            f"web, workers and commands go on as root, because they cannot run as {account}: {problem}. "
            "To mend it, install Causeline where everybody may read it, choose a folder outside of root's home with "
            "--data-dir, or start Causeline as an ordinary user."
        )
        return None
    keep_reading = in_child(lambda: _unreadable(view, account, reads)) != ""
    if keep_reading and not _may_read_everything():
        raise ServiceError(
            f"{account} may not read {', '.join(map(str, reads))}, and this root has no right to let it. "
            "Make the files readable to others, or give one on standard input, as `-`."
        )
    if data_dir.stat().st_uid != account.uid and not _hand_over(data_dir, account):
        say(f"{data_dir} is served by a process of root, so this command goes on as root, too.")
        return None
    folder = Path.cwd()
    if view:
        enter(view, account)
    _become(account, data_dir, keep_reading=keep_reading)
    with suppress(OSError):
        os.chdir(folder)  # again, so that it is the folder in the view
    return account


def _refuse_others_folder(data_dir: Path) -> None:
    """Refuse a folder that Causeline did not make: its owner would be changed."""
    found = data_dir.stat()
    if not is_shared(found.st_uid):
        return
    if found.st_mode & 0o022:
        raise ServiceError(
            f"{data_dir} can be written by others than its owner. Choose another folder with --data-dir, "
            f"or run `chmod go-w {data_dir}`."
        )
    names = {path.name for path in data_dir.iterdir()} - _IGNORED
    if names and not any((data_dir / name).exists() for name in _OURS):
        raise ServiceError(
            f"{data_dir} has files in it that are not Causeline's, and Causeline gives its data directory to an "
            "unprivileged account. Choose an empty folder with --data-dir."
        )


def _chosen_account(data_dir: Path, reads: Sequence[Path]) -> tuple[Account, MountNamespace | None, str]:
    """Return the account, the view in which it can read what it needs, and why that is impossible, or ""."""
    paths = [Path(sys.executable), PACKAGES, Path(sys.prefix), Path(sys.base_prefix), *map(Path, sys.path), *reads]
    needed = [path for path in paths if path.is_absolute() and path.exists()]
    account = own_account(data_dir) or unnamed_account(data_dir)
    closed: list[Path] = []
    try:
        view = planned(account, needed, data_dir)
        closed = view.closed
        if not (problem := in_child(lambda: _tried(view, account))):
            return account, view, ""
        # Without a view an account needs a name, and everything has to be open to it as it is.
        plain = own_account(data_dir) or nobody()
        if not planned(plain, needed, data_dir).closed:
            return plain, None, in_child(lambda: _tried(None, plain))
    except OSError as error:
        problem = str(error)
    shown = [*map(str, closed[:_SHOWN]), *(["…"] if len(closed) > _SHOWN else [])]
    where = f"it may not enter {', '.join(shown)} " if shown else ""
    return account, None, f"{where}({problem})"


def _tried(view: MountNamespace | None, account: Account) -> str:
    """Return "" if this Python can run Causeline's code as the account, else the reason. Call it in a child process."""
    if view:
        enter(view, account)
    _become(account, Path("/"))
    code = "import sys, django, orjson, dashboard.services; sys.exit(dashboard.__file__ != sys.argv[1])"
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-c", code, str(PACKAGES / "dashboard" / "__init__.py")]
    done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    return (done.stderr.strip().splitlines() or ["its code cannot be read"])[-1]


def _unreadable(view: MountNamespace | None, account: Account, paths: Sequence[Path]) -> str:
    """Return the first of these files, or of the files in these folders, that the account may not read, or ""."""
    if view:
        enter(view, account)
    _become(account, Path("/"))
    for path in paths:
        if not os.access(path, os.R_OK):
            return str(path)
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                inner = Path(folder, name)
                if not os.access(inner, os.R_OK | (os.X_OK if name in folders else 0)):
                    return str(inner)
    return ""


def _hand_over(data_dir: Path, account: Account) -> bool:
    """Give the data directory to the account unless a process serves it, and return whether that was done."""
    lock = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if free := try_lock(lock):
            give(data_dir, account)
    finally:
        os.close(lock)
    return free


def _become(account: Account, home: Path, *, keep_reading: bool = False) -> None:
    """Change all ids permanently. No program that is run from now on gains privileges (sudo, setuid files)."""
    if keep_reading:
        _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setgid(account.gid)
    os.setuid(account.uid)
    if keep_reading:
        bit = 1 << _DAC_READ_SEARCH
        header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
        call("capset", header, struct.pack("=6I", bit, bit, bit, 0, 0, 0))
        _prctl(_PR_CAP_AMBIENT, _RAISE, _DAC_READ_SEARCH)
    if sys.platform == "linux":
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    os.environ["HOME"] = str(home)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    os.environ.setdefault("LOGNAME", "root")  # the audit log names who ran the command


def _may_read_everything() -> bool:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    permitted = next(line.split()[1] for line in status.splitlines() if line.startswith("CapPrm:"))
    return bool(int(permitted, 16) >> _DAC_READ_SEARCH & 1)


def _prctl(option: int, *arguments: int) -> None:
    call("prctl", option, *(ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:4]))
