"""This Celery task removes what sign-ins and ended processes have left."""

from importlib import import_module

from celery import shared_task
from django.conf import settings

from dashboard.access import attempts
from dashboard.metrics import processes


@shared_task
def clear_sessions() -> None:
    """Remove expired sessions, which Django leaves in the database, old failures to sign in, and old figures."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    attempts.forget()
    processes.fold()
