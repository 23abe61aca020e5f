"""Begin and end the sessions of people with accounts, and say where each was begun and last used.

A session is used by the requests that a person makes. What pages ask for by themselves, to show what is new, carries
the header `Causeline-Unattended` and is no use, and neither are open WebSockets.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user, login, update_session_auth_hash
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from dashboard.access import encryption
from dashboard.access.trail import change_log
from dashboard.models import SignIn

UNATTENDED = "Causeline-Unattended"  # the header of requests that no person has asked for
PASSWORD, TOTP, OIDC = "password", "totp", "oidc"  # how a session was begun: by a password alone, with a code, …
_ONCE = timedelta(minutes=1)  # how often the time of the last use is written
_WAY, _ID_TOKEN = "causeline.way", "causeline.id_token"  # keys of the session's data
_AGENT = 200  # characters of what a browser says that it is
_BACKEND = "django.contrib.auth.backends.ModelBackend"


def begin(request: HttpRequest, user: User, way: str, id_token: str = "") -> None:
    """Sign a person in. The ID token of a provider is kept, encrypted, to sign out there; without a key it is not."""
    login(request, user, backend=_BACKEND)
    request.session[_WAY] = way
    if id_token and settings.CREDENTIALS_KEYS:
        request.session[_ID_TOKEN] = b64encode(encryption.encrypted({"id_token": id_token})).decode()
    _note(request, user)


def way_of(request: HttpRequest) -> str:
    """Return how the session was begun. Sessions that an older version began were begun by a password."""
    return str(request.session.get(_WAY, PASSWORD))


def strengthen(request: HttpRequest) -> None:
    """Note that the person has just given a code, too."""
    request.session[_WAY] = TOTP


def id_token_of(request: HttpRequest) -> str:
    """Return the ID token that the session was begun with, or "" if it is not kept or cannot be read any more."""
    kept = request.session.get(_ID_TOKEN, "")
    try:
        return encryption.decrypted(b64decode(kept))["id_token"] if kept else ""
    except encryption.Unreadable:
        return ""


def user_of(request: HttpRequest) -> Any:
    """Return the user of a request by its session, and note that the session is used. A session that has lapsed ends
    here."""
    user = get_user(request)
    key = request.session.session_key
    if not user.is_authenticated or not key:
        return user
    known = next(iter(SignIn.objects.filter(session=key).values_list("pk", "last_used")), None)
    if _is_too_weak(request.session) or (known and settings.IDLE_TIME and known[1] < _idle_since()):
        change_log.note("session ended", by=user.get_username(), why="it has lapsed")
        request.session.flush()
        return AnonymousUser()
    if known is None:
        _note(request, user)
    elif known[1] < timezone.now() - _ONCE and UNATTENDED not in request.headers:
        SignIn.objects.filter(pk=known[0]).update(last_used=timezone.now(), address=change_log.address(request))
    return user


def lapsed(sessions: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the keys of those sessions that were not used for too long, or were begun without a code where one is
    required. Sessions are given by key, with their data."""
    gone = {key for key, data in sessions.items() if _is_too_weak(data)}
    if settings.IDLE_TIME:
        unused = SignIn.objects.filter(session__in=sessions, last_used__lt=_idle_since())
        gone |= set(unused.values_list("session_id", flat=True))
    return gone


def of(user: User) -> QuerySet[SignIn]:
    """Return the sessions of a person that are still valid, the last used one first."""
    now = timezone.now()
    found = SignIn.objects.select_related("session").filter(user=user, session__expire_date__gt=now)
    if settings.IDLE_TIME:
        found = found.filter(last_used__gte=_idle_since())
    return found.order_by("-last_used", "-pk")


def end(user: User, *, only: int | None = None, besides: str | None = None) -> int:
    """End the sessions of a person, and return how many ended: one by its number, or all besides one by its key.

    Open WebSockets of these sessions close within a few seconds (see `rights.withdrawn`).
    """
    found = SignIn.objects.filter(user=user)
    if only is not None:
        found = found.filter(pk=only)
    keys = [key for key in found.values_list("session_id", flat=True) if key != besides]
    ended = Session.objects.filter(pk__in=keys).count()
    SignIn.objects.filter(session__in=keys).delete()
    Session.objects.filter(pk__in=keys).delete()
    return ended


def keep_only(request: HttpRequest, user: User) -> None:
    """Keep this session of a person whose password was just changed in it, and end all others."""
    update_session_auth_hash(request, user)  # which gives the session a new key
    _note(request, user)
    end(user, besides=request.session.session_key)


def forget() -> None:
    """Delete what is known of sessions that do not exist any more."""
    SignIn.objects.exclude(session__in=Session.objects.values("pk")).delete()


def _note(request: HttpRequest, user: Any) -> None:
    """Write where a session was begun, or first seen by this version."""
    key = request.session.session_key
    if key is None or not Session.objects.filter(pk=key).exists():
        request.session.save()  # a new session is otherwise written at the end of the request only
    made = SignIn(
        session_id=str(request.session.session_key),
        user=user,
        way=way_of(request),
        address=change_log.address(request),
        agent=request.headers.get("User-Agent", "")[:_AGENT],
        last_used=timezone.now(),
    )
    SignIn.objects.bulk_create([made], ignore_conflicts=True)  # two requests may be the first


def _is_too_weak(data: Mapping[str, Any]) -> bool:
    """Return whether a session with these data was begun without a code, where one is required."""
    return bool(settings.REQUIRE_TOTP) and data.get(_WAY, PASSWORD) == PASSWORD


def _idle_since() -> datetime:
    """Return the time since which a session has to have been used, if there is a limit."""
    now: datetime = timezone.now()
    return now - settings.IDLE_TIME
