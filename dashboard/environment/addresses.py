"""This module reads the addresses of PostgreSQL and Valkey. An error shows nothing of an address that it refuses, since
any part of it may be a piece of the password."""

from collections.abc import Sequence
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_UNREADABLE = (
    "cannot be read as an address, user:password@host:port. A port is a number from 1 to 65535; in a password, "
    "write / as %2F, ? as %3F, # as %23, @ as %40, [ as %5B and % as %25."
)


def database(url: str) -> dict[str, object]:
    """Return Django's description of the PostgreSQL database that a libpq URL names. Raises ValueError.

    `postgresql://user:password@host:5432/name?sslmode=require`; the folder of a socket goes into `?host=/folder`.
    """
    parts = _address(url, ("postgresql", "postgres"))
    options = dict(parse_qsl(parts.query))
    if set("/@") & set(parts.path[1:]) or (parts.query and not options):
        raise ValueError(_UNREADABLE)
    _check_port(options.get("port", ""))
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
    """Return the address of Valkey or Redis as it was given. Raises ValueError where it cannot be one."""
    _address(url, ("redis", "rediss", "redis+socket", "sentinel"))
    return url


def _address(url: str, schemes: Sequence[str]) -> SplitResult:
    try:
        parts = urlsplit(url)
        unreadable = parts.port == 0 or "#" in url
    except ValueError:
        unreadable = True
    if unreadable:
        raise ValueError(_UNREADABLE)
    if parts.scheme not in schemes:
        raise ValueError(f"does not begin with {schemes[0]}://, as it has to.")
    return parts


def _check_port(given: str) -> None:
    if given and not (given.isascii() and given.isdecimal() and 1 <= int(given[:6]) <= 65_535):
        raise ValueError("names a port that is not a number from 1 to 65535.")
