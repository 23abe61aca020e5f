"""On this page responders take everything that is known of a source out of its lists, until it gets worse."""

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from dashboard.web.views.incidents.findings import person
from timeline.queries.incidents import lists
from timeline.queries.incidents.filters import IncidentFilter
from timeline.queries.people import baselines
from timeline.queries.sources import extents
from timeline.storage.people import baselines as baselines_storage

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_http_methods(["GET", "HEAD", "POST"])
def show_baseline(request: "HttpRequest", source_id: int) -> "HttpResponse":
    source = extents.source(source_id)
    if source is None:
        raise Http404("No such recording.")
    if request.method == "POST":
        if request.POST.get("act") == "clear":
            baselines_storage.clear_baseline(source_id)
        elif request.POST.get("act") == "set":
            baselines_storage.set_baseline(source_id, person(request))
        return redirect("baseline", source_id)
    every = lists.incidents(source_id, IncidentFilter(silenced=True), limit=1)
    context = {
        "source": source,
        "baseline": baselines.baseline(source_id),
        "known": every["total"],
    }
    return render(request, "baseline.html", context)
