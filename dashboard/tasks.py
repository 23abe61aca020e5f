"""Celery tasks: what is left over of people's coming and going is removed."""

from importlib import import_module

from celery import shared_task
from django.conf import settings

from dashboard.access import attempts


@shared_task
def clear_sessions() -> None:
    """Remove sessions that have run out, which Django leaves in the database, and failures to sign in of long ago."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    attempts.forget()
