"""Read the addresses of PostgreSQL and Valkey. An error shows nothing of an address that it refuses, since any part of
it may be a piece of the password."""

from collections.abc import Sequence
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_UNREADABLE = (
    "cannot be read as an address, user:password@host:port. A port is a number from 1 to 65535; in a password, "
    "write / as %2F, ? as %3F, # as %23, @ as %40, [ as %5B and % as %25."
)
_PORT = "5432"
# Options of libpq by which a server that vanished without closing its connections is noticed within seconds; without
# them, that takes minutes to hours. An address can have others.
_NOTICE = {
    "connect_timeout": "5",  # seconds for each host
    "keepalives_idle": "5",  # seconds without an answer before the first of three probes
    "keepalives_interval": "3",  # seconds between two probes
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",  # ms that what was sent may stay unacknowledged
}


def database(url: str) -> dict[str, object]:
    """Return Django's description of the PostgreSQL database that a libpq URL names. Raises ValueError.

    `postgresql://user:password@host:5432/name?sslmode=require`; the folder of a socket goes into `?host=/folder`.
    There may be several hosts, `@one:5432,two:5432/`: then the one that takes writes is used, unless the option
    `target_session_attrs` asks for another one.
    """
    url, others = _first_host_only(url)
    parts = _address(url, ("postgresql", "postgres"))
    options = dict(parse_qsl(parts.query))
    if set("/@") & set(parts.path[1:]) or (parts.query and not options):
        raise ValueError(_UNREADABLE)
    host, port = options.pop("host", parts.hostname or ""), str(parts.port or options.pop("port", ""))
    if others:
        each = [parts, *(_address(other, ("postgresql",)) for other in others)]
        if not all(one.hostname for one in each):
            raise ValueError(_UNREADABLE)
        host = ",".join(str(one.hostname) for one in each)
        port = ",".join(str(one.port or _PORT) for one in each)
        options.setdefault("target_session_attrs", "read-write")
    for number in port.split(","):
        _check_port(number)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "causeline",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": port,
        "OPTIONS": options if host.startswith("/") or not host else _NOTICE | options,
        "CONN_HEALTH_CHECKS": True,
    }


def _first_host_only(url: str) -> tuple[str, list[str]]:
    """Return the address with only the first of its hosts, and an address of each other host."""
    head, slashes, rest = url.partition("://")
    end = min(f"{rest}/?#".find(mark) for mark in "/?#")
    login, separator, hosts = rest[:end].rpartition("@")
    first, *others = hosts.split(",")
    return f"{head}{slashes}{login}{separator}{first}{rest[end:]}", [f"postgresql://{other}/" for other in others]


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
