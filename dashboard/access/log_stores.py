"""This module decides which hosts the fields of a log store may lead to, and hands pulls to workers. An operator allows
hosts by CAUSELINE_LOG_STORE_HOSTS."""

import logging

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError as BrokerError

from collectors.stores.addresses import plain
from collectors.stores.kinds import Refused, Transient
from dashboard.access import outgoing

logger = logging.getLogger(__name__)


def check(address: str) -> None:
    """Raise Refused for an address that is not allowed, and Transient if its name cannot be resolved now.

    The clients of all stores resolve the name once more when they connect.
    """
    try:
        address = plain(address)
        outgoing.permitted(address, settings.LOG_STORE_HOSTS)
    except ValueError as error:
        raise Refused(str(error)) from None
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


def queue(pull_id: int) -> None:
    """Let a worker pull a window that waits. If the broker loses it, `take_up_pulls` queues it again."""
    _send("pull_window", pull_id)


def queue_estimate(pull_id: int) -> None:
    """Let a worker ask what a window costs."""
    _send("estimate_pull", pull_id)


def _send(task: str, pull_id: int) -> None:
    try:
        current_app.send_task(f"dashboard.tasks.{task}", [pull_id])
    except BrokerError as error:
        logger.warning("pull %s has to wait: the broker cannot be reached: %s", pull_id, error)
