"""Reads the process's environment strictly: a typing error stops the start and says which variable and why."""

import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from collectors.formats.stream import Limits
from timeline.judge import rulebook
from timeline.rulebook import settings

KEY_AT_LEAST = 32  # characters
DEPTH_AT_MOST = 250  # deeper JSON cannot be written back


class SettingError(Exception):
    """A variable of the environment is missing or cannot be understood; the message says what to do."""


def text(name: str, default: str | None = None) -> str:
    """The variable, or the content of the file that `<name>_FILE` names (how containers hand over secrets)."""
    if value := os.environ.get(name):
        return value
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SettingError(f"{name}_FILE names {path}, which cannot be read: {error.strerror}.") from None
    if default is None:
        raise SettingError(f"{name} is not set. Set it, or {name}_FILE to a file that holds it.")
    return default


def flag(name: str, default: bool) -> bool:
    """`1/true/yes/on` or `0/false/no/off`."""
    value = text(name, "on" if default else "off").lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise SettingError(f"{name} is {value!r}; write on or off.")


def number(name: str, default: int) -> int:
    """A whole number; underscores may group its digits."""
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise SettingError(f"{name} is {value!r}; write a whole number.") from None


def words(name: str, default: str) -> list[str]:
    """A list whose items are separated by commas."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def credentials_keys() -> list[str]:
    """What credentials of clusters are encrypted with; the first one for new ones, all of them for what is there."""
    keys = words("CAUSELINE_CREDENTIALS_KEY", "")
    if any(len(key) < KEY_AT_LEAST for key in keys):
        raise SettingError(
            f"A key of CAUSELINE_CREDENTIALS_KEY has less than {KEY_AT_LEAST} characters; "
            "`openssl rand -hex 32` makes a good one."
        )
    return keys


def limits() -> Limits:
    """How much of a recording is read; each is at least 1."""
    usual = Limits()
    given = Limits(
        line_bytes=number("CAUSELINE_LINE_LIMIT_BYTES", usual.line_bytes),
        content_bytes=number("CAUSELINE_CONTENT_LIMIT_BYTES", usual.content_bytes),
        ratio=number("CAUSELINE_RATIO_LIMIT", usual.ratio),
        members=number("CAUSELINE_MEMBER_LIMIT", usual.members),
        depth=number("CAUSELINE_DEPTH_LIMIT", usual.depth),
        objects=number("CAUSELINE_OBJECT_LIMIT", usual.objects),
    )
    if min(given) < 1:
        raise SettingError("A CAUSELINE_…_LIMIT is less than 1; to be without a limit, write a large number.")
    if given.depth > DEPTH_AT_MOST:
        raise SettingError(f"CAUSELINE_DEPTH_LIMIT is {given.depth}; it can be {DEPTH_AT_MOST} at most.")
    return given


def lease_seconds() -> int:
    """How long a cluster is a worker's after its last sign of life."""
    seconds = number("CAUSELINE_LEASE_SECONDS", 8)
    if not 3 <= seconds <= 60:
        raise SettingError(f"CAUSELINE_LEASE_SECONDS is {seconds}; write a number from 3 to 60.")
    return seconds


def rule_settings() -> None:
    """Give each rule's threshold the value that the environment has for it."""
    rulebook()
    for variable, setting in settings.items():
        if given := text(variable, ""):
            try:
                setting.value = float(given)
            except ValueError:
                raise SettingError(f"{variable} is {given!r}; write a number.") from None
            if not 0 <= setting.value < 1e9:
                raise SettingError(f"{variable} is {given!r}; write a number that is not less than 0.")


def database(url: str) -> dict[str, object]:
    """Django's description of the PostgreSQL database that a libpq URL names.

    `postgresql://user:password@host:5432/name?sslmode=require`; a socket folder goes into `?host=/folder`.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise SettingError(f"DATABASE_URL begins with {parts.scheme!r}; Causeline needs postgresql://.")
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "causeline",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(parts.port or options.pop("port", "")),
        "OPTIONS": options,
        "CONN_HEALTH_CHECKS": True,
    }
