"""Read one environment variable as text. No library is imported, so the command line starts quickly."""

import os
from pathlib import Path
from urllib.parse import urlsplit

YES = {"1", "true", "yes", "on"}
NO = {"0", "false", "no", "off"}


class SettingError(Exception):
    """A variable of the environment is missing or cannot be understood; the message says what to do."""


def text(name: str, default: str | None = None) -> str:
    """Return the variable, or the content of the file that `<name>_FILE` names (how containers hand over secrets).

    An empty variable counts as one that is not set. Raises SettingError where the file cannot be read, and where the
    variable is not set and there is no default.
    """
    if value := os.environ.get(name):
        return value
    if path := os.environ.get(f"{name}_FILE"):
        try:
            if value := Path(path).read_text(encoding="utf-8").strip():
                return value
        except OSError as error:
            raise SettingError(f"{name}_FILE names {path}, which cannot be read: {error.strerror}.") from None
        except ValueError:
            raise SettingError(f"{name}_FILE names {path}, which is not text in UTF-8.") from None
    if default is None:
        raise SettingError(f"{name} is not set. Set it, or {name}_FILE to a file that holds it.")
    return default


def is_given(name: str) -> bool:
    """Return whether the variable is set, itself or as a file."""
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def web_address() -> str:
    """Return the address of a running Causeline from CAUSELINE_URL, without a path, such as
    `https://causeline.example.org`; "" if it is not set. Raises SettingError."""
    url = text("CAUSELINE_URL", "")
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise SettingError(f"CAUSELINE_URL is {url[:100]!r}; write it as https://causeline.example.com.")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if url else ""


def login(given: str) -> str:
    """Return `on` (accounts), `token` (the start-up token) or `open` (nobody signs in). Raises ValueError."""
    value = given.lower()
    if value in {"token", "open"}:
        return value
    if value in YES:
        return "on"
    if value in NO:
        return "token"
    raise ValueError(f"is {given[:40]!r}; write on, token or open.")
