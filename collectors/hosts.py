"""Decide what may be connected to where people choose the address: of clusters, log stores, destinations.

An operator allows schemes and hosts by a setting. A name is resolved once, and all of its addresses are checked: those
are the ones to connect to. Clients read odd addresses differently: `https://one\\@two` leads to one for some and to two
for others. So only plain addresses are accepted, and clients get one that is put together again from its parts.
"""

import fnmatch
import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from collectors.addresses import forbidden, is_metadata_name

_PORTS = {"http": 80, "https": 443}
_PRINTED = re.compile(r"[!-~]+")
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_ENTRY = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?"
    r"(?P<host>[a-z0-9*?._-]+|\[[0-9a-f:.]+\])(?:/(?P<length>\d{1,3}))?"
    r"(?::(?P<port>\d{1,5}|\*))?"
)


class NotAllowed(Exception):
    """Nothing may be sent there. The message is a sentence for people, without secrets."""


class Unresolved(Exception):
    """A name has no address now. The message is a sentence for people, without secrets."""


class AllowedHost(NamedTuple):
    """One entry of a setting such as CAUSELINE_DESTINATION_HOSTS: `[scheme://]host[:port]`."""

    scheme: str
    host: (
        str  # lower-case name in which * and ? stand for any characters, or an address, or a network such as 10.0.0.0/8
    )
    port: int | None  # None for the usual port of the scheme, 0 for any port

    @property
    def exact(self) -> bool:
        """Return whether the entry names one host."""
        return not set("*?/") & set(self.host)

    def covers(self, scheme: str, host: str, port: int | None) -> bool:
        """Return whether the entry allows an address. `host` is a lower-case name, or an address without brackets;
        `port` is None where the address names none."""
        usual = _PORTS.get(scheme)
        port = usual if port is None else port
        wanted = usual if self.port is None else self.port
        return scheme == self.scheme and (self.port == 0 or port == wanted) and self._names(host)

    def _names(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return "/" not in self.host and fnmatch.fnmatchcase(host, self.host)
        if self.host == "*":
            return True
        try:  # a pattern such as 10.* is one of names alone, because it would also allow 10.example.org
            return address in ipaddress.ip_network(self.host)
        except ValueError:
            return False


class Gate(NamedTuple):
    """What a setting allows to connect to."""

    setting: str  # its name, for messages
    allowed: Sequence[AllowedHost]

    def permit(self, scheme: str, host: str, port: int | None) -> None:
        """Raise NotAllowed unless an entry allows a scheme, a host and a port. No name is resolved.

        `host` is a lower-case name without a dot at its end, or an address without brackets; `port` is None where the
        address names none.
        """
        if not any(each.covers(scheme, host, port) for each in self.allowed):
            shown = f"{scheme}://{host}" + (f":{port}" if port is not None else "")
            raise NotAllowed(self._unlisted(shown[:200]))

    def names(self, scheme: str, host: str, port: int | None) -> bool:
        """Return whether an entry without a wildcard allows a host."""
        return any(each.exact and each.covers(scheme, host, port) for each in self.allowed)

    def resolved(self, scheme: str, host: str, port: int | None) -> tuple[str, ...]:
        """Return the IP addresses of a host that `permit` permits, at least one: those to connect to.

        Raise NotAllowed for what `permit` does not permit, and for names that lead to link-local, multicast or metadata
        addresses. A name leads to this machine only if an entry names it without a wildcard. Raise Unresolved if it has
        no address.
        """
        self.permit(scheme, host, port)
        named = self.names(scheme, host, port)
        if is_metadata_name(host):
            raise NotAllowed(f"{host} is a name under which clouds serve credentials.")
        try:
            found = socket.getaddrinfo(host, port or _PORTS.get(scheme, 0), proto=socket.IPPROTO_TCP)
        except (OSError, UnicodeError) as error:
            raise Unresolved(f"The name {host[:200]} cannot be resolved ({type(error).__name__}).") from None
        addresses = tuple(dict.fromkeys(str(each[4][0]) for each in found))
        for each in addresses:
            self._check(host, each, named=named)
        return addresses

    def admit(self, host: str, port: int, address: str) -> None:
        """Raise NotAllowed unless a name that was resolved to this address may be connected to, by whatever scheme."""
        name = host.lower().strip("[]").rstrip(".")
        entries = [each for each in self.allowed if each.covers(each.scheme, name, port)]
        if not entries:
            raise NotAllowed(self._unlisted(f"{name[:200]}:{port}"))
        self._check(name, address, named=any(each.exact for each in entries))

    def _check(self, host: str, address: str, *, named: bool) -> None:
        if why := forbidden(address, named=named):
            if not named and not forbidden(address, named=True):
                why = f"{why}; {self.setting} has to name the host without a wildcard for that"
            raise NotAllowed(f"{host[:200]} leads to {address}, {why}.")

    def _unlisted(self, shown: str) -> str:
        return f"Nothing may be sent to {shown}. An operator allows schemes and hosts with {self.setting}."


def allowed_hosts(words: Iterable[str]) -> list[AllowedHost]:
    """Return the entries of the setting. Raise ValueError, which ends a sentence that begins with its name."""
    return [_allowed_host(word) for word in words]


def _allowed_host(word: str) -> AllowedHost:
    found = _ENTRY.fullmatch(word.lower())
    if not found or (found["port"] not in (None, "*") and not 0 < int(found["port"]) < 65_536):
        raise ValueError(
            f"has {word[:60]!r}; write hosts such as hooks.example.org, *.example.org, http://alertmanager:9093 or "
            "10.0.0.0/8."
        )
    host = found["host"].strip("[]")
    if found["length"] is not None:
        try:
            host = str(ipaddress.ip_network(f"{host}/{found['length']}"))
        except ValueError:
            raise ValueError(f"has {word[:60]!r}, which is not a network such as 10.0.0.0/8.") from None
    port = None if found["port"] is None else 0 if found["port"] == "*" else int(found["port"])
    return AllowedHost(found["scheme"] or "https", host.rstrip("."), port)


def plain(address: str) -> str:
    """Return the address of a service, put together from its scheme, host, port and path.

    Raise ValueError with a sentence for people.
    """
    if "@" in address:
        raise ValueError("Write the address without a user, a password and @: it is shown. Use the fields for them.")
    if not _PRINTED.fullmatch(address) or set('\\?#"<>^`{|}') & set(address):
        raise ValueError("The address has characters that the address of a service does not need.")
    try:
        parts = urlsplit(address)
        host, port = parts.netloc.lower(), parts.port
    except ValueError:
        host, port = "", None
    name = host.removesuffix(f":{port}") if port is not None else host
    if not host or parts.scheme not in _PORTS or not _HOST.fullmatch(name):
        raise ValueError("This is not an address such as https://logs.example.org:9200.")
    return f"{parts.scheme}://{host}{parts.path}"


def origin(address: str) -> tuple[str, str, int] | None:
    """Return the scheme, the host and the port of a plain address; None of an empty one."""
    if not address:
        return None
    parts = urlsplit(address)
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or _PORTS[parts.scheme]


def retry_after(value: str | None) -> float:
    """Return the seconds that a header Retry-After asks for, which has seconds or a date; 0 without a valid one."""
    if not value:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
        return max(0.0, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp())
    except (ValueError, OverflowError):
        return 0.0
