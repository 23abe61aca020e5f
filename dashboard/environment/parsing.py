"""Declare the types of settings: how the text of a variable becomes a value, and what an error says.

Each function takes the text of a variable. Its ValueError ends the sentence that begins with the variable's name.
"""

import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from collectors import hosts
from collectors.redaction.policy import PatternError, checked
from dashboard import keys
from dashboard.environment import addresses, services
from dashboard.environment.variables import NO, YES, login

_SITE = re.compile(r"https?://[A-Za-z0-9.\[\]:_-]+/?")
_LOCAL = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)")
_ISSUER = re.compile(r"https://[^/?#@\s]+(/[^?#\s]*)?")
_ORIGIN = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:(\d{1,5}|\*))?")  # as in frame-ancestors


def _flag(given: object) -> object:
    if not isinstance(given, str):
        return given
    if (word := given.lower()) in YES | NO:
        return word in YES
    raise ValueError(f"is {given[:40]!r}; write on or off.")


def _words(given: str) -> list[str]:
    return [word.strip() for word in given.split(",") if word.strip()]


def _ancestors(given: str) -> list[str]:
    found = _words(given)
    for word in found:
        if not _ORIGIN.fullmatch(word):
            raise ValueError(f"has {word[:60]!r}, which is not an origin such as https://grafana.example.org.")
    return found


def _networks(given: str) -> list[str]:
    found = []
    for word in _words(given):
        try:
            found.append(str(ipaddress.ip_network(word)))
        except ValueError:
            raise ValueError(
                f"has {word[:60]!r}, which is neither an address nor a network such as 10.0.0.0/8."
            ) from None
    return found


def _folders(given: str) -> list[Path]:
    try:
        found = [Path(word).expanduser() for word in _words(given)]
    except RuntimeError:
        raise ValueError("names a home folder that is not known; write whole paths, from / on.") from None
    for folder in found:
        if not folder.is_absolute():
            raise ValueError(f"names {folder}; write whole paths, from / on, separated by commas.")
    return found


def _folder(given: str) -> Path:
    return Path(given).expanduser().absolute()


def _optional_file(given: object) -> object:
    return _folder(given) if isinstance(given, str) and given else None


def _key(given: str) -> str:
    if len(given) < keys.AT_LEAST:
        raise ValueError(
            f"has {len(given)} characters; it needs at least {keys.AT_LEAST}. `openssl rand -hex 32` makes a good one."
        )
    return given


def _optional_key(given: str) -> str:
    return _key(given) if given else ""


def _keys(given: str) -> list[str]:
    found = _words(given)
    if any(len(key) < keys.AT_LEAST for key in found):
        raise ValueError(
            f"has a key with less than {keys.AT_LEAST} characters; `openssl rand -hex 32` makes a good one."
        )
    return found


def _patterns(given: str) -> list[str]:
    lines = [line.strip() for line in given.splitlines()]
    patterns = [line for line in lines if line and not line.startswith("#")]
    for pattern in patterns:
        try:
            checked(pattern)
        except PatternError as error:
            raise ValueError(f"has a pattern that cannot be used: {pattern[:80]}: {error}.") from None
    return patterns


def _hosts(given: str) -> list[hosts.AllowedHost]:
    return hosts.allowed_hosts(_words(given))


def _hosts_or_any(given: str) -> list[hosts.AllowedHost] | None:
    return None if given.strip().lower() == "any" else _hosts(given)


def _services(given: str) -> list[str]:
    return services.schemes(_words(given))


def _address(given: str) -> str:
    if given and not _SITE.fullmatch(given):
        raise ValueError(f"is {given[:80]!r}; write an address such as https://causeline.example.org.")
    return given.rstrip("/")


def _optional_database(given: str) -> dict[str, object]:
    return addresses.database(given) if given else {}


def _issuer(given: str) -> str:
    """Return an issuer. One without TLS is accepted only on this machine, where nobody can change what is sent."""
    if given and not _LOCAL.match(given) and not _ISSUER.fullmatch(given):
        raise ValueError(f"is {given[:80]!r}; write an issuer such as https://keycloak.example.org/realms/company.")
    if len(given) > 200:
        raise ValueError("is longer than 200 characters.")
    return given.rstrip("/")


def one_of(*choices: str) -> BeforeValidator:
    """Return a validator that accepts one of these words, in capitals or not, and returns it as written here."""

    def choose(given: str) -> str:
        return _chosen(given, choices)

    return BeforeValidator(choose)


def _chosen(given: str, choices: Sequence[str]) -> str:
    for choice in choices:
        if given.upper() == choice.upper():
            return choice
    empty = ", or leave it empty" if "" in choices else ""
    raise ValueError(f"is {given[:40]!r}; write one of {', '.join(filter(None, choices))}{empty}.")


Whole = Annotated[int, BeforeValidator(int)]  # pydantic's own parser takes 1.0, too
Flag = Annotated[bool, BeforeValidator(_flag)]
Words = Annotated[list[str], BeforeValidator(_words)]
Ancestors = Annotated[list[str], BeforeValidator(_ancestors)]
Networks = Annotated[list[str], BeforeValidator(_networks)]
Folders = Annotated[list[Path], BeforeValidator(_folders)]
Folder = Annotated[Path, BeforeValidator(_folder)]
OptionalFile = Annotated[Path | None, BeforeValidator(_optional_file)]
Key = Annotated[str, BeforeValidator(_key)]
OptionalKey = Annotated[str, BeforeValidator(_optional_key)]
Keys = Annotated[list[str], BeforeValidator(_keys)]
Address = Annotated[str, BeforeValidator(_address)]
Issuer = Annotated[str, BeforeValidator(_issuer)]
Hosts = Annotated[list[hosts.AllowedHost], BeforeValidator(_hosts)]
HostsOrAny = Annotated[list[hosts.AllowedHost] | None, BeforeValidator(_hosts_or_any)]
Services = Annotated[list[str], BeforeValidator(_services)]
Patterns = Annotated[list[str], BeforeValidator(_patterns)]
Login = Annotated[str, BeforeValidator(login)]
Database = Annotated[dict[str, object], BeforeValidator(addresses.database)]
OptionalDatabase = Annotated[dict[str, object], BeforeValidator(_optional_database)]
Broker = Annotated[str, BeforeValidator(addresses.broker)]
