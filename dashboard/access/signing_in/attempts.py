"""Make guessing passwords slow: after too many failures one has to wait, each time twice as long.

Failures are counted for a name together with an address, so that nobody can lock out another user from elsewhere. Each
address also has a larger limit for all names together, against those who try one password with many names. An attempt
is counted before the password is checked, so that simultaneous attempts are all counted.
"""

import ipaddress
import unicodedata
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from dashboard.models import FailedSignIns

OF_A_NAME = 5  # failures of one name from one address until one has to wait
OF_A_NAME_ANYWHERE = 20  # failures of one name from all addresses, where that is limited
OF_AN_ADDRESS = 50  # the same for all names; a whole office may have one address
SHORTEST, LONGEST = timedelta(minutes=1), timedelta(hours=1)
FORGOTTEN = timedelta(days=1)  # time from the last failure until failures are forgotten
_ANYWHERE = "anywhere"  # in place of an address
_IPV6_NETWORK = 64  # bits; within such a network one usually can use every IPv6 address


def begin(name: str, address: str, *, anywhere: bool = False) -> timedelta | None:
    """Count an attempt that is about to be made, or return how long to wait if there were too many.

    With `anywhere`, the failures of this name from all addresses together are limited, too. Who knows the name could
    keep its owner out by that, so it is for attempts that only somebody with the right password can make.
    """
    network = network_of(address)
    with transaction.atomic():
        limits = [(_row(_hashed(name), network), OF_A_NAME), (_row("", network), OF_AN_ADDRESS)]
        if anywhere:
            limits.insert(1, (_row(_hashed(name), _ANYWHERE), OF_A_NAME_ANYWHERE))
        rows = [row for row, _ in limits]
        now = timezone.now()  # read after waiting for the locks of the rows
        locked = max(row.locked_until for row in rows)
        if locked > now:
            return locked - now
        for row, allowed in limits:
            row.count += 1
            row.last = now
            row.locked_until = now + wait(row.count - allowed)
            row.save()
    return None


def succeeded(name: str, address: str, *, anywhere: bool = False) -> None:
    """Take back the count of an attempt that succeeded. The failures of other names from this address stay counted."""
    network = network_of(address)
    with transaction.atomic():
        places = [network, _ANYWHERE] if anywhere else [network]
        FailedSignIns.objects.filter(name=_hashed(name), address__in=places).delete()
        row = _row("", network)
        row.count = max(0, row.count - 1)
        row.locked_until = row.last + wait(row.count - OF_AN_ADDRESS)
        row.save()


def unlock(name: str = "", address: str = "") -> int:
    """Delete the failures of a name, of an address, or all of them, and return the number of deleted rows.

    There is one row for each name together with an address, and one for each address.
    """
    rows = FailedSignIns.objects.all()
    if name:
        rows = rows.filter(name__in=[_hashed(name), _hashed(second_factor_of(name))])
    if address:
        rows = rows.filter(address=network_of(address))
    return rows.delete()[0]


def second_factor_of(name: str) -> str:
    """Return the name under which failures of somebody's second factor are counted. No user name has a space."""
    return f"second factor of {name}"


def forget() -> None:
    """Delete failures that were long ago."""
    FailedSignIns.objects.filter(last__lt=timezone.now() - FORGOTTEN).delete()


def wait(over: int) -> timedelta:
    """Return how long to wait when the limit is exceeded by this number of failures."""
    return timedelta() if over < 0 else min(SHORTEST * 2 ** min(over, 16), LONGEST)


def network_of(address: str) -> str:
    """Return the address, or its network for IPv6, or "" for text that is not an IP address, such as a path."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((found, _IPV6_NETWORK), strict=False))


def _row(name: str, network: str) -> FailedSignIns:
    """Return the row of a name and an address, which is created if it does not exist, and locked until the transaction
    ends. Callers lock a name at an address, then the name anywhere, then the address, to avoid deadlocks."""
    now = timezone.now()
    FailedSignIns.objects.bulk_create(
        [FailedSignIns(name=name, address=network, last=now, locked_until=now)], ignore_conflicts=True
    )
    row = FailedSignIns.objects.select_for_update().get(name=name, address=network)
    if row.last < now - FORGOTTEN:
        row.count = 0
    return row


def _hashed(name: str) -> str:
    """Return a hash of the name. Names that differ only in case or in their Unicode form have the same one."""
    plain = unicodedata.normalize("NFKC", name).strip().casefold()
    return salted_hmac("causeline.sign-in", plain, algorithm="sha256").hexdigest()
