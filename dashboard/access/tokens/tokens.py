"""Check access tokens: texts that programs send instead of signing in, each for a purpose and a time.

A text is shown once, when it is made. Only its SHA-256 digest is stored: the text has 256 random bits, so nobody finds
it by trying. A token allows what its scopes name, and nothing else. While the account of whoever made a token is
deactivated, the token is refused.

Administrators make tokens for programs. A personal token has an owner, and never more rights than the owner has when it
is used.
"""

import binascii
import secrets
from base64 import b64decode
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import close_old_connections
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from dashboard.access.roles import grants, needs
from dashboard.access.signing_in import rights
from dashboard.access.trail import trail
from dashboard.access.trail.trail import NOBODY, Actor
from dashboard.models import AccessToken, Grant
from timeline.core.numbers import whole_number
from timeline.models import Cluster, Source

SCOPES = ("read", "respond", "alerts", "audit", "collect")
# The scopes of a personal token. An older version that runs beside this one must not take it for one that reads
# everything, so the first one is not called "read".
OWN, OWN_SCOPES = "own", ("own", "respond")
MEANINGS = {
    "read": "read everything that the pages show: the API, annotations, MCP",
    "respond": "read, acknowledge and silence incidents, and upload",
    "alerts": "send alerts",
    "audit": "send audit and admission events",
    "collect": "send what a collector observes of its cluster",
}
KEY = "token "  # begins the key of a listener
_READ = {"read", "respond", OWN}  # scopes that let somebody read
BEGIN = "causeline_"
USUAL_DAYS, MOST_DAYS = 90, 1826
NAME_LENGTH = 100
MOST, MOST_OWN = 500, 50  # tokens of programs, and of each person, that exist at a time
_SHOWN = len(BEGIN) + 6  # characters of a text that are stored
SOON = timedelta(days=7)  # before it expires, whoever uses or sees a token is warned
_EXPIRES = "causeline_token_expires"  # the attribute of a request
_ONCE = timedelta(minutes=1)  # how often the time of the last use is written


class TokenRefused(Exception):
    """A token cannot be made. The message is a sentence for the person who asked for it."""


def issue(
    name: str,
    scopes: Iterable[str],
    *,
    expires: datetime,
    cluster: Cluster | None = None,
    source: Source | None = None,
    owner: User | None = None,
    by: str,
) -> tuple[str, AccessToken]:
    """Make a token and return its text, which is stored nowhere, and its row. With an owner, it is a personal token.
    Raises Refused."""
    name = " ".join(name.split())
    wanted = [scope for scope in (OWN_SCOPES if owner else SCOPES) if scope in set(scopes)]
    if not name or len(name) > NAME_LENGTH or "\0" in name:
        raise TokenRefused(
            f"Give the token a name of 1 to {NAME_LENGTH} characters, such as that of the program it is for."
        )
    if not wanted:
        raise TokenRefused("Choose at least one thing that the token allows.")
    if cluster and source:
        raise TokenRefused("Limit the token to a cluster or to a recording, not to both.")
    now = timezone.now()
    if not now < expires <= now + timedelta(days=MOST_DAYS, minutes=1):
        raise TokenRefused(f"The token has to expire in 1 to {MOST_DAYS} days.")
    most = MOST_OWN if owner else MOST
    if AccessToken.objects.filter(owner=owner).count() >= most:
        raise TokenRefused(f"There are {most} tokens. Revoke those that nobody uses any more.")
    text = BEGIN + secrets.token_urlsafe(32)
    row = AccessToken.objects.create(
        name=name,
        prefix=text[:_SHOWN],
        digest=_digest(text),
        scopes=wanted,
        cluster=cluster,
        source=source,
        owner=owner,
        created_by=by,
        expires=expires,
    )
    return text, row


def life(days: str) -> timedelta:
    """Return how long a token is to be valid whose form says so many days. Raises TokenRefused."""
    found = whole_number(days, digits=5)
    if found is None:
        raise TokenRefused("Say in whole days when the token expires.")
    return timedelta(days=found)


def revoke(number: int) -> AccessToken | None:
    """Delete a token, which is refused from now on, and return what it was."""
    row = AccessToken.objects.select_related("cluster", "source", "owner").filter(pk=number).first()
    if row is not None:
        AccessToken.objects.filter(pk=number).delete()
    return row


def made_by_deactivated() -> QuerySet[AccessToken]:
    """Return the tokens that are refused because the account of whoever made them is deactivated."""
    return AccessToken.objects.filter(created_by__in=User.objects.filter(is_active=False).values("username"))


def sent(request: HttpRequest) -> str | None:
    """Return the text of the access token in the request's header; None if the header has none.

    The header is `Authorization: Bearer …`, or `Authorization: Basic …` with the text as the password.
    """
    return _text_in(request.headers.get("Authorization", ""))


def in_headers(scope: Mapping[str, Any]) -> str | None:
    """Return the text of the access token in the headers of a WebSocket; None if they have none. No page of another
    site can make a browser send this header."""
    headers: Iterable[tuple[bytes, bytes]] = scope.get("headers", ())
    return next((_text_in(value.decode("latin-1")) for name, value in headers if name == b"authorization"), None)


def _text_in(header: str) -> str | None:
    kind, _, given = header.partition(" ")
    text = given.strip()
    if kind.lower() == "basic":
        try:
            text = b64decode(text, validate=True).decode("ascii").partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return None
    elif kind.lower() != "bearer":
        return None
    return text if text.startswith(BEGIN) else None


def holder(request: HttpRequest, scope: str, given: str | None = None) -> AccessToken | None:
    """Return the token that the request carries, if it is valid and has this scope.

    `given` is a text from the path, for clients that can send no header. What the token is limited to, the caller has
    to check: see `may_read`.
    """
    text = sent(request) if given is None else given
    return None if text is None else _valid(text, scope)


@sync_to_async
def listening(text: str) -> AccessToken | None:
    """Return the token with which somebody opens a socket, if it is valid and lets its holder read."""
    close_old_connections()
    return _valid(text, "read")


def key_of(token: AccessToken) -> str:
    """Return what `listeners.withdrawn` knows a listener with a token by, and the rights that the token has now."""
    return f"{KEY}{token.pk} {held(token).fingerprint}"


@sync_to_async
def ended(keys: set[str]) -> set[str]:
    """Return the keys of those listeners whose tokens are over, or have other rights than when they came."""
    close_old_connections()
    numbers = {int(key.split()[1]) for key in keys}
    rows = AccessToken.objects.select_related("cluster", "source", "owner").filter(pk__in=numbers)
    refused = set(made_by_deactivated().filter(pk__in=numbers).values_list("pk", flat=True))
    now = timezone.now()
    valid = [row for row in rows if row.expires > now and row.pk not in refused and allows(row, "read")]
    return keys - {key_of(row) for row in valid}


def readable(token: AccessToken) -> QuerySet[Source]:
    """Return the clusters' sources and the recordings that the token reads, which are all if it is not limited."""
    shown = Source.objects.filter(ready=True)
    if token.source_id is not None:
        return shown.filter(pk=token.source_id)
    return shown if token.cluster_id is None else shown.filter(cluster=token.cluster_id)


def may_read(token: AccessToken, source_id: int) -> bool:
    """Return whether the token reads this source."""
    return not is_limited(token) or readable(token).filter(pk=source_id).exists()


def allows(token: AccessToken, scope: str) -> bool:
    """Return whether a token has a scope, of those of `SCOPES`, and an owner who may use it if it is personal."""
    if token.owner_id is not None and (token.owner is None or not token.owner.is_active):
        return False
    return bool(_READ & set(token.scopes)) if scope == "read" else scope in token.scopes


def is_limited(token: AccessToken) -> bool:
    return token.source_id is not None or token.cluster_id is not None


def limit_of(token: AccessToken) -> str:
    """Return in words what the token is limited to."""
    if token.cluster:
        return f"the cluster {token.cluster.name}"
    if token.source:
        return f"the recording {token.source.name}"
    if is_limited(token):  # the owner may not see any more what it is limited to
        return "something that cannot be seen now"
    return "all clusters and recordings"


def warn(token: AccessToken, request: HttpRequest) -> None:
    """Let the answer to a request say when its token expires, if that is soon (see `warn_in`)."""
    if token.expires - timezone.now() < SOON:
        request.__dict__[_EXPIRES] = f"{token.expires:%Y-%m-%dT%H:%M:%SZ}"


def warn_in(request: HttpRequest, response: HttpResponseBase) -> None:
    if expires := request.__dict__.get(_EXPIRES):
        response["Causeline-Token-Expires"] = expires


def answers(token: AccessToken, request: HttpRequest) -> bool:
    """Return whether the scopes of the token allow a request that changes something. Whether the roles do, is decided
    by `dashboard.access.roles.policy`, as for people."""
    need = needs.of_request(request)
    return need is not None and need.scope in token.scopes


def held(token: AccessToken) -> grants.Held:
    """Return the roles of whoever sends a token, as they are now: those of its owner, as far as the scopes and the
    limit let them."""
    role = Grant.Role.RESPONDER if "respond" in token.scopes else Grant.Role.VIEWER
    roles = grants.held_by(token.owner).capped(role) if token.owner else grants.Held(everywhere=role)
    if not is_limited(token):
        return roles
    clusters = [token.cluster_id] if token.cluster_id is not None else []
    return roles.only(list(readable(token).values_list("pk", flat=True)), clusters)


def reader_of(token: AccessToken) -> rights.Reader:
    """Return the user of a request or a socket with this token."""
    sources = readable(token) if is_limited(token) else None
    return rights.Reader(held(token), actor_of(token), sources=sources, account=token.owner)


def actor_of(token: AccessToken) -> Actor:
    """Return how the audit trail names whoever sends this token: the owner, or the program."""
    if token.owner:
        return Actor(token.owner.get_username(), "token", token.owner.pk)
    return Actor(f"{token.name} ({token.prefix}…)", "token")


def record_sender(token: AccessToken | None, what: str, address: str = "") -> None:
    """Record that a program sends what happens in a cluster, such as "audit events", with a token; None if it is not
    good."""
    trail.record(
        "send",
        actor_of(token) if token else NOBODY,
        cluster=token.cluster_id if token else None,
        thing=what,
        address=address,
        outcome="done" if token else "refused",
        often=True,
        seconds=trail.SENT_SECONDS,
    )


def described(token: AccessToken) -> dict[str, str | int]:
    """Return the fields of a token for the change log, without its text."""
    return {
        "token": token.pk,
        "name": token.name,
        "scopes": " ".join(token.scopes),
        "limit": limit_of(token),
        "expires": f"{token.expires:%Y-%m-%dT%H:%M:%SZ}",
    }


def _valid(text: str, scope: str) -> AccessToken | None:
    if not (text.startswith(BEGIN) and text.isascii() and text.isprintable()):
        return None
    now = timezone.now()
    digest = _digest(text)
    rows = AccessToken.objects.select_related("cluster", "source", "owner")
    found = [row for row in rows.filter(prefix=text[:_SHOWN]) if constant_time_compare(row.digest, digest)]
    if not found or found[0].expires <= now or not allows(found[0], scope):
        return None
    if made_by_deactivated().filter(pk=found[0].pk).exists():
        return None
    if found[0].last_used is None or found[0].last_used < now - _ONCE:
        unused = Q(last_used=None) | Q(last_used__lt=now - _ONCE)
        AccessToken.objects.filter(unused, pk=found[0].pk).update(last_used=now)
    return found[0]


def _digest(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()
