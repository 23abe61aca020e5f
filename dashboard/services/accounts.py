"""Choose the unprivileged account of a Causeline that root has started, and give files to it."""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dashboard.services.errors import ServiceError

NAME = "causeline"
UNNAMED = range(61_184, 65_520)  # systemd allocates its dynamic users from this range
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC
_PEEK = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | _FLAGS  # macOS has no O_PATH


@dataclass(frozen=True)
class Account:
    """The ids that a process changes to."""

    uid: int
    gid: int

    def __str__(self) -> str:
        try:
            return f"{pwd.getpwuid(self.uid).pw_name} (uid {self.uid})"
        except KeyError:
            return f"uid {self.uid}"


def is_shared(uid: int) -> bool:
    """Return whether other services may also run as this user."""
    return uid == 0 or uid == _uid_of("nobody")


def own_account(data_dir: Path) -> Account | None:
    """Return the owner of a data directory, or else the system's account `causeline`, or else None."""
    if data_dir.exists() and not is_shared((owner := data_dir.stat()).st_uid):
        return Account(owner.st_uid, owner.st_gid)
    with suppress(KeyError):
        entry = pwd.getpwnam(NAME)
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid)
    return None


def unnamed_account(data_dir: Path) -> Account:
    """Return ids that no account and no process has. They depend only on the path, so two instances rarely clash."""
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            taken.add(process.stat().st_uid)
    first = int.from_bytes(hashlib.sha256(os.fsencode(data_dir)).digest()[:4])
    for step in range(len(UNNAMED)):
        uid = UNNAMED[(first + step) % len(UNNAMED)]
        if uid not in taken:
            return Account(uid, uid)
    raise ServiceError(f"No user id between {UNNAMED.start} and {UNNAMED.stop} is free; add an account named {NAME}.")


def server_account(cluster: Path) -> Account | None:
    """Return the account for the servers of a supervisor that stays root, or None if it is not root.

    It is the owner of the cluster's folder, or else `causeline`, or else `nobody`: initdb needs an account with a name.
    """
    if os.geteuid() != 0:
        return None
    return own_account(cluster) or nobody()


def nobody() -> Account:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise ServiceError(
            f"PostgreSQL does not run as root, and this system has no account named {NAME} or nobody. "
            "Start Causeline as an ordinary user, or set DATABASE_URL and REDIS_URL to servers of your own."
        ) from None
    return Account(entry.pw_uid, entry.pw_gid)


def give(folder: Path, account: Account | None) -> None:
    """Change the owner of a folder, and of everything in it, to the account. Its parents stay as they are.

    An entry is changed only if it has the same owner as the folder that contains it. Links are not followed, and a
    file with several hard links is left alone, because one of them may be a file such as /etc/shadow.
    """
    if account is None:
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
    try:
        if os.fstat(descriptor).st_uid != account.uid:
            _give(descriptor, account)
    finally:
        os.close(descriptor)


def _give(folder: int, account: Account) -> None:
    """Change the folder itself last, so that an interrupted change starts again from the beginning."""
    own = os.fstat(folder)
    for name in os.listdir(folder):
        entry = os.open(name, _PEEK, dir_fd=folder)
        try:
            found = os.fstat(entry)
            before = own.st_uid == 0 and found.st_uid == _uid_of("nobody")  # an earlier version ran its servers so
            if found.st_dev != own.st_dev or not (found.st_uid == own.st_uid or before):
                continue
            if stat.S_ISDIR(found.st_mode):
                inner = os.open(".", os.O_RDONLY | os.O_DIRECTORY | _FLAGS, dir_fd=entry)
                try:
                    _give(inner, account)
                finally:
                    os.close(inner)
            elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                os.chown(f"/proc/self/fd/{entry}" if hasattr(os, "O_PATH") else entry, account.uid, account.gid)
        finally:
            os.close(entry)
    os.fchown(folder, account.uid, account.gid)


def _uid_of(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None
