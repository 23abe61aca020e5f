"""On one page people make access tokens with their own rights, on another one administrators make those of programs.

Both pages show when each token was used, and revoke tokens.
"""

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from dashboard.access.roles import needs
from dashboard.access.tokens import tokens
from dashboard.access.trail import change_log
from dashboard.models import AccessToken
from dashboard.presentation.people.tokens import row, rows
from dashboard.web import choices
from timeline.core.numbers import whole_number
from timeline.models import Cluster, Source

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@needs.to_read("admin", "everything", action="list")
@needs.to_change("admin", "everything", action="tokens")
@never_cache
def show_tokens(request: "HttpRequest") -> "HttpResponse":
    """Show administrators all tokens, and the form that makes one for a program."""
    return _show(request, None)


@needs.to_read("signed in", action="list")
@needs.to_change("signed in", action="tokens")
@never_cache
def show_own_tokens(request: "HttpRequest") -> "HttpResponse":
    """Show people their personal tokens, and the form that makes one."""
    if not settings.LOGIN_REQUIRED:
        raise Http404("There are no accounts, so there are no personal tokens.")
    return _show(request, User.objects.get(username=request.user.get_username()))


def _show(request: "HttpRequest", owner: User | None) -> "HttpResponse":
    """Show tokens and the form that makes one; answer a form that makes one with its text, which is shown once."""
    problem, text, made = "", "", None
    if request.method == "POST":
        if request.POST.get("act") == "revoke":
            return _revoke(request, owner)
        try:
            text, made = _make(request, owner)
        except tokens.TokenRefused as error:
            problem = str(error)
    now = timezone.now()
    context = {
        "problem": problem,
        "text": text,
        "made": row(made, now) if made else None,
        "own": owner is not None,
        "tokens": rows(now, owner.pk if owner else None),
        "form": {
            "name": request.POST.get("name", "") if problem else "",
            "scopes": request.POST.getlist("scope") if problem else [tokens.OWN if owner else "read"],
            "limit": request.POST.get("limit", "") if problem else "",
            "days": request.POST.get("days", "") if problem else tokens.USUAL_DAYS,
        },
        "meanings": [(scope, tokens.MEANINGS[scope]) for scope in tokens.SCOPES],
        **choices.offered(),
        "most": {"days": tokens.MOST_DAYS, "name": tokens.NAME_LENGTH},
    }
    return render(request, "tokens.html", context, status=400 if problem else 200)


def _make(request: "HttpRequest", owner: User | None) -> tuple[str, AccessToken]:
    form = request.POST
    life = tokens.life(form.get("days", ""))
    try:
        limit = choices.chosen(form.get("limit", ""))
    except ObjectDoesNotExist:
        raise tokens.TokenRefused("What the token is limited to does not exist any more. Choose again.") from None
    text, made = tokens.issue(
        form.get("name", ""),
        [tokens.OWN, *form.getlist("scope")] if owner else form.getlist("scope"),
        expires=timezone.now() + life,
        cluster=limit if isinstance(limit, Cluster) else None,
        source=limit if isinstance(limit, Source) else None,
        owner=owner,
        by=change_log.who(request),
    )
    change_log.about(request, **tokens.described(made))
    return text, made


def _revoke(request: "HttpRequest", owner: User | None) -> "HttpResponse":
    """Ask whether the token is to be revoked, and revoke it when that was answered."""
    number = whole_number(request.POST.get("token", "")) or 0
    found = AccessToken.objects.filter(pk=number)
    token = (found if owner is None else found.filter(owner=owner)).first()
    if token is None:
        raise Http404("No such token: it was revoked already.")
    page = "tokens" if owner is None else "own_tokens"
    here = reverse(page)
    if "confirmed" not in request.POST:
        used = row(token, timezone.now()).used
        context = {
            "verb": "Revoke",
            "name": token.name,
            "back": here,
            "fields": [("act", "revoke"), ("token", number), ("confirmed", "yes")],
            "sentences": [f"Programs that send this token ({token.prefix}…, {used}) are refused from then on."],
            "final": "Access tokens" if owner is None else "Your tokens",
        }
        return render(request, "delete.html", context)
    if revoked := tokens.revoke(number):
        change_log.about(request, **tokens.described(revoked))
    return redirect(page)
