"""Decide which requests, WebSockets and lines of the log become records of the audit trail, and with which content."""

import re
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model

from dashboard.access.roles import needs
from dashboard.access.trail import trail
from dashboard.access.trail.trail import NOBODY, Actor
from timeline.core.numbers import whole_number

if TYPE_CHECKING:
    from django.http import HttpRequest

_OWN = {"by", "from", "at", "name", "source", "cluster", "status"}  # fields of a line that have columns of their own
_NOUNS = {"track_id": "object", "upload_id": "upload"}
_RUN = re.compile(r"\d{1,18}-\d{1,18}")
_FAILED = {"sign-in failed", "sign-in refused", "second factor failed"}
_WAITING = {"sign-in refused, too many failures", "second factor refused, too many failures"}


def of_line(action: str, about: dict[str, object], *, must: bool = False) -> None:
    """Record what a line of the log tells that belongs to no request, such as a sign-in or a command. With `must`,
    raise DatabaseError if the record cannot be written."""
    by = str(about.get("by") or "")
    failed = action in _FAILED | _WAITING
    if failed:
        actor = NOBODY
    elif about.get("at") == "command line":
        actor = Actor(by, "command")
    elif by == "start-up token":
        actor = Actor(by, "start-up token", role="admin")
    elif by:
        user = get_user_model().objects.filter(username=by).first()
        actor = trail.actor_of(user) if user else Actor(by, "account")
    else:
        actor = NOBODY
    trail.record(
        action,
        actor,
        source=whole_number(str(about.get("source"))),
        cluster=whole_number(str(about.get("cluster"))),
        name=str(about.get("name") or ""),
        address=str(about.get("from") or ""),
        outcome="refused" if failed else "done",
        details={key: value for key, value in about.items() if key not in _OWN and value not in (None, "")},
        often=action in _WAITING or (failed and not about.get("name")),  # what costs nothing to try is recorded once
        must=must,
    )


def of_request(request: "HttpRequest", status: int, who: Any, fields: dict[str, object], *, must: bool = False) -> None:
    """Record what a request did or read, if its view declares an action for it. A request that may change something is
    recorded as `change` if nothing is declared for its method.

    `who` is the user before the view, which may have ended the session; `fields` are those of the line of the log. With
    `must`, raise DatabaseError if the record cannot be written.
    """
    match = request.resolver_match
    if match is None:
        return
    safe, need = request.method in needs.SAFE, needs.of_request(request)
    action = need.action if need else None if safe else "change"
    if action is None or (safe and status not in {200, 206, 304, 403}):
        return
    arguments = match.kwargs
    source = whole_number(str(arguments.get("source_id"))) or whole_number(str(fields.get("source")))
    user = getattr(request, "user", None)
    actor = trail.actor_of(user if getattr(user, "actor", None) else who, source)
    trail.record(
        action,
        actor,
        source=source,
        cluster=whole_number(str(arguments.get("cluster_id"))) or whole_number(str(fields.get("cluster"))),
        thing="" if action == "see" else _thing(request, action, match.route, arguments),
        name=str(fields.get("name") or ""),
        address=str(request.META.get("REMOTE_ADDR") or ""),
        outcome=_outcome(status, known=actor.way != "nobody"),
        status=status,
        details={key: value for key, value in fields.items() if key not in _OWN and value not in (None, "")},
        often=safe or actor.way == "nobody" or (need is not None and need.record == "once"),
        must=must,
    )


def of_socket(scope: dict[str, Any], user: Any) -> None:
    """Record that a user, or somebody with an attribute `actor`, has opened a socket."""
    arguments = scope.get("url_route", {}).get("kwargs", {})
    source = whole_number(str(arguments.get("source_id")))
    client = scope.get("client") or ("",)
    trail.record(
        "open socket",
        trail.actor_of(user, source),
        source=source,
        thing="" if source else str(scope.get("path", "")),
        address=str(client[0]),
        often=True,
    )


def of_agent(request: "HttpRequest", actor: Actor) -> None:
    """Record that a language model asks over MCP with a token. What it reads is recorded where the API answers it."""
    trail.record("ask as an agent", actor, address=str(request.META.get("REMOTE_ADDR") or ""), often=True)


def _thing(request: "HttpRequest", action: str, route: str, arguments: dict[str, Any]) -> str:
    """Return what a request is about besides its source, such as "incident 3f2a9c01d4e5b6a7"."""
    if action == "list":
        return f"/{route}"
    if action == "compare":
        given = [f"{side} {request.GET.get(side, '')}" for side in ("bad", "good")]
        return ", ".join(each for each in given if _RUN.fullmatch(each.partition(" ")[2]))
    if identity := arguments.get("identity"):
        return f"{'incident' if '/incidents/' in route else 'finding'} {identity}"
    for name, noun in _NOUNS.items():
        if (number := arguments.get(name)) is not None:
            return f"{noun} {number}"
    number = arguments.get("number")
    return f"{action} {number}" if number is not None else ""


def _outcome(status: int, *, known: bool) -> str:
    if status in {401, 403, 429} or (status == 302 and not known):  # which leads to the page for signing in
        return "refused"
    return "done" if status < 400 else "failed"
