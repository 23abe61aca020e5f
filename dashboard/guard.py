"""Who may still listen: sockets stay open for hours, and rights are withdrawn meanwhile."""

from collections.abc import Iterable
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.sessions.models import Session
from django.db import close_old_connections
from django.utils import timezone
from django.utils.crypto import constant_time_compare


def admitted(user: Any) -> bool:
    """Whether somebody may listen at all."""
    return not settings.LOGIN_REQUIRED or bool(user and user.is_authenticated)


def is_admin(user: Any) -> bool:
    """Whether somebody administers this instance: staff, or whoever is admitted where there are no accounts."""
    return bool(user and user.is_staff) if settings.LOGIN_REQUIRED else admitted(user)


@sync_to_async
def withdrawn(sessions: Iterable[str]) -> set[str]:
    """Keys of those sessions that are no longer anybody's: signed out, run out, or of a user who may not sign in or has
    another password now."""
    close_old_connections()
    wanted = set(sessions)
    if not settings.LOGIN_REQUIRED or not wanted:
        return set()
    held = Session.objects.filter(session_key__in=wanted, expire_date__gt=timezone.now())
    told = {session.session_key: session.get_decoded() for session in held}
    users = get_user_model().objects.in_bulk({data[SESSION_KEY] for data in told.values() if SESSION_KEY in data})
    by_text = {str(key): user for key, user in users.items()}
    return {key for key in wanted if not _holds(told.get(key, {}), by_text)}


def _holds(data: dict[str, Any], users: dict[str, Any]) -> bool:
    user = users.get(str(data.get(SESSION_KEY)))
    if user is None or not user.is_active:
        return False
    return constant_time_compare(data.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
