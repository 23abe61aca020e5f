"""Reads the process's environment strictly: a typing error stops the start and says which variable and why."""

import ipaddress
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from collectors.formats.stream import Limits
from collectors.redaction.policy import PatternError, Policy, checked, use
from dashboard import keys
from timeline.judge import rulebook
from timeline.judging.rulebook import settings

_YES = {"1", "true", "yes", "on"}
_NO = {"0", "false", "no", "off"}
KEY_AT_LEAST = 32  # characters
DEPTH_AT_MOST = 250  # deeper JSON cannot be written back
KEEP_DAYS_AT_MOST = 36_500  # a hundred years; a few thousand years more and dates before year 1 would be asked for
KEEP_BYTES_AT_MOST = 10**18
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_HOURS_AT_MOST = 87_600  # ten years

ranges: dict[str, tuple[int, int]] = {}
"""The least and the most of each number that was read, by variable: what docs/settings.md has to say."""


class SettingError(Exception):
    """A variable of the environment is missing or cannot be understood; the message says what to do."""


def text(name: str, default: str | None = None) -> str:
    """The variable, or the content of the file that `<name>_FILE` names (how containers hand over secrets)."""
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


def flag(name: str, default: bool) -> bool:
    """`1/true/yes/on` or `0/false/no/off`."""
    value = text(name, "on" if default else "off").lower()
    if value in _YES:
        return True
    if value in _NO:
        return False
    raise SettingError(f"{name} is {value!r}; write on or off.")


def login() -> str:
    """`on`: with accounts; `token`: with the start-up token; `open`: nobody is asked."""
    value = text("CAUSELINE_LOGIN", "on").lower()
    if value in {"token", "open"}:
        return value
    if value in _YES:
        return "on"
    if value in _NO:
        return "token"
    raise SettingError(f"CAUSELINE_LOGIN is {value!r}; write on, token or open.")


def token(data_dir: Path) -> str:
    """The start-up token that is given, or else the one in the data directory, which is made where there is none."""
    value = text("CAUSELINE_TOKEN", "")
    if not value:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        value = keys.kept(data_dir, "token")
        if (data_dir / "token").stat().st_mode & 0o077:
            raise SettingError(f"Others can read {data_dir / 'token'}. Delete it, and a new token is made.")
    if len(value) < KEY_AT_LEAST:
        raise SettingError(
            f"The start-up token has less than {KEY_AT_LEAST} characters. "
            f"Delete the file {data_dir / 'token'}, or CAUSELINE_TOKEN, and a good one is made."
        )
    return value


def number(name: str, default: int, least: int, most: int) -> int:
    """A whole number from `least` to `most`; underscores may group its digits."""
    ranges[name] = least, most
    value = text(name, str(default))
    try:
        given = int(value)
    except ValueError:
        raise SettingError(f"{name} is {value[:40]!r}; write a whole number from {least} to {most}.") from None
    if not least <= given <= most:
        raise SettingError(f"{name} is {value[:40]}; write a whole number from {least} to {most}.")
    return given


def choice(name: str, default: str, choices: Sequence[str]) -> str:
    """One of these words, in capitals or not."""
    value = text(name, default)
    if value.upper() not in choices:
        raise SettingError(f"{name} is {value[:40]!r}; write one of {', '.join(choices)}.")
    return value.upper()


def words(name: str, default: str) -> list[str]:
    """A list whose items are separated by commas."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def secret_key() -> str:
    """What sessions are signed with: whoever guesses it is anybody."""
    key = text("CAUSELINE_SECRET_KEY")
    if len(key) < KEY_AT_LEAST:
        raise SettingError(
            f"CAUSELINE_SECRET_KEY has {len(key)} characters; it needs at least {KEY_AT_LEAST}. "
            "`openssl rand -hex 32` makes a good one."
        )
    return key


def networks(name: str, default: str) -> list[str]:
    """Addresses and networks, separated by commas."""
    found = []
    for word in words(name, default):
        try:
            found.append(str(ipaddress.ip_network(word)))
        except ValueError:
            raise SettingError(
                f"{name} has {word[:60]!r}, which is neither an address nor a network such as 10.0.0.0/8."
            ) from None
    return found


def folders(name: str, default: str) -> list[Path]:
    """Whole paths, separated by commas; ~ stands for the home folder."""
    try:
        found = [Path(word).expanduser() for word in words(name, default)]
    except RuntimeError:
        raise SettingError(f"{name} names a home folder that is not known; write whole paths, from / on.") from None
    for folder in found:
        if not folder.is_absolute():
            raise SettingError(f"{name} names {folder}; write whole paths, from / on, separated by commas.")
    return found


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
    """How much of a recording is read."""
    usual = Limits()
    return Limits(
        line_bytes=number("CAUSELINE_LINE_LIMIT_BYTES", usual.line_bytes, 1, 1024**3),
        content_bytes=number("CAUSELINE_CONTENT_LIMIT_BYTES", usual.content_bytes, 1, 10**18),
        ratio=number("CAUSELINE_RATIO_LIMIT", usual.ratio, 1, 10**9),
        members=number("CAUSELINE_MEMBER_LIMIT", usual.members, 1, 10**9),
        depth=number("CAUSELINE_DEPTH_LIMIT", usual.depth, 1, DEPTH_AT_MOST),
        objects=number("CAUSELINE_OBJECT_LIMIT", usual.objects, 1, 10**9),
    )


def keep_days() -> int:
    """How long what live sources observe is kept."""
    return number("CAUSELINE_KEEP_DAYS", 14, 1, KEEP_DAYS_AT_MOST)


def keep_bytes() -> int:
    """How much of it is kept; 0 sets no limit."""
    return number("CAUSELINE_KEEP_BYTES", 0, 0, KEEP_BYTES_AT_MOST)


def hours(name: str, default: int) -> timedelta:
    """A time of at least an hour."""
    return timedelta(hours=number(name, default, 1, _HOURS_AT_MOST))


def redaction(*, keeps: bool = True) -> None:
    """Redact as the environment says; `keeps`: what is read is stored, so that the strict mode matters."""
    mode = choice("CAUSELINE_REDACT", "normal", ("NORMAL", "STRICT"))
    lines = [line.strip() for line in text("CAUSELINE_REDACT_PATTERNS", "").splitlines()]
    patterns = tuple(line for line in lines if line and not line.startswith("#"))
    for pattern in patterns:
        try:
            checked(pattern)
        except PatternError as error:
            raise SettingError(
                f"CAUSELINE_REDACT_PATTERNS has a pattern that cannot be used: {pattern[:80]}: {error}."
            ) from None
    use(Policy(patterns, keeps and mode == "STRICT"))


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
    parts = _address("DATABASE_URL", url, ("postgresql", "postgres"))
    options = dict(parse_qsl(parts.query))
    if set("/@") & set(parts.path[1:]) or (parts.query and not options):
        raise SettingError(_UNREADABLE.format("DATABASE_URL"))
    _check_port("DATABASE_URL", options.get("port", ""))
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


def broker(url: str) -> str:
    """The address of Valkey or Redis, looked at."""
    _address("REDIS_URL", url, ("redis", "rediss", "redis+socket", "sentinel"))
    return url


_UNREADABLE = (
    "{} cannot be read as an address, user:password@host:port. A port is a number from 1 to 65535; in a password, "
    "write / as %2F, ? as %3F, # as %23, @ as %40, [ as %5B and % as %25."
)


def _address(name: str, url: str, schemes: Sequence[str]) -> SplitResult:
    """Its parts. What is said of a bad one shows nothing of it, for any part may be a piece of the password."""
    try:
        parts = urlsplit(url)
        unreadable = parts.port == 0 or "#" in url
    except ValueError:
        unreadable = True
    if unreadable:
        raise SettingError(_UNREADABLE.format(name))
    if parts.scheme not in schemes:
        raise SettingError(f"{name} does not begin with {schemes[0]}://, as it has to.")
    return parts


def _check_port(name: str, given: str) -> None:
    if given and not (given.isascii() and given.isdecimal() and 1 <= int(given[:6]) <= 65_535):
        raise SettingError(f"{name} names a port that is not a number from 1 to 65535.")
