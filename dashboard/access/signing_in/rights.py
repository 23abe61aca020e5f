"""Decide who is let in, who is an administrator, and whose open sockets have to be closed.

`CAUSELINE_LOGIN` selects one of three ways. People sign in with accounts; or, without accounts, whoever has the
start-up token is let in and is an administrator; or everybody is.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote_plus

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user, get_user_model
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.db import close_old_connections
from django.db.models import QuerySet
from django.http import HttpRequest
from django.middleware.csrf import rotate_token
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from dashboard import environment
from dashboard.access.roles import grants, policy
from dashboard.access.signing_in import proxied, sessions
from timeline.models import Source

_GIVEN = "causeline.token"  # the key of the ASGI scope
VIEW = "causeline.view"  # the same for share links (see `dashboard.access.tokens.links`)
_IN_ADDRESSES = {"token": _GIVEN, "view_token": VIEW}
_SESSION = "start-up token"  # the key of the session
_PERSON = "person "  # begins the key of a listener without a session


class TokenHolder(AnonymousUser):
    """The user with the start-up token, who has no row in the database and no name."""

    held = grants.ALL
    is_active: Any = True
    is_authenticated: Any = True
    is_anonymous: Any = False


class Reader(AnonymousUser):
    """The user of a request with an access token or a share link.

    `held` are its roles. `sources` are those that lists over all sources keep to; None for all. `actor` is who the
    audit trail names (see `trail.Actor`), and `account` is whose token it is.
    """

    def __init__(
        self, held: grants.Held, actor: Any = None, *, sources: QuerySet[Source] | None = None, account: Any = None
    ) -> None:
        self.held = held
        self.actor = actor
        self.sources = sources
        self.pk = self.id = account.pk if account is not None else None

    is_active: Any = True
    is_authenticated: Any = True
    is_anonymous: Any = False

    def get_username(self) -> str:
        """Return the name under which what is done is noted."""
        return self.actor.who if self.actor is not None else ""


def sign_in_required() -> bool:
    """Return whether users have to prove who they are."""
    return bool(settings.LOGIN_REQUIRED or settings.TOKEN_REQUIRED)


def admitted(user: Any) -> bool:
    """Return whether the user is let in."""
    return not sign_in_required() or bool(user and user.is_authenticated)


def may_change(user: Any, owner: int | None) -> bool:
    """Return whether the user may continue or cancel an upload, or the pull of a window, that this owner has begun.
    Only administrators may if nobody owns it, because that was before owners were stored, or because the account of the
    owner was deleted."""
    return is_admin(user) or (owner is not None and user.pk == owner)


def may_edit(user: Any, source: int) -> bool:
    """Return whether the user may rename, delete and restore a recording, as the editors of it may. Whoever has
    uploaded it is one of them."""
    return policy.has(user, policy.EDITOR, source=source)


def may_embed(user: Any, source: int) -> bool:
    """Return whether the user may let pages of other sites show a source, to people who do not sign in."""
    return bool(settings.EMBED_ANCESTORS) and may_edit(user, source)


def may_share(user: Any, source: int) -> bool:
    """Return whether the user may make links with which people without an account read a source. Where nobody signs in,
    there is no need for links."""
    may = policy.has(user, policy.RESPONDER, source=source)
    return settings.SHARE_LINKS != "off" and sign_in_required() and may


def readable(request: HttpRequest) -> QuerySet[Source] | None:
    """Return the sources that a program with a limited token may read; None for everybody else, who may read all."""
    return request.user.sources if isinstance(request.user, Reader) else None


def is_editor(user: Any) -> bool:
    """Return whether the user may connect clusters, and edit routes and destinations."""
    return policy.has(user, policy.EDITOR)


def is_admin(user: Any) -> bool:
    """Return whether the user is an administrator. Without accounts, everybody who is let in is one."""
    return policy.has(user, policy.ADMIN)


def user_of(request: HttpRequest) -> Any:
    """Return the user of a request that has its session. Without accounts, the session of an account is ignored."""
    if settings.LOGIN_REQUIRED:
        scope = getattr(request, "scope", {})
        return proxied.user_of(scope) if proxied.says(scope) else sessions.user_of(request)
    if not settings.TOKEN_REQUIRED:
        return get_user(request)
    return TokenHolder() if by_script(request) or _remembers(request.session) else AnonymousUser()


def how_to_sign_in() -> str:
    """Return the sentence of the API's answer to a client that is not signed in."""
    if settings.TOKEN_REQUIRED:
        return (
            "Load the page again to sign in; a script sends the header Authorization: Bearer with the start-up token."
        )
    return "Load the page again to sign in; a program sends the header Authorization: Bearer with an access token."


@cache
def token() -> str:
    """Return the start-up token, as it was when this process started."""
    return environment.token(settings.DATA_DIR)


def is_token(text: str) -> bool:
    return bool(settings.TOKEN_REQUIRED) and constant_time_compare(text, token())


def by_script(request: HttpRequest) -> bool:
    """Return whether the request has the token in a header, which no page of another site can make a browser send."""
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    return kind.lower() == "bearer" and is_token(given.strip())


def remember(request: HttpRequest) -> None:
    """Sign in the session of this request. Its key changes, so that an attacker who set the old key does not gain the
    session."""
    request.session.cycle_key()
    request.session[_SESSION] = _fingerprint()
    rotate_token(request)


def _remembers(session: Mapping[str, Any]) -> bool:
    """Return whether the session was started with the current token."""
    return constant_time_compare(session.get(_SESSION, ""), _fingerprint())


def _fingerprint() -> str:
    return salted_hmac("dashboard.guard.start-up token", token(), algorithm="sha256").hexdigest()


def take_token(scope: dict[str, Any]) -> None:
    """Move tokens out of the address of a request, before anything can log them or show them in an error."""
    left = []
    for each in scope.get("query_string", b"").split(b"&"):
        before, separator, last = each.rpartition(b";")  # such as `&amp;token=…`, if the address was copied from HTML
        name, _, value = last.decode("latin-1").partition("=")
        if key := _IN_ADDRESSES.get(unquote_plus(name).strip().lower()):
            scope[key] = unquote_plus(value)
            left += [before] if separator else []
        else:
            left.append(each)
    if scope.keys() & set(_IN_ADDRESSES.values()):
        scope["query_string"] = b"&".join(left)


def given_token(request: HttpRequest) -> str | None:
    """Return the token that was in the address, or None."""
    given: str | None = getattr(request, "scope", {}).get(_GIVEN)
    return given


@sync_to_async
def listener_admitted(scope: Mapping[str, Any]) -> bool:
    """Return whether the user who opens a socket may listen."""
    if settings.TOKEN_REQUIRED:
        close_old_connections()
        return _remembers(scope["session"])
    if proxied.says(scope):
        close_old_connections()
        return admitted(proxied.user_of(scope))
    if not admitted(scope.get("user")):
        return False
    session = scope["session"]
    return not settings.LOGIN_REQUIRED or not sessions.lapsed({str(session.session_key): session})


def listening(scope: Mapping[str, Any]) -> Any:
    """Return the user who opens a socket that `listener_admitted` has admitted."""
    if settings.TOKEN_REQUIRED:
        return TokenHolder()
    return proxied.user_of(scope) if proxied.says(scope) else scope.get("user")


@sync_to_async
def listener_of(scope: Mapping[str, Any]) -> str:
    """Return what `withdrawn` knows the listener by: the key of the session, or the person whom a proxy names."""
    if proxied.says(scope):
        close_old_connections()
        return f"{_PERSON}{proxied.user_of(scope).pk}"
    return getattr(scope.get("session"), "session_key", None) or ""


@sync_to_async
def withdrawn(keys: Iterable[str]) -> set[str]:
    """Return the keys (see `listener_of`) of the sessions that are no longer valid. Such a session is signed out or has
    expired, or its token was replaced, or its user may not sign in any more or has changed the password."""
    close_old_connections()
    wanted = set(keys)
    if not sign_in_required() or not wanted:
        return set()
    people = {key.removeprefix(_PERSON): key for key in wanted if key.startswith(_PERSON)}
    active = get_user_model().objects.filter(pk__in=people, is_active=True).values_list("pk", flat=True)
    dismissed = {people[each] for each in people.keys() - {str(pk) for pk in active}}
    wanted -= set(people.values())
    held = Session.objects.filter(session_key__in=wanted, expire_date__gt=timezone.now())
    sessions_data = {session.session_key: session.get_decoded() for session in held}
    if settings.TOKEN_REQUIRED:
        return dismissed | {key for key in wanted if not _remembers(sessions_data.get(key, {}))}
    users = get_user_model().objects.in_bulk(
        {data[SESSION_KEY] for data in sessions_data.values() if SESSION_KEY in data}
    )
    by_text = {str(key): user for key, user in users.items()}
    gone = {key for key in wanted if not _holds(sessions_data.get(key, {}), by_text)}
    return dismissed | gone | sessions.lapsed(sessions_data)


def _holds(data: dict[str, Any], users: dict[str, Any]) -> bool:
    user = users.get(str(data.get(SESSION_KEY)))
    if user is None or not user.is_active:
        return False
    return constant_time_compare(data.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
