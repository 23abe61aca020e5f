"""Declare on each page, operation of the API and socket who may use it, and what the audit trail records of it.

Roles contain each other: a viewer sees, a responder also acknowledges, silences and uploads, an editor also connects
clusters and edits routes, and an administrator can do everything. `dashboard.access.roles.policy` decides by what is
declared, and refuses whatever declares nothing. Some views ask for more, where it depends on the row that is changed:
who has sent an upload may continue it, for example.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

from django.http import HttpRequest
from django.urls import ResolverMatch

from dashboard.models import ShareLink

Least = Literal["anybody", "signed in", "viewer", "responder", "editor", "admin"]
On = Literal["part", "whole", "everything"]
Record = Literal["each", "once", "refused"]
_View = TypeVar("_View", bound=Callable[..., Any])
SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # methods of requests that change nothing
TIMELINES = (ShareLink.Kind.TIMELINE, ShareLink.Kind.EMBEDDED)  # the kinds of share links that open a timeline
_DECLARED = "causeline_needs"  # the attribute of a view that holds what each method needs
_OPERATIONS = "causeline_operations"  # the attribute of the views of the API
_LOGIN = "login_required"  # the attribute that Django's LoginRequiredMiddleware reads


class Need(NamedTuple):
    """What somebody needs to send a request, and what is recorded of it."""

    role: Least  # "anybody" needs not even be signed in, and whoever is "signed in" needs no role
    # What the role has to be on: any "part" of the source or cluster that the path names, and the database leaves out
    # the rest; the "whole" of it; or "everything". If the path names neither, a part is anything, and the whole is
    # everything.
    on: On = "part"
    changes: bool = False
    action: str | None = None  # one of `trail.actions.ACTIONS`; None if nothing is recorded, or by the view itself
    record: Record = "each"  # of what changes something: each request, one of many alike, or only what was refused
    scope: str = ""  # of access tokens that may change something so; "" if none may
    links: tuple[str, ...] = ()  # the kinds of share links with which this is read
    limited: bool = False  # whether a limited token may ask although the path names no source; the view keeps its limit


def to_read(
    role: Least,
    on: On = "part",
    *,
    action: str | None,
    posted: bool = False,
    links: tuple[str, ...] = (),
    limited: bool = False,
) -> Callable[[_View], _View]:
    """Declare what a page, or an operation of the API that changes nothing, needs (see `Need`).

    With `posted`, the page is also asked for with a form.
    """
    need = Need(role, on, action=action, links=links, limited=limited)
    return lambda view: _declare(view, ("GET", "HEAD", "POST") if posted else ("GET", "HEAD"), need)


def to_change(
    role: Least, on: On = "part", *, action: str | None, record: Record = "each", scope: str = ""
) -> Callable[[_View], _View]:
    """Declare what the forms of a page, or an operation of the API that changes something, need (see `Need`)."""
    need = Need(role, on, changes=True, action=action, record=record, scope=scope)
    return lambda view: _declare(view, ("POST",), need)


def _declare(view: _View, methods: Iterable[str], need: Need) -> _View:
    # A new dictionary each time: decorators that wrap a view share the one of the view.
    declared = {**view.__dict__.get(_DECLARED, {}), **dict.fromkeys(methods, need)}
    signed_in = any(each.role != "anybody" for each in declared.values())
    view.__dict__.update({_DECLARED: declared, _LOGIN: signed_in})
    return view


def gather(view: Callable[..., Any], operations: Mapping[str, Callable[..., Any]]) -> None:
    """Give the view of one address of the API what its operations, by their methods, declare."""
    declared = {}
    for method, operation in operations.items():
        if need := operation.__dict__.get(_DECLARED, {}).get("GET" if method in SAFE else "POST"):
            declared[method] = need
    view.__dict__.update({_DECLARED: declared, _OPERATIONS: True, _LOGIN: False})


def declared(match: ResolverMatch | None) -> Mapping[str, Need]:
    """Return what the view that an address leads to needs, by the methods that it answers; nothing if it declares
    nothing."""
    found: Mapping[str, Need] = getattr(match.func, _DECLARED, {}) if match else {}
    return found


def of(match: ResolverMatch | None, method: str) -> Need | None:
    """Return what a request to where an address leads needs; None if that is not declared."""
    return declared(match).get("GET" if method in SAFE else method)


def of_request(request: HttpRequest) -> Need | None:
    """Return what a request needs; None if its view does not declare that."""
    return of(request.resolver_match, str(request.method))


def is_operation(match: ResolverMatch | None) -> bool:
    """Return whether an address leads to an operation of the API, which lets in whom it wants by itself."""
    return match is not None and hasattr(match.func, _OPERATIONS)
