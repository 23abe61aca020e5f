"""Check addresses that people write, before clients connect to them. It does no I/O.

Clients read odd addresses differently: `https://one\\@two` leads to one for some and to two for others. So only plain
addresses are accepted, and clients get an address that is put together again from the parts that were read.
"""

import re
from urllib.parse import urlsplit

_PRINTED = re.compile(r"[!-~]+")
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_PORTS = {"http": 80, "https": 443}


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
