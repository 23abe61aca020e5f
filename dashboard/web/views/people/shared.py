"""On this page people see the links that they have shared, and revoke them. Administrators see those of everybody."""

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from dashboard.access.roles import needs
from dashboard.access.signing_in import rights
from dashboard.access.tokens import links
from dashboard.access.trail import change_log
from dashboard.presentation.people.shared import row
from timeline.core.numbers import whole_number

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_PAGE = 50  # links on a page
_USUAL_HOURS = 168  # that a link lives if nobody chooses
_TIMES = {1: "1 hour", 24: "1 day", 168: "7 days", 720: "30 days", 2160: "90 days", 8760: "365 days"}  # by hours


@needs.to_read("viewer", action="list")
@needs.to_change("viewer", action="revoke link")
@never_cache
def show_shared(request: "HttpRequest") -> "HttpResponse":
    """Show the links of the person who asks, or with `all` those of everybody, and revoke one."""
    is_admin = rights.is_admin(request.user)
    if request.method == "POST":
        return _revoke(request, everybody=is_admin)
    everybody = is_admin and "all" in request.GET
    now = timezone.now()
    page = Paginator(links.listed(request.user, everybody=everybody), _PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "links": [row(each, now) for each in page],
        "everybody": everybody,
        "is_admin": is_admin,
        "off": settings.SHARE_LINKS == "off",
        "embeds": bool(settings.EMBED_ANCESTORS),
    }
    return render(request, "shared.html", context)


def share_dialog(request: "HttpRequest", source: int) -> dict[str, Any]:
    """Return what the dialog for sharing needs; nothing for people who may not share the source."""
    if not rights.may_share(request.user, source):
        return {}
    most = settings.SHARE_DAYS * 24
    times = [(hours, words) for hours, words in _TIMES.items() if hours <= most]
    usual = max(hours for hours, _ in times if hours <= _USUAL_HOURS)
    return {"may_share": True, "share_times": times, "share_usual": usual, "shared_with": settings.SHARE_LINKS}


def _revoke(request: "HttpRequest", *, everybody: bool) -> "HttpResponse":
    """Ask whether a link is to be revoked, and revoke it when that was answered."""
    number = whole_number(request.POST.get("link", "")) or 0
    link = links.listed(request.user, everybody=everybody).filter(pk=number).first()
    if link is None:
        raise Http404("There is no such link: it was revoked already, or somebody else has made it.")
    here = reverse("shared")
    if "confirmed" in request.POST:
        change_log.about(request, name=link.source.name, source=link.source_id, **links.described(link))
        link.delete()
        return redirect(here)
    shown = row(link, timezone.now())
    context = {
        "verb": "Revoke",
        "name": f"{shown.kind} {shown.name}",
        "back": here,
        "fields": [("link", number), ("confirmed", "yes")],
        "sentences": [f"Whoever has this link ({shown.prefix}…, {shown.used}) reads nothing with it from then on."],
        "final": "Shared links",
    }
    return render(request, "delete.html", context)
