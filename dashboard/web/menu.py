"""List the entries of the user menu in the header of each page: what belongs to the signed-in person, and what
administrators use.

To add a page to the menu, add a line to `ENTRIES`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from dashboard.access.signing_in import people, proxied, rights
from dashboard.access.trail import change_log
from dashboard.presentation.offers import why_not


class Entry(NamedTuple):
    """A page that the menu leads to, for the people whom `offered` returns true for, as far as their roles reach to
    it."""

    heading: str  # the pages below one heading stand together
    page: str  # the name of its route
    label: str
    offered: Callable[[HttpRequest], bool]


def _always(request: HttpRequest) -> bool:
    return True


def _has_account(request: HttpRequest) -> bool:
    return bool(settings.LOGIN_REQUIRED)


def _has_password(request: HttpRequest) -> bool:
    return bool(settings.LOGIN_REQUIRED and settings.PASSWORDS) and people.is_local(cast("Any", request.user))


ENTRIES = (
    Entry("You", "sessions", "Your sessions", _has_account),
    Entry("You", "own_tokens", "Your tokens", _has_account),
    Entry("You", "password", "Password", _has_password),
    Entry("You", "second_factor", "Second factor", _has_password),
    Entry("You", "shared", "Shared links", _always),
    Entry("Administration", "access", "Access", _has_account),
    Entry("Administration", "tokens", "Access tokens", _always),
    Entry("Administration", "storage", "Storage", _always),
    Entry("Administration", "audit_trail", "Audit trail", _always),
)


def menu(request: HttpRequest) -> dict[str, Any]:
    """Return the context that `base.html` shows the menu with: who is signed in, and, below headings, the addresses and
    labels of the pages that they can open.

    Errors are shown on pages of requests that nobody has signed in for yet; those have no menu.
    """
    user = getattr(request, "user", None)
    if user is None or not rights.admitted(user):
        return {}
    offered = [each for each in ENTRIES if each.offered(request) and not why_not(user, "GET", each.page)]
    headings: dict[str, list[tuple[str, str]]] = {each.heading: [] for each in offered}
    for each in offered:
        headings[each.heading].append((reverse(each.page), each.label))
    # without a login there is nothing to sign out of, and the proxy would sign the person in again
    signs_out = user.is_authenticated and not proxied.says(getattr(request, "scope", {}))
    return {"account": {"name": change_log.who(request), "headings": headings, "signs_out": signs_out}}
