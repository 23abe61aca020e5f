"""Decide which hosts the fields of a log store may lead to, and hand pulls to workers. An operator allows hosts by
CAUSELINE_LOG_STORE_HOSTS."""

import logging
import socket
from functools import partial, wraps
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError as BrokerError

from collectors.addresses import forbidden
from collectors.hosts import origin, plain
from collectors.uploads.pulls import StoreRefused, Transient
from dashboard.access import outgoing

logger = logging.getLogger(__name__)
_checked: dict[str, bool] = {}  # names of hosts that were allowed: whether an operator has named them


def check(address: str) -> None:
    """Raise Refused for an address that is not allowed, and Transient if its name cannot be resolved now.

    The clients of stores resolve the name again when they connect, each by means of its own. From now on, this process
    gives them no address for it at which nothing is connected to.
    """
    try:
        address = plain(address)
        outgoing.permitted(address, settings.LOG_STORE_HOSTS)
    except ValueError as error:
        raise StoreRefused(str(error)) from None
    except outgoing.NotAllowed:
        raise StoreRefused(
            "Nothing is pulled from this address. An operator allows hosts with CAUSELINE_LOG_STORE_HOSTS."
        ) from None
    try:
        outgoing.checked(address, settings.LOG_STORE_HOSTS)
    except outgoing.NotAllowed as error:
        raise StoreRefused(str(error).replace("CAUSELINE_DESTINATION_HOSTS", "CAUSELINE_LOG_STORE_HOSTS")) from None
    except outgoing.Unreachable as error:
        raise Transient(str(error)) from None
    found = origin(address)
    assert found
    scheme, host, port = found
    _checked[host] = outgoing.gate(settings.LOG_STORE_HOSTS).names(scheme, host, port)
    if not hasattr(socket.getaddrinfo, "checks_log_stores"):
        socket.getaddrinfo = _checking(socket.getaddrinfo)


def _checking(resolve: Any) -> Any:
    """Return a function that resolves names as the given one does, and checks those of log stores each time."""

    @wraps(resolve)
    def checked(host: Any, *args: Any, **more: Any) -> Any:
        found = resolve(host, *args, **more)
        name = (host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")).lower().rstrip(".")
        if name in _checked:
            for each in found:
                if why := forbidden(str(each[4][0]), named=_checked[name]):
                    raise socket.gaierror(socket.EAI_FAIL, f"{name} leads to {each[4][0]}, {why}")
        return found

    checked.checks_log_stores = True  # type: ignore[attr-defined]
    return checked


def queue(pull_id: int) -> None:
    """Let a worker pull a window that waits, once that is committed. If the broker loses it, `take_up_pulls` queues it
    again."""
    transaction.on_commit(partial(_send, "pull_window", pull_id))


def queue_estimate(pull_id: int) -> None:
    """Let a worker ask what a window costs, once that is committed."""
    transaction.on_commit(partial(_send, "estimate_pull", pull_id))


def _send(task: str, pull_id: int) -> None:
    try:
        current_app.send_task(f"dashboard.tasks.{task}", [pull_id])
    except BrokerError as error:
        logger.warning("pull %s has to wait: the broker cannot be reached: %s", pull_id, error)
