"""List the entries of the menu of the signed-in person in the header of each page.

To add a page to the menu, add a line to `ENTRIES`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from dashboard.access.signing_in import people, proxied
from dashboard.access.trail import change_log
from dashboard.presentation.offers import why_not


class Entry(NamedTuple):
    """A page that the menu leads to, for the people whom `offered` returns true for, as far as their roles reach to
    it."""

    page: str  # the name of its route
    label: str
    offered: Callable[[HttpRequest], bool]


def _has_account(request: HttpRequest) -> bool:
    return bool(settings.LOGIN_REQUIRED)


def _has_password(request: HttpRequest) -> bool:
    return bool(settings.LOGIN_REQUIRED and settings.PASSWORDS) and people.is_local(cast("Any", request.user))


ENTRIES = (
    Entry("sessions", "Your sessions", _has_account),
    Entry("own_tokens", "Your tokens", _has_account),
    Entry("shared", "Shared links", _has_account),
    Entry("password", "Password", _has_password),
    Entry("second_factor", "Second factor", _has_password),
    Entry("access", "Access", _has_account),
    Entry("audit_trail", "Audit trail", _has_account),
)


def menu(request: HttpRequest) -> dict[str, Any]:
    """Return the context that `base.html` shows the menu with: who is signed in, and the pages that they can open.

    Errors are shown on pages of requests that nobody has signed in for yet; those have no menu.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    offered = [
        (reverse(each.page), each.label)
        for each in ENTRIES
        if each.offered(request) and not why_not(user, "GET", each.page)
    ]
    signs_out = not proxied.says(getattr(request, "scope", {}))  # the proxy would sign the person in again
    return {"account": {"name": change_log.who(request), "pages": offered, "signs_out": signs_out}}
