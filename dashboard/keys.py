"""Keep the secrets that Causeline creates itself, each in a file of the data directory that only its owner can read."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

AT_LEAST = 32  # the least number of characters of a secret


def kept(data_dir: Path, name: str) -> str:
    """Return the secret in this file of the data directory. The file is created if there is none."""
    file = data_dir / name
    if not file.exists():
        descriptor, new = tempfile.mkstemp(dir=data_dir, prefix=f"{name}.")  # mode 0600
        with os.fdopen(descriptor, "w", encoding="ascii") as text:
            text.write(secrets.token_urlsafe(48))
        with suppress(FileExistsError):  # another process was faster, and its secret is used
            os.link(new, file)
        Path(new).unlink()
    return file.read_text(encoding="ascii").strip()
