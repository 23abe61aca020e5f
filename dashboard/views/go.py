"""What an alert's link opens: the object it names, on the timeline; or in words why that cannot be."""

from typing import TYPE_CHECKING, Any

from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard import moments
from dashboard.views.objects import when
from timeline import queries

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_FIELDS = ("source", "namespace", "kind", "name", "at")


@require_safe
def go(request: "HttpRequest") -> "HttpResponse":
    """302 to the timeline, 200 where one has to be chosen, 404 where nothing is known, 400 for what is no question."""
    asked = {field: request.GET.get(field, "").replace("\0", "").strip()[:253] for field in _FIELDS}
    if job := request.GET.get("job_name", "").replace("\0", "").strip()[:253]:
        asked |= {"kind": "job", "name": job}
    if not any(asked.values()):
        return _page(request, asked, "Find an object", "")
    if not asked["name"]:
        return _page(request, asked, "Which object?", "The link names no object: name= is missing.", status=400)
    try:
        at = moments.parsed(asked["at"]) if asked["at"] else None
    except ValueError as error:
        return _page(request, asked, "That is no time", str(error), status=400)
    wanted = queries.Wanted(asked["source"], asked["namespace"], asked["kind"], asked["name"], at)
    found = queries.look_up(wanted)
    if found.address:
        return redirect(found.address)
    if found.lives:
        told = f"In recording {found.source.name}." if found.source else ""
        title = f"{len(found.lives)} objects of that name"
        return _page(request, asked, title, told, lives=found.lives, choose="Which one?")
    return _page(
        request, asked, "Not known", found.unknown, status=404, lives=found.alike, choose="Perhaps one of these?"
    )


def _page(
    request: "HttpRequest",
    asked: dict[str, str],
    title: str,
    told: str,
    *,
    status: int = 200,
    lives: Any = (),
    choose: str = "",
) -> "HttpResponse":
    context = {
        "asked": asked,
        "title": title,
        "told": told,
        "how": moments.HOW,
        "choose": choose,
        "lives": [{**each, "when": when(each["start"], each["end"])} for each in lives],
        "recordings": [each.name for each in queries.recent_sources(20)],
    }
    return render(request, "go.html", context, status=status)
