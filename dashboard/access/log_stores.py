"""This module decides which hosts the fields of a log store may lead to. An operator allows them by
CAUSELINE_LOG_STORE_HOSTS."""

from django.conf import settings

from collectors.stores.kinds import Refused, Transient
from dashboard.access import outgoing


def check(address: str) -> None:
    """Raise Refused for an address that is not allowed, and Transient if its name cannot be resolved now.

    The official clients resolve the name once more when they connect.
    """
    try:
        outgoing.permitted(address, settings.LOG_STORE_HOSTS)
    except outgoing.NotAllowed:
        raise Refused(
            "Nothing is pulled from this address. An operator allows hosts with CAUSELINE_LOG_STORE_HOSTS."
        ) from None
    try:
        outgoing.checked(address, settings.LOG_STORE_HOSTS)
    except outgoing.NotAllowed as error:
        raise Refused(str(error).replace("CAUSELINE_DESTINATION_HOSTS", "CAUSELINE_LOG_STORE_HOSTS")) from None
    except outgoing.Unreachable as error:
        raise Transient(str(error)) from None
