"""Make and check share links: texts that let whoever has them read one timeline or one incident.

Three kinds are stored in the same table: a timeline, the page of an incident, and a timeline that is embedded in a page
of another site. Only the digest of a text is stored. A link lives while its maker may share its source, which is asked
at each use, until it expires or somebody revokes it.

The address of a page has the text as a parameter, which `rights.take_token` takes out before anything can log it. The
page then sends it with its own requests: as a header, and in the addresses of its WebSockets.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import close_old_connections
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from dashboard.access.roles import grants, needs
from dashboard.access.signing_in import rights
from dashboard.access.tokens import embedding
from dashboard.access.trail.trail import Actor
from dashboard.models import Grant, ShareLink
from timeline.models import Source
from timeline.storage.permitted.limits import Permitted

PARAMETER, HEADER = "view_token", "Causeline-View"
RENEWAL = "Causeline-Renewal"  # the header of requests of a page that renews itself, which are no use of a link
BEGIN = "causeline_link_"
LONGEST_EMBEDDED = timedelta(days=90)
QUERY_LENGTH = 2000  # characters
MOST = 500  # links that one person has at a time
TIMELINE, INCIDENT, EMBEDDED = ShareLink.Kind.TIMELINE, ShareLink.Kind.INCIDENT, ShareLink.Kind.EMBEDDED
_SHOWN = len(BEGIN) + 6  # characters of a text that are stored
_KEPT = timedelta(days=30)  # how long links that have expired stay in the list
KEY = "link "  # begins the key of a listener
_PEOPLES = {"acknowledged", "silenced"}  # fields that may hold what a person wrote
_WRITTEN = {"by": "", "note": "", "reason": "", "silence": None}
_NOTHING: dict[str, Any] = {"receiver": "", "link": "", "error": "", "revision_url": "", "texts": []}
_PATH = re.compile(r"\.{0,2}[/\\]|[A-Za-z]:[/\\]|~")
_OPENED = "causeline_link"  # the attribute of a request that holds what its link allows


class LinkRefused(Exception):
    """A link cannot be made. The message is a sentence for the person who asked for it."""


class Opened(NamedTuple):
    """What a link allows: to read a timeline, or one incident, of `source` until `until`."""

    kind: str
    source: int  # Source.id
    incident: str  # Incident.identity; "" for a timeline
    query: str  # with which a timeline opens
    until: datetime
    by: str  # the name of whoever made it
    number: int | None  # ShareLink.id; None for a signed view of an older version

    @property
    def seen(self) -> Permitted:
        return Permitted(whole=frozenset([self.source]))


def issue(
    kind: str, source: Source, maker: Any, by: str, *, expires: datetime, incident: str = "", query: str = ""
) -> tuple[str, ShareLink]:
    """Make a link and return its text, which is stored nowhere, and its row. `by` is the name of `maker`, the user.
    Whether the maker may share the source, the caller has to check. Raises Refused."""
    now = timezone.now()
    account = maker if isinstance(maker, User) else None
    ShareLink.objects.filter(maker=account, expires__lt=now - _KEPT).delete()
    if ShareLink.objects.filter(maker=account).count() >= MOST:
        raise LinkRefused(f"You have {MOST} links. Revoke those that nobody uses any more, on the page Shared links.")
    text = BEGIN + token_urlsafe(32)
    row = ShareLink.objects.create(
        kind=kind,
        source=source,
        incident=incident,
        query=query.removeprefix("?"),
        prefix=text[:_SHOWN],
        digest=_digest(text),
        maker=account,
        created_by=by,
        expires=expires,
    )
    return text, row


def listed(user: Any, *, everybody: bool) -> QuerySet[ShareLink]:
    """Return the links that a user has made, or those of everybody, the newest first."""
    rows = ShareLink.objects.select_related("maker", "source").order_by("-pk")
    return rows if everybody else rows.filter(maker=user if isinstance(user, User) else None)


def expiry(row: ShareLink) -> datetime:
    """Return when a link expires: also when the setting of the longest time has become shorter since it was made."""
    if row.kind == EMBEDDED:
        return row.expires
    return min(row.expires, row.created + timedelta(days=settings.SHARE_DAYS))


def opened(text: str, reader: Any) -> Opened | None:
    """Return what a text allows to whoever sends it; None if it is not valid any more, or never was.

    `reader` is the user who sends it, or nobody who is signed in.
    """
    if not text.startswith(BEGIN):
        view = embedding.checked(text)
        until = datetime.fromtimestamp(view.until, tz=timezone.get_default_timezone()) if view else None
        return Opened(EMBEDDED, view.source, "", view.query, until, "", None) if view and until else None
    row = ShareLink.objects.select_related("maker", "source").filter(digest=_digest(text)).first()
    if row is None or not lives(row):
        return None
    link = Opened(row.kind, row.source_id, row.incident, row.query, expiry(row), row.created_by, row.pk)
    return link if reader.is_authenticated or not needs_session(link) else None


def lives(row: ShareLink) -> bool:
    """Return whether a link is not over: it has not expired, and whoever made it may still share its source."""
    if expiry(row) <= timezone.now() or not row.source.ready or row.source.delete_after is not None:
        return False
    maker: Any = row.maker if settings.LOGIN_REQUIRED else rights.TokenHolder()
    if maker is None or not maker.is_active:
        return False
    if row.kind == EMBEDDED:
        return rights.may_embed(maker, row.source_id)
    return rights.may_share(maker, row.source_id)


def in_address(scope: Mapping[str, Any]) -> str | None:
    """Return the text that was in the address of a request or a WebSocket."""
    text: str | None = scope.get(rights.VIEW)
    return text


def sent(request: HttpRequest) -> str | None:
    """Return the text that the scripts of a shared page send with a request; None if they send none."""
    return request.headers.get(HEADER)


def opens_page(request: HttpRequest) -> bool:
    """Return whether the request asks, with a text in its address, for a page of the sort that links open."""
    need = needs.of_request(request)
    asked = need and need.links and not needs.is_operation(request.resolver_match)
    return bool(asked) and request.method in {"GET", "HEAD"} and in_address(getattr(request, "scope", {})) is not None


def open_page(request: HttpRequest) -> Opened | None:
    """Return what the text in the address of a page allows, if it is this page; None otherwise. Count the use."""
    link = opened(in_address(getattr(request, "scope", {})) or "", request.user)
    match = request.resolver_match
    need = needs.of_request(request)
    if link is None or match is None or need is None or link.kind not in need.links:
        return None
    framed = link.kind != EMBEDDED or request.GET.get("embed") == "1"
    if not framed or (link.source, link.incident) != (match.kwargs["source_id"], match.kwargs.get("identity", "")):
        return None
    if request.method == "GET" and link.number is not None and RENEWAL not in request.headers:
        ShareLink.objects.filter(pk=link.number).update(used=F("used") + 1, last_used=timezone.now())
    use(request, link)
    return link


def use(request: HttpRequest, link: Opened) -> None:
    """Answer a request with what a link allows."""
    request.__dict__[_OPENED] = link


def of_request(request: HttpRequest) -> Opened | None:
    """Return what the link allows with which a page was opened, or with which its scripts ask; None without one."""
    link: Opened | None = request.__dict__.get(_OPENED)
    return link


def public(payload: Any) -> Any:
    """Return a payload without what links do not show: who has acknowledged or silenced something and why, the access
    tokens and addresses of other programs, why a cluster cannot be reached, and the folders of files."""
    if isinstance(payload, dict):
        shown = {name: _public(name, value) for name, value in payload.items()}
        is_path = "log" in shown and _PATH.match(str(shown.get("name")))  # else it names a Pod and its container
        return {**shown, "name": _file(shown["name"])} if is_path else shown
    if isinstance(payload, list) and payload and isinstance(payload[0], dict | list):
        return [public(each) for each in payload]
    return payload


def _public(name: str, value: Any) -> Any:
    if name in _PEOPLES and isinstance(value, dict):
        return {**value, **{key: nothing for key, nothing in _WRITTEN.items() if key in value}}
    if name == "file":
        return _file(value)
    return _NOTHING[name] if name in _NOTHING else public(value)


def _file(name: Any) -> Any:
    """Return the name of a file without its folders, which may be those of the machine that imported it."""
    return name.replace("\\", "/").rpartition("/")[2] if isinstance(name, str) else name


def may_ask(request: HttpRequest, link: Opened) -> bool:
    """Return whether the scripts of a page that the link opens ask the API for this."""
    match, need = request.resolver_match, needs.of_request(request)
    if match is None or need is None or link.kind not in need.links or request.method not in {"GET", "HEAD"}:
        return False
    return bool(match.kwargs.get("source_id") == str(link.source))


def actor_of(link: Opened, reader: Any) -> Actor:
    """Return how the audit trail names whoever uses a link: with the name, if the person is signed in."""
    way = "view" if link.kind == EMBEDDED else "link"
    if not isinstance(reader, User):
        return Actor("", way)
    return Actor(reader.get_username(), way, reader.pk)


def reader_of(link: Opened, reader: Any) -> rights.Reader:
    """Return a user who may read the source of a share link, for a request or a socket that was sent with the link."""
    held = grants.Held(sources={link.source: Grant.Role.VIEWER})
    return rights.Reader(held, actor_of(link, reader), sources=Source.objects.filter(pk=link.source, ready=True))


def frameable(answer: HttpResponseBase, *, embedded: bool) -> None:
    """Let nobody keep, pass on or index the address of a page with a link. If it is embedded, let pages of the origins
    that an operator names show it in a frame."""
    answer["Referrer-Policy"] = "no-referrer"
    answer["Cache-Control"] = "no-store"
    answer["X-Robots-Tag"] = "noindex, nofollow"
    if embedded and settings.EMBED_ANCESTORS:
        answer.__dict__["_csp_replace"] = {"frame-ancestors": settings.EMBED_ANCESTORS}
        answer.__dict__["xframe_options_exempt"] = True  # it cannot name several origins; frame-ancestors does


def needs_session(link: Opened) -> bool:
    """Return whether only people who are signed in may open a link."""
    return link.kind != EMBEDDED and settings.SHARE_LINKS != "anybody"


def key_of(link: Opened) -> str:
    """Return what `listeners.withdrawn` knows the listener of a link by."""
    return f"{KEY}{link.number}"


@sync_to_async
def ended(keys: set[str]) -> set[str]:
    """Return the keys of those listeners whose links are over."""
    close_old_connections()
    numbers = {int(key.removeprefix(KEY)) for key in keys}
    rows = ShareLink.objects.select_related("maker", "source").filter(pk__in=numbers)
    return keys - {f"{KEY}{row.pk}" for row in rows if lives(row)}


def described(row: ShareLink) -> dict[str, str | int]:
    """Return the fields of a link for the change log, without its text."""
    return {"link": row.pk, "shared": row.kind, "expires": f"{row.expires:%Y-%m-%dT%H:%M:%SZ}"}


def _digest(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()
