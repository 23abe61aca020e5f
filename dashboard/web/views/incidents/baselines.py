"""On this page responders take everything that is known of a source out of its lists, until it gets worse."""

from typing import TYPE_CHECKING

from django.shortcuts import redirect, render

from dashboard.access.roles import needs
from dashboard.web.inputs import person, source_of
from timeline.queries.filters import IncidentFilter
from timeline.queries.incidents import lists
from timeline.queries.people import baselines
from timeline.storage.people import baselines as baselines_storage

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@needs.to_read("viewer", action="see")
@needs.to_change("responder", "whole", action="baseline")
def show_baseline(request: "HttpRequest", source_id: int) -> "HttpResponse":
    source = source_of(source_id)
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
