"""Decide whether somebody's role reaches to what is asked for. What each page, operation and socket needs, it declares
itself (see `dashboard.access.roles.needs`).

`check` is asked before each view, and `may_listen` before each socket. What declares nothing is refused. Whoever sees
nothing of a source or a cluster gets the answer that one who asks for a deleted one gets.
"""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.urls import ResolverMatch

from dashboard.access.roles import grants, needs
from dashboard.access.roles.grants import Held
from dashboard.access.roles.needs import Need
from dashboard.models import Grant
from timeline.core.numbers import whole_number

VIEWER, RESPONDER, EDITOR, ADMIN = Grant.Role.VIEWER, Grant.Role.RESPONDER, Grant.Role.EDITOR, Grant.Role.ADMIN
_THINGS = {"source_id": "recording or cluster", "cluster_id": "cluster"}  # by their names in routes


class NotSeen(Http404):
    """There is nothing here that the user may see."""


def check(request: HttpRequest) -> None:
    """Raise PermissionDenied, with a sentence for the person, if the user's role does not reach to the route. Raise
    NotSeen if it is about a source or a cluster that the user does not see at all."""
    _check(request.user, request.resolver_match, str(request.method))


def refusal(user: Any, match: ResolverMatch, method: str) -> str:
    """Return why `check` would refuse a request of this user with this method to where an address leads; "" if it would
    not."""
    try:
        _check(user, match, method)
    except (PermissionDenied, NotSeen) as error:
        return str(error)
    return ""


def may_listen(user: Any, need: Need | None, source: int | None = None) -> bool:
    """Return whether the user may open a socket that needs this and may be about a source. A socket tells whoever sees
    nothing of its source that there is none, so it is opened."""
    if need is None:
        return False
    try:
        _demand(grants.held_by(user), need, source, None)
    except NotSeen:
        return True
    except PermissionDenied:
        return False
    return True


def has(
    user: Any,
    role: str,
    *,
    source: int | None = None,
    cluster: int | None = None,
    namespaces: Iterable[str] | None = None,
) -> bool:
    """Return whether the user has this role, or a higher one: on all of the source or cluster, if one is given, in
    these namespaces of the source, if some are given, or else on everything. What is in no namespace has the
    namespace ""."""
    return grants.reaches(_held_on(grants.held_by(user), source, cluster, namespaces), role)


def demand(
    user: Any,
    role: str,
    *,
    source: int | None = None,
    cluster: int | None = None,
    namespaces: Iterable[str] | None = None,
) -> None:
    """Raise PermissionDenied, with a sentence for the person, if the user has not this role (see `has`)."""
    held = _held_on(grants.held_by(user), source, cluster, namespaces)
    if not grants.reaches(held, role):
        thing = "everything" if source is None and cluster is None else "what this is about"
        raise _refusal(role, thing, held)


def _check(user: Any, match: ResolverMatch | None, method: str) -> None:
    need = needs.of(match, method)
    if match is None or need is None:
        raise PermissionDenied("No role is said to reach to this address, so nobody may use it.")
    if need.role not in ("anybody", "signed in"):
        numbers = {name: number(match.kwargs[name]) for name in _THINGS if name in match.kwargs}
        _demand(grants.held_by(user), need, numbers.get("source_id"), numbers.get("cluster_id"))


def _held_on(held: Held, source: int | None, cluster: int | None, namespaces: Iterable[str] | None) -> str:
    if source is not None:
        return held.on_source(source) if namespaces is None else held.in_namespaces(source, namespaces)
    return held.everywhere if cluster is None else held.on_cluster(cluster)


def _demand(held: Held, need: Need, source: int | None, cluster: int | None) -> None:
    """Raise PermissionDenied or NotSeen if the roles do not reach to what is needed on the thing that a path names."""
    if not held.anywhere:
        raise _refusal(need.role, "", "")
    if source is not None:
        part, whole, thing = held.on_part(source), held.on_source(source), _THINGS["source_id"]
    elif cluster is not None:
        part, whole, thing = held.on_part_of_cluster(cluster), held.on_cluster(cluster), _THINGS["cluster_id"]
    else:
        part, whole, thing = held.anywhere, held.everywhere, ""
    if not part:
        raise NotSeen("There is no such recording or cluster.")
    had = {"part": part, "whole": whole, "everything": held.everywhere}[need.on]
    if not grants.reaches(had, need.role):
        raise _refusal(need.role, _where(need, thing, partly=had != part), had)


def _where(need: Need, thing: str, *, partly: bool) -> str:
    """Return in words what a role is needed on; "" for anything."""
    if not thing or need.on == "everything":
        return "" if need.on == "part" else "everything"
    return f"all of this {thing}" if partly else f"this {thing}"


def _refusal(role: str, on: str, had: str) -> PermissionDenied:
    """Return a refusal that names the role which is needed, the role which somebody has, and who can give it."""
    where = f" on {on}" if on else ""
    yours = f"your role is {had}" if had else f"you have no role{where or ' yet'}"
    return PermissionDenied(f"This needs the role {role}{where}; {yours}. Administrators of this Causeline give roles.")


def number(given: object) -> int:
    """Return the number of a source or a cluster in a path; -1, which none has, for what is no number."""
    found = whole_number(str(given))
    return -1 if found is None else found
