"""The recordings, and the door through which new ones come in."""

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from timeline import queries

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
@ensure_csrf_cookie
def home(request: "HttpRequest") -> "HttpResponse":
    return render(request, "home.html", {"sources": queries.recent_sources()})
