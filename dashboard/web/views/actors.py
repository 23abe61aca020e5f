"""List the actors of a source: which process did what, and how old the copies were on which it acted."""

from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlencode

from django.shortcuts import render

from dashboard.access import limits
from dashboard.access.roles import needs
from dashboard.presentation import actors, wording
from dashboard.web.inputs import number, source_of
from timeline.payloads.actors import ActorOrder
from timeline.queries.changes import actors as actors_queries

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_LONGEST = 1000  # characters of a search


@needs.to_read("viewer", action="see")
def show_actors(request: "HttpRequest", source_id: int) -> "HttpResponse":
    source = source_of(source_id)
    words = request.GET.get("q", "").replace("\0", "")[:_LONGEST]
    asked = request.GET.get("order", "writes")
    order: ActorOrder = next((each for each in get_args(ActorOrder) if each == asked), "writes")
    offset = min(number(request, "offset") or 0, 1_000_000)
    found = actors_queries.actors(source_id, words=words, order=order, offset=offset)

    def link(**changed: Any) -> str:
        given = {"q": words, "order": order, "offset": 0, **changed}
        return "?" + urlencode({name: value for name, value in given.items() if value and value != "writes"})

    last = offset + len(found["actors"])
    context = {
        "source": source,
        "rows": [actors.row(each, source_id) for each in found["actors"]],
        "columns": [{**each, "link": link(order=each["order"])} for each in actors.COLUMNS],
        "order": order,
        "words": words,
        "summary": actors.summary(found),
        "next": link(offset=last) if last < found["total"] else "",
        "first": link() if offset else "",
        "all": link(q=""),
        "outdated": wording.outdated(source),
        "part": limits.in_part(source_id),
    }
    return render(request, "actors.html", context)
