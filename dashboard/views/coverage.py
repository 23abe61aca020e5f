"""What a recording saw of each kind, what each rule can say by it, and what would help where that is too little."""

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard import wording
from timeline import queries
from timeline.entries import microseconds

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_SKIPPED = 500  # files and reasons that are shown


@require_safe
def show_coverage(request: "HttpRequest", source_id: int) -> "HttpResponse":
    source = queries.source(source_id)
    if source is None:
        raise Http404("No such recording.")
    told = queries.coverage(source_id)
    extent = (microseconds(source.first), microseconds(source.last)) if source.first and source.last else None
    skipped = wording.skipped((each["file"], each["line"], each["reason"]) for each in told["skipped"])
    lack = wording.lack([(each["verdict"], each["remedy"]) for each in told["rules"]])
    context = {
        "source": {"id": source_id, "name": told["name"]},
        "span": wording.span(*extent) if extent else "nothing",
        "entries": wording.count(told["entries"]),
        "lack": lack or "every rule can judge it in full",
        "remedies": [
            {"heading": heading, "text": "\n".join(lines), "copy": not heading.endswith("files")}
            for heading, lines in wording.remedies(each["remedy"] for each in told["rules"])
        ],
        "judged": wording.judged(told["rules"]),
        "coverage": wording.kinds(told),
        "clocks": told["clocks"],
        "skipped": skipped[:_SKIPPED],
        "skipped_more": wording.some(told["skipped_total"] - sum(len(each.lines) for each in skipped[:_SKIPPED])),
    }
    return render(request, "coverage.html", context)
