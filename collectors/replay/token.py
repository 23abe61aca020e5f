"""Create the access token of `causeline replay`, and store it in a file that only its owner can read."""

import os
import re
import secrets
from pathlib import Path

PATTERN = r"^[!-~]+$"  # what a header can hold; not empty

_TOKEN = re.compile(PATTERN)


def token_in(path: Path) -> str:
    """Return the token in a file; if the file does not exist, write a new token to it.

    Raise ValueError if the file holds no token, and OSError.
    """
    try:
        token = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        token = secrets.token_urlsafe(32)
        write_private(path, token)
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"{path} holds no token: one line of letters and digits. Delete it, and a new one is made.")
    return token


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read. Raise OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(handle, 0o600)
        file.write(text)
