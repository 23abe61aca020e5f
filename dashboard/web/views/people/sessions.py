"""On this page people see where they are signed in, and sign out elsewhere. Administrators do it for others, too."""

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache

from dashboard.access.roles import needs
from dashboard.access.signing_in import sessions
from dashboard.access.signing_in.rights import is_admin
from dashboard.access.trail import change_log
from dashboard.presentation.people.sessions import row, whole_minutes
from timeline.core.numbers import whole_number

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_PEOPLE = 50  # names that a search offers


@needs.to_read("signed in", action=None)
@needs.to_change("signed in", action="sessions")
@never_cache
def show_sessions(request: "HttpRequest") -> "HttpResponse":
    """Show the sessions of the person who asks, or of `person`, and end one of them or all others."""
    if not settings.LOGIN_REQUIRED:
        raise Http404("There are no accounts, so there are no sessions of people.")
    person = _person(request)
    key = request.session.session_key
    if request.method == "POST":
        return _end(request, person, key)
    own = person.pk == request.user.pk
    context: dict[str, Any] = {
        "person": "" if own else person.get_username(),
        "rows": [row(each, here=each.session_id == key) for each in sessions.of(person)],
        "idle": whole_minutes(settings.IDLE_TIME),
        "people": _people(request) if is_admin(request.user) else None,
        "asked": request.GET.get("find", "")[:150],
    }
    return render(request, "sessions.html", context)


def _person(request: "HttpRequest") -> User:
    """Return the person whose sessions are meant. Only administrators can name somebody else."""
    name = request.POST.get("person") or request.GET.get("person") or ""
    if not name or name == request.user.get_username():
        return User.objects.get(username=request.user.get_username())
    if not is_admin(request.user):
        raise PermissionDenied("Only administrators can see and end the sessions of others.")
    found = None if "\0" in name else User.objects.filter(username=name).first()
    if found is None:
        raise Http404("Nobody has this name.")
    return found


def _people(request: "HttpRequest") -> list[str]:
    """Return the names that contain what is looked for; none if nothing is."""
    asked = request.GET.get("find", "").strip()[:150]
    if not asked or "\0" in asked:
        return []
    found = User.objects.filter(username__icontains=asked).order_by("username")
    return list(found.values_list("username", flat=True)[:_PEOPLE])


def _end(request: "HttpRequest", person: User, key: str | None) -> "HttpResponse":
    number = whole_number(request.POST.get("session", ""))
    ended = sessions.end(person, besides=key) if number is None else sessions.end(person, only=number)
    change_log.about(request, person=person.get_username(), sessions_ended=ended)
    here = reverse("sessions")
    return redirect(here if person.pk == request.user.pk else f"{here}?{urlencode({'person': person.get_username()})}")
