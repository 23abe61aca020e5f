"""Let people in: with the start-up token, with an account, or without a login."""

from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.functional import SimpleLazyObject
from django.utils.http import escape_leading_slashes

from dashboard.access.roles import needs, policy
from dashboard.access.signing_in import rights
from dashboard.access.tokens import links, tokens
from dashboard.access.trail import change_log

if TYPE_CHECKING:
    from django.http import HttpRequest


class SignInMiddleware(LoginRequiredMiddleware):
    """Turn a token in the address into a session, and redirect to the same address without the token."""

    def process_request(self, request: "HttpRequest") -> HttpResponse | None:
        given = rights.given_token(request)
        if given is not None and request.method in {"GET", "HEAD"}:
            return self._without_token(request, given)
        if settings.TOKEN_REQUIRED:
            request.user = rights.user_of(request)
        elif settings.LOGIN_REQUIRED:
            request.user = cast("Any", SimpleLazyObject(partial(rights.user_of, request)))
        return None

    def process_view(
        self, request: "HttpRequest", view_func: Any, view_args: tuple[Any, ...], view_kwargs: dict[str, Any]
    ) -> Any:
        """Let in whom the page declares to let in. The API, which also lets in holders of tokens, does that itself."""
        if links.opens_page(request):
            return self._with_link(request)
        if needs.is_operation(request.resolver_match):
            return None
        need, declared = needs.of_request(request), needs.declared(request.resolver_match)
        answer = super().process_view(request, view_func, view_args, view_kwargs) if rights.sign_in_required() else None
        if answer is not None:
            return answer
        if need or not declared:
            policy.check(request)
        return None if request.method in declared else HttpResponseNotAllowed(declared)

    def process_response(self, request: "HttpRequest", response: HttpResponse) -> HttpResponse:
        tokens.warn_in(request, response)
        return response

    def _with_link(self, request: "HttpRequest") -> HttpResponse | None:
        """Let the view show a page to whoever has a link to it; answer with a sentence if the link is over."""
        link = links.open_page(request)
        if link is not None:
            # who is recorded; the user of the request stays whoever is signed in
            request.__dict__["actor_user"] = links.reader_of(link, request.user)
            change_log.about(request, link=link.number or "")
            return None
        signs_in = settings.SHARE_LINKS == "signed-in" and not request.user.is_authenticated
        answer = render(request, "link_over.html", {"signs_in": signs_in}, status=403)
        links.frameable(answer, embedded=request.GET.get("embed") == "1")
        return answer

    def _without_token(self, request: "HttpRequest", given: str) -> HttpResponse:
        target = escape_leading_slashes(request.get_full_path())
        if settings.TOKEN_REQUIRED:
            change_log.note_token(request, good=rights.is_token(given))
        if rights.is_token(given):
            rights.remember(request)
        elif settings.TOKEN_REQUIRED:
            target = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': target, 'refused': 'yes'})}"
        answer = HttpResponseRedirect(target)
        answer["Referrer-Policy"] = "no-referrer"
        answer["Cache-Control"] = "no-store"
        return answer
