"""This pure module reads which hosts messages may be sent to, and says whether an address is one of them."""

import fnmatch
import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple

_PORTS = {"http": 80, "https": 443}
_ENTRY = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?"
    r"(?P<host>[a-z0-9*?._-]+|\[[0-9a-f:.]+\])(?:/(?P<length>\d{1,3}))?"
    r"(?::(?P<port>\d{1,5}|\*))?"
)


class AllowedHost(NamedTuple):
    """This tuple is one entry of CAUSELINE_DESTINATION_HOSTS: `[scheme://]host[:port]`."""

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
