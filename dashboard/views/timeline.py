"""The timeline of one source: the page's frame; its JavaScript fetches windows from the API."""

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard import figures, inlining
from timeline import queries

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def timeline(request: "HttpRequest", source_id: int) -> "HttpResponse":
    source = queries.source(source_id)
    if source is None:
        raise Http404("No such recording.")
    live, ended = queries.collection(source.id)
    before, after = queries.epochs(source.id)
    context = {
        "source": source,
        "live": live,
        "ended": ended,
        "before": before,
        "after": after,
        "gaps": queries.gaps(source.id) + queries.told_gaps(source.id),
        "coverage_page": f"/sources/{source.id}/coverage/",
        "skeletons": figures.skeletons(),
        "modules": [f"dashboard/{name}" for name in inlining.modules("js/live/live.js" if live else "js/workbench.js")],
    }
    return render(request, "timeline.html", context)
