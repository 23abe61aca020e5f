"""This pure module says whether an address belongs to this machine alone."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether a host is an address of the loopback, or the name that always stands for one.

    Another name is none, whatever it begins with and whatever it leads to at the moment.
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
