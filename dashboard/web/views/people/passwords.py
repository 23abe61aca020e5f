"""On this page people change their own password, which ends their other sessions."""

from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.contrib.auth.views import PasswordChangeView
from django.http import Http404, HttpResponse
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache

from dashboard.access.roles import needs
from dashboard.access.signing_in import attempts, people, sessions
from dashboard.access.trail import change_log
from dashboard.web.views.people.accounts import wait_first

if TYPE_CHECKING:
    from django.contrib.auth.forms import SetPasswordForm
    from django.contrib.auth.models import User
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase


class ChangePassword(PasswordChangeView):
    template_name = "password.html"
    success_url = reverse_lazy("sessions")

    def dispatch(self, *arguments: Any, **options: Any) -> "HttpResponseBase":
        passwords = settings.LOGIN_REQUIRED and settings.PASSWORDS
        if not passwords or not people.is_local(cast("User", self.request.user)):
            raise Http404("You do not sign in with a password of Causeline.")
        return super().dispatch(*arguments, **options)

    def post(self, *arguments: Any, **options: Any) -> HttpResponse:
        """Change the password. Guessing the old one, in a session that was left open, is as slow as at the sign-in."""
        name, address = self.request.user.get_username(), change_log.address(self.request)
        if wait := attempts.begin(name, address):
            return wait_first(self, wait)
        form = self.get_form()
        valid = form.is_valid()
        if "old_password" not in form.errors:
            attempts.succeeded(name, address)
        return self.form_valid(form) if valid else self.render_to_response(self.get_context_data(form=form), status=400)

    def form_valid(self, form: "SetPasswordForm[Any]") -> HttpResponse:
        user = form.save()
        sessions.keep_only(self.request, user)
        change_log.about(self.request, account=user.pk)
        return HttpResponse(status=302, headers={"Location": self.get_success_url()})


_changing = ChangePassword.as_view()


@needs.to_read("signed in", action=None)
@needs.to_change("signed in", action="password")
@never_cache
def change_password(request: "HttpRequest") -> "HttpResponseBase":
    return _changing(request)
