"""The Celery tasks of the dashboard: they send incidents on, pull audit logs and remove what is old."""

from importlib import import_module
from threading import BoundedSemaphore, Lock

from celery import shared_task
from django.conf import settings

from collectors import tasks
from collectors.uploads import pulls
from dashboard.access import log_stores
from dashboard.access.signing_in import attempts, sessions
from dashboard.access.trail import trail
from dashboard.alerting import notifying, sending
from dashboard.metrics import processes

_ASK_AGAIN = 2.0  # seconds
_asking = BoundedSemaphore(2)  # threads of each process that ask log stores, which may answer slowly, at once
_sending = Lock()  # one task of each process sends; it serves several destinations at once


@shared_task
def clear_sessions() -> None:
    """Remove expired sessions, which Django leaves in the database, and old rows: failures to sign in, figures,
    deliveries and records of the audit trail."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    sessions.forget()
    attempts.forget()
    processes.fold()
    sending.forget()
    notifying.forget()
    trail.forget()


@shared_task
def notify() -> None:
    """Ask the routes what to send of incidents. Celery beat calls it every few seconds."""
    if notifying.notify():
        sending.nudge()


@shared_task
def deliver() -> None:
    """Send the deliveries that are due, unless this process is already sending."""
    if _sending.acquire(blocking=False):
        try:
            sending.deliver()
        finally:
            _sending.release()


@shared_task
def estimate_pull(pull_id: int) -> None:
    """Ask a log store what a window costs, or later, if others are being asked."""
    if not _asking.acquire(blocking=False):
        estimate_pull.apply_async([pull_id], countdown=_ASK_AGAIN)
        return
    try:
        pulls.estimate(pull_id, log_stores.check)
    finally:
        _asking.release()


@shared_task
def pull_window(pull_id: int) -> None:
    """Pull a window that waits, and queue its import."""
    pulls.run(pull_id, log_stores.check, tasks.queue)


@shared_task
def take_up_pulls() -> None:
    """Queue pulls again that no worker has, since it was killed or the broker lost the message."""
    pulls.take_up(log_stores.queue, log_stores.queue_estimate)


@shared_task
def pull_continuously() -> None:
    """Begin the next windows of clusters whose audit log is pulled continuously."""
    pulls.follow_on(log_stores.queue)
