"""Find out what an IP address leads to, however it is written: this machine, a cloud's metadata, or anything else.
It does no I/O."""

import ipaddress
from collections.abc import Iterator

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Cloud providers serve credentials at these addresses, too, besides the link-local 169.254.169.254.
_METADATA = tuple(
    map(
        ipaddress.ip_network,
        (
            "fd00:ec2::/32",  # Amazon, also the credentials of Pods in EKS
            "fd20:ce::254/128",  # Google
            "fd00:42::42/128",  # Scaleway
            "100.100.100.200/32",  # Alibaba
            "168.63.129.16/32",  # Azure
            "192.0.0.192/32",  # Oracle
        ),
    )
)
_METADATA_NAMES = ("metadata.google.internal", "metadata.goog", "instance-data.ec2.internal")
_THIS = (ipaddress.ip_network("0.0.0.0/8"), ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::/127"))
_LAST_FOUR = (  # networks whose addresses end in an IPv4 address
    ipaddress.IPv6Network("::/96"),
    ipaddress.IPv6Network("::ffff:0:0/96"),  # mapped
    ipaddress.IPv6Network("::ffff:0:0:0/96"),  # translated (RFC 2765)
    ipaddress.IPv6Network("64:ff9b::/96"),  # NAT64
    ipaddress.IPv6Network("64:ff9b:1::/48"),  # NAT64 of one's own (RFC 8215), in any of the forms of RFC 6052
)
_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
_TEREDO = ipaddress.IPv6Network("2001::/32")
_ISATAP = (0x00005EFE, 0x02005EFE)


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


def is_metadata_name(name: str) -> bool:
    """Return whether a cloud serves credentials under a name, which has small letters and no dot at its end."""
    return name in _METADATA_NAMES


def forbidden(address: str, *, named: bool) -> str:
    """Return why nothing is connected to at an IP address, as the end of a sentence; "" if it may be.

    `named` says that an operator has named the host, so that it may be this machine. An IPv6 address is also judged by
    the IPv4 addresses that are written into it, because a translator or a tunnel may lead there.
    """
    for each in _meanings(ipaddress.ip_address(address.partition("%")[0])):
        if each.is_link_local:
            return "which is a link-local address"
        if any(each in network for network in _METADATA):
            return "at which clouds serve credentials"
        if each.is_multicast or each == ipaddress.IPv4Address("255.255.255.255"):
            return "which is not the address of one machine"
        if any(each in network for network in _THIS) and not named:
            return "which is this machine"
    return ""


def _meanings(address: _Address) -> Iterator[_Address]:
    yield address
    if isinstance(address, ipaddress.IPv4Address) or int(address) <= 1:
        return
    number = int(address)
    if any(address in network for network in _LAST_FOUR):
        yield ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        yield ipaddress.IPv4Address(number >> 80 & 0xFFFFFFFF)
    if address in _TEREDO:
        yield ipaddress.IPv4Address(number >> 64 & 0xFFFFFFFF)
        yield ipaddress.IPv4Address(~number & 0xFFFFFFFF)
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        yield ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address in _NAT64:
        octets = address.packed  # RFC 6052 leaves out the ninth octet
        for begin in (6, 7, 8):
            yield ipaddress.IPv4Address(bytes([*octets[begin:8], *octets[9:]])[:4])
