"""Keep the address of a running `causeline up`, with its token, for `causeline token`."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from dashboard.services.locks import try_lock

_TRIES = 20
_PAUSE_SECONDS = 0.05


def with_token(url: str, token: str) -> str:
    return f"{url}?{urlencode({'token': token})}" if token else url


@contextmanager
def announced(data_dir: Path, address: str) -> Iterator[None]:
    """Write the address to a file during the context. It is valid as long as this process holds the file's lock."""
    descriptor = os.open(data_dir / "address", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _locked(descriptor):  # another `causeline up` of this data directory has announced itself
            yield
            return
        os.ftruncate(descriptor, 0)
        os.write(descriptor, address.encode())
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def announced_by_another(data_dir: Path) -> str:
    """Return the address of the running `causeline up`, or ""."""
    try:
        descriptor = os.open(data_dir / "address", os.O_RDONLY)
    except FileNotFoundError:
        return ""
    try:
        return "" if try_lock(descriptor, fcntl.LOCK_SH) else os.read(descriptor, 4096).decode()
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Return whether the lock could be taken. A reader holds it for an instant; another `causeline up` keeps it."""
    for _ in range(_TRIES):
        if try_lock(descriptor):
            return True
        time.sleep(_PAUSE_SECONDS)
    return False
