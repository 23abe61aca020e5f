"""On this page responders take everything that is known of a source out of its lists, until it gets worse."""

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from dashboard.web.views.findings import person
from timeline import queries

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_http_methods(["GET", "HEAD", "POST"])
def show_baseline(request: "HttpRequest", source_id: int) -> "HttpResponse":
    source = queries.source(source_id)
    if source is None:
        raise Http404("No such recording.")
    if request.method == "POST":
        if request.POST.get("act") == "clear":
            queries.clear_baseline(source_id)
        elif request.POST.get("act") == "set":
            queries.set_baseline(source_id, person(request))
        return redirect("baseline", source_id)
    every = queries.incidents(source_id, queries.IncidentFilter(silenced=True), limit=1)
    context = {
        "source": source,
        "baseline": queries.baseline(source_id),
        "known": every["total"],
    }
    return render(request, "baseline.html", context)
