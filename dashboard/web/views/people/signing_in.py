"""Ask for an account, or for the start-up token if there are no accounts."""

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.http import HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from dashboard.access.roles import needs
from dashboard.access.signing_in import rights
from dashboard.access.trail import change_log
from dashboard.web.views.people.accounts import SignIn

if TYPE_CHECKING:
    from django.http import HttpRequest

_with_account = SignIn.as_view()


@needs.to_read("anybody", action=None)
@needs.to_change("anybody", action=None)
@never_cache
@sensitive_post_parameters()
def sign_in(request: "HttpRequest") -> HttpResponseBase:
    return _with_account(request) if settings.LOGIN_REQUIRED else _with_token(request)


def _with_token(request: "HttpRequest") -> HttpResponseBase:
    """Redirect to the page that was wanted, if it is a page of Causeline."""
    wanted = request.POST.get("next", request.GET.get("next", ""))
    ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    refused = "refused" in request.GET
    if request.method == "POST":
        refused = not rights.is_token(_token_in(request.POST.get("token", "")))
        change_log.note_token(request, good=not refused)
        if refused:
            return render(request, "token.html", {"next": wanted, "refused": refused}, status=403)
        rights.remember(request)
    elif not rights.admitted(request.user):
        return render(request, "token.html", {"next": wanted, "refused": refused})
    return HttpResponseRedirect(wanted if ours else "/")


def _token_in(text: str) -> str:
    """Return the token of a pasted text, which is the token or the address that contains it."""
    try:
        in_address = parse_qs(urlsplit(text.strip()).query).get("token")
    except ValueError:
        in_address = None
    return in_address[0] if in_address else text.strip()
