"""Ask for the second factor after the password, and let people set theirs up, renew and remove it."""

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from dashboard.access import encryption
from dashboard.access.roles import needs
from dashboard.access.signing_in import attempts, people, second_factor, sessions
from dashboard.access.trail import change_log
from dashboard.presentation.people.sessions import waiting

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_PENDING, _SECRET = "causeline.pending", "causeline.totp"  # keys of the session's data
_PATIENCE = timedelta(minutes=10)  # from the password to the code
_WRONG = "This is not the code that the app shows now. A code can be used once: wait for the next one."


class Refusal(NamedTuple):
    """Why a code is not accepted: a sentence for the person, the status of the answer, and how many seconds to wait."""

    sentence: str
    status: int
    seconds: int = 0


_NO_KEY = Refusal("The key that encrypted your second factor is not known any more. Ask an administrator.", 500)


def ask_for_code(request: "HttpRequest", user: User, wanted: str) -> "HttpResponse":
    """Remember that somebody gave the right password, and lead to the page that asks for the code."""
    request.session.flush()
    request.session[_PENDING] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),  # a new password makes it invalid
        "until": (timezone.now() + _PATIENCE).timestamp(),
        "wanted": wanted,
    }
    request.session.set_expiry(int(_PATIENCE.total_seconds()))
    return redirect("second_factor_code")


@needs.to_read("anybody", action=None)
@needs.to_change("anybody", action="change")
@never_cache
@sensitive_post_parameters()
def give_code(request: "HttpRequest") -> "HttpResponse":
    """Sign in whoever gives the code that belongs to the password; who has none yet sets one up here, where one is
    required."""
    user = _pending(request)
    if user is None:
        return redirect("login")
    wanted = request.session[_PENDING]["wanted"]
    if not second_factor.is_set_up(user):
        return _set_up(request, user, required=True, wanted=wanted)
    refusal = None
    if request.method == "POST":
        refusal = _refusal(request, user)
        if refusal is None:
            _sign_in(request, user)
            return HttpResponseRedirect(wanted)
    return _page(request, "second_factor_code.html", {}, refusal)


@needs.to_read("signed in", action=None)
@needs.to_change("signed in", action="second factor")
@never_cache
@sensitive_post_parameters()
def show_second_factor(request: "HttpRequest") -> "HttpResponse":
    """Show signed-in people their second factor, and set it up, remove it, or make new recovery codes."""
    if not settings.LOGIN_REQUIRED:
        raise Http404("There are no accounts, so there are no second factors.")
    user = User.objects.get(username=request.user.get_username())
    if not people.is_local(user):
        return render(request, "second_factor.html", {"elsewhere": True})
    if not second_factor.is_set_up(user):
        if not second_factor.can_be_set_up():
            return render(request, "second_factor.html", {"no_key": True})
        return _set_up(request, user, required=False, wanted="")
    context: dict[str, Any] = {"required": settings.REQUIRE_TOTP}
    refusal = None
    if request.method == "POST":
        refusal, act = _refusal(request, user), request.POST.get("act")
        if refusal is None and act == "renew":
            change_log.about(request, second_factor="new recovery codes")
            context["codes"] = second_factor.renew_recovery_codes(user)
            return render(request, "recovery_codes.html", context)
        if refusal is None and act == "remove" and not settings.REQUIRE_TOTP:
            change_log.about(request, second_factor="removed")
            second_factor.remove(user)
            return redirect("second_factor")
    try:
        context["left"] = second_factor.recovery_codes_left(user)
    except encryption.Unreadable:
        refusal = _NO_KEY
    return _page(request, "second_factor.html", context, refusal)


def _set_up(request: "HttpRequest", user: User, *, required: bool, wanted: str) -> "HttpResponse":
    """Show a new secret, and store it once a code shows that the app has it. Then show the recovery codes once."""
    problem = ""
    if request.method == "POST" and (sealed := request.session.get(_SECRET)):
        codes = second_factor.set_up(user, sealed, request.POST.get("code", ""))
        if codes is not None:
            change_log.note("second factor set up", **{"by": user.username, "from": change_log.address(request)})
            if required:
                _sign_in(request, user)
            else:
                del request.session[_SECRET]
                sessions.strengthen(request)
                sessions.end(user, besides=request.session.session_key)  # these were begun without a code
            return render(request, "recovery_codes.html", {"codes": codes, "wanted": wanted})
        problem = _WRONG
    else:
        request.session[_SECRET] = second_factor.new_secret()
    context = {"problem": problem, "required": required, **second_factor.shown(user, request.session[_SECRET])}
    return render(request, "set_up_second_factor.html", context, status=400 if problem else 200)


def _refusal(request: "HttpRequest", user: User) -> Refusal | None:
    """Check the code of a form, as often as `attempts` allows; return why it is not accepted, or None if it is."""
    name, address = attempts.second_factor_of(user.username), change_log.address(request)
    if wait := attempts.begin(name, address, anywhere=True):
        change_log.note("second factor refused, too many failures", name=user.username, **{"from": address})
        sentence = f"Too many codes were wrong. Wait {waiting(wait)}, then try again. An administrator can unlock you."
        return Refusal(sentence, 429, math.ceil(wait.total_seconds()))
    try:
        right = second_factor.accepts(user, request.POST.get("code", ""))
    except encryption.Unreadable:
        return _NO_KEY
    if not right:
        change_log.note("second factor failed", name=user.username, **{"from": address})
        return Refusal(_WRONG, 400)
    attempts.succeeded(name, address, anywhere=True)
    return None


def _page(request: "HttpRequest", template: str, context: dict[str, Any], refusal: Refusal | None) -> "HttpResponse":
    """Return a page, with why the code of a form was not accepted if it was not."""
    if refusal is None:
        return render(request, template, context)
    answer = render(request, template, {**context, "problem": refusal.sentence}, status=refusal.status)
    if refusal.seconds:
        answer["Retry-After"] = str(refusal.seconds)
    return answer


def _pending(request: "HttpRequest") -> User | None:
    """Return who gave the right password a short time ago, in this browser."""
    held = request.session.get(_PENDING)
    if not settings.LOGIN_REQUIRED or not settings.PASSWORDS or not held:
        return None
    user = User.objects.filter(pk=held["user"], is_active=True).first()
    if user is None or held["until"] < timezone.now().timestamp():
        return None
    return user if constant_time_compare(held["hash"], user.get_session_auth_hash()) else None


def _sign_in(request: "HttpRequest", user: User) -> None:
    request.session.flush()
    sessions.begin(request, user, sessions.TOTP)
