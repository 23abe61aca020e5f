"""Sign people in with an account. A person who fails too often has to wait, and the page says how long."""

import math
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.views import LoginView
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseRedirect

from dashboard.access.signing_in import attempts, oidc, second_factor, sessions
from dashboard.access.trail import change_log
from dashboard.presentation.people.sessions import waiting
from dashboard.web.views.people.second_factors import ask_for_code

if TYPE_CHECKING:
    from datetime import timedelta

    from django.contrib.auth.forms import AuthenticationForm
    from django.http import HttpResponse


def wait_first(view: Any, wait: "timedelta") -> "HttpResponse":
    """Return the page of a form that says how long somebody who gave too many wrong passwords has to wait."""
    answer: HttpResponse = view.render_to_response(view.get_context_data(wait=waiting(wait)), status=429)
    answer["Retry-After"] = str(math.ceil(wait.total_seconds()))
    return answer


class SignIn(LoginView):
    template_name = "login.html"
    redirect_authenticated_user = True

    def post(self, request: Any, *arguments: Any, **options: Any) -> "HttpResponse":
        if not settings.PASSWORDS:
            raise PermissionDenied("Nobody signs in here with a password.")
        name = request.POST.get("username", "")
        if not name or not request.POST.get("password"):
            return super().post(request, *arguments, **options)  # fields are missing, and nothing is tried
        address = change_log.address(request)
        if wait := attempts.begin(name, address):
            change_log.note("sign-in refused, too many failures", name=_known(name), **{"from": address})
            return wait_first(self, wait)
        answer = super().post(request, *arguments, **options)
        if answer.status_code == 302:
            attempts.succeeded(name, address)
        else:
            change_log.note("sign-in failed", name=_known(name), **{"from": address})
        return answer

    def form_valid(self, form: "AuthenticationForm") -> "HttpResponse":
        """Sign the person in, whose password is right, or ask for the second factor."""
        user = form.get_user()
        if second_factor.is_asked_for(user):
            return ask_for_code(self.request, user, self.get_success_url())
        sessions.begin(self.request, user, sessions.PASSWORD)
        return HttpResponseRedirect(self.get_success_url())

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        provider = settings.OIDC_NAME if oidc.configured() else ""
        return super().get_context_data(passwords=settings.PASSWORDS, provider=provider, **context)


def _known(name: str) -> str:
    """Return the name if such an account exists. Other names may be mistyped passwords, and are not logged."""
    known = "\0" not in name and get_user_model().objects.filter(username=name).exists()  # PostgreSQL knows no NUL
    return name if known else "of nobody here"
