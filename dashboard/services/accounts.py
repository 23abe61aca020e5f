"""Which account the servers run as: PostgreSQL refuses root, and root's rights would help only an attacker."""

from __future__ import annotations

import os
import pwd
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.services.errors import ServiceError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Account:
    """The ids that a server changes to."""

    uid: int
    gid: int


def account_for(cluster: Path) -> Account | None:
    """None unless this process is root; then whoever owns the cluster already, else `nobody`.

    It has to be in the password database, because initdb asks for its own name; no user is added for it.
    """
    if os.geteuid() != 0:
        return None
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise ServiceError(
            "PostgreSQL does not run as root, and this system has no account named nobody. "
            "Start Causeline as an ordinary user, or set DATABASE_URL and REDIS_URL to servers of your own."
        ) from None
    return Account(nobody.pw_uid, nobody.pw_gid)


def give(folder: Path, account: Account | None) -> None:
    """Make the folder and all in it the account's; its parents stay as they are."""
    if account is None or folder.stat().st_uid == account.uid:
        return
    for path in folder.rglob("*"):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    shutil.chown(folder, account.uid, account.gid)
