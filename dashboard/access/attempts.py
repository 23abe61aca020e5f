"""Guessing passwords is made slow: who fails too often has to wait, and each time twice as long.

What counts is a name from an address, so that nobody can lock somebody else out by failing under their name. Beside
that each address has a larger allowance for all names together, for those who try one password with many names. An
attempt is counted before the password is looked at, so of many at the same time none slips through.
"""

import ipaddress
import unicodedata
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from dashboard.models import FailedSignIns

OF_A_NAME = 5  # failures of one name from one address, after which there is a wait
OF_AN_ADDRESS = 50  # of all names from it: an office may be behind one address
SHORTEST, LONGEST = timedelta(minutes=1), timedelta(hours=1)
FORGOTTEN = timedelta(days=1)  # after the last failure
_IPV6_NETWORK = 64  # bits; whoever has an IPv6 address usually has as many of them as they like


def begin(name: str, address: str) -> timedelta | None:
    """Count an attempt that is about to be made; how long to wait instead, where there were too many."""
    network = network_of(address)
    with transaction.atomic():
        rows = [_row(_hashed(name), network), _row("", network)]
        now = timezone.now()  # after others that held the rows have had their turn
        locked = max(row.locked_until for row in rows)
        if locked > now:
            return locked - now
        for row, allowed in zip(rows, (OF_A_NAME, OF_AN_ADDRESS), strict=True):
            row.count += 1
            row.last = now
            row.locked_until = now + wait(row.count - allowed)
            row.save()
    return None


def succeeded(name: str, address: str) -> None:
    """Take an attempt back that was none in vain; what others failed in from this address stays counted."""
    network = network_of(address)
    with transaction.atomic():
        FailedSignIns.objects.filter(name=_hashed(name), address=network).delete()
        row = _row("", network)
        row.count = max(0, row.count - 1)
        row.locked_until = row.last + wait(row.count - OF_AN_ADDRESS)
        row.save()


def unlock(name: str = "", address: str = "") -> int:
    """Forget the failures of a name, of an address, or all of them; how many names and addresses that were."""
    rows = FailedSignIns.objects.all()
    if name:
        rows = rows.filter(name=_hashed(name))
    if address:
        rows = rows.filter(address=network_of(address))
    return rows.delete()[0]


def forget() -> None:
    """Remove what was long ago."""
    FailedSignIns.objects.filter(last__lt=timezone.now() - FORGOTTEN).delete()


def wait(over: int) -> timedelta:
    """How long after so many failures, counted from the last one that was allowed."""
    return timedelta() if over < 0 else min(SHORTEST * 2 ** min(over, 16), LONGEST)


def network_of(address: str) -> str:
    """The address, or of IPv6 its network; "" for what is none, such as a socket's."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((found, _IPV6_NETWORK), strict=False))


def _row(name: str, network: str) -> FailedSignIns:
    """Locked until the transaction ends; always that of the name before that of the address."""
    now = timezone.now()
    FailedSignIns.objects.bulk_create(
        [FailedSignIns(name=name, address=network, last=now, locked_until=now)], ignore_conflicts=True
    )
    row = FailedSignIns.objects.select_for_update().get(name=name, address=network)
    if row.last < now - FORGOTTEN:
        row.count = 0
    return row


def _hashed(name: str) -> str:
    """Names that differ in capitals, or in how they are written, count as one."""
    plain = unicodedata.normalize("NFKC", name).strip().casefold()
    return salted_hmac("causeline.sign-in", plain, algorithm="sha256").hexdigest()
