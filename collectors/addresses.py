"""This pure module says whether an address belongs to this machine alone."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether a host is `localhost` or an address of the loopback (127.0.0.0/8 or ::1, also in brackets).

    Any other name gives False, even if it resolves to a loopback address at the moment.
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
