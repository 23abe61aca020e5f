"""Send people to the identity provider and take them back, and sign them out."""

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.http import Http404
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from dashboard.access.roles import needs
from dashboard.access.signing_in import oidc, sessions

if TYPE_CHECKING:
    from typing import Any

    from django.http import HttpRequest, HttpResponse, HttpResponseBase


@needs.to_read("anybody", action=None)
@never_cache
def go_to_provider(request: "HttpRequest") -> "HttpResponseBase":
    """Send the browser to the provider, which sends it back to `come_from_provider`.

    This is a link and no form, because browsers apply `form-action` of the policy to where a form's answer leads.
    """
    if not oidc.configured():
        raise Http404("Nobody signs in here with an identity provider: CAUSELINE_OIDC_ISSUER is not set.")
    wanted = request.GET.get("next", "")
    ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return oidc.begin(request, wanted if ours else "/")


@needs.to_read("anybody", action=None)
@never_cache
def come_from_provider(request: "HttpRequest") -> "HttpResponseBase":
    if not oidc.configured():
        raise Http404("Nobody signs in here with an identity provider: CAUSELINE_OIDC_ISSUER is not set.")
    answer: HttpResponseBase = oidc.complete(request)
    return answer


class SignOut(LogoutView):
    """End the session, and lead to the provider's page that ends the session there, too, if it has one."""

    def post(self, request: "HttpRequest", *arguments: "Any", **options: "Any") -> "HttpResponse":
        there = ""
        if oidc.configured() and request.user.is_authenticated and sessions.way_of(request) == sessions.OIDC:
            there = oidc.way_out(request, sessions.id_token_of(request))
        answer = super().post(request, *arguments, **options)
        if not there:
            return answer
        page = render(request, "signed_out.html", {"there": there, "provider": settings.OIDC_NAME})
        page["Refresh"] = f"0; url={there}"
        return page


_signing_out = SignOut.as_view()


@needs.to_change("signed in", action=None)
def sign_out(request: "HttpRequest") -> "HttpResponseBase":
    return _signing_out(request)
