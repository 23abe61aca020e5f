"""List the alerts that other programs have sent, with what each is about."""

from typing import TYPE_CHECKING, get_args
from urllib.parse import urlencode

from django.http import Http404
from django.shortcuts import render
from ninja import Schema

from dashboard.access.roles import needs
from dashboard.presentation import alerts as words
from dashboard.web.api.alerts import AlertCursor, AlertQuery
from dashboard.web.inputs import checked
from timeline.models import Source
from timeline.payloads.alerts import AlertState
from timeline.queries.alerts import received
from timeline.queries.sources import extents
from timeline.storage.permitted.limits import present

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_SOURCES = 100  # that the filter offers


class _Place(Schema):
    cursor: AlertCursor = ""


@needs.to_read("viewer", action="list")
def show_alerts(request: "HttpRequest") -> "HttpResponse":
    """Show a page of the list. Raises Http404, and BadRequest for an address that is not valid."""
    given = {name: value for name, value in request.GET.dict().items() if value}
    asked, place = checked(AlertQuery, given), checked(_Place, given)
    try:
        listed = received.alerts(asked.wanted(), cursor=place.cursor)
    except Source.DoesNotExist:
        raise Http404("No such recording.") from None
    narrowing = {name: value for name, value in given.items() if name in AlertQuery.model_fields}
    following = {**narrowing, "cursor": listed["next"]}
    context = {
        "rows": words.rows(listed["alerts"]),
        "asked": asked,
        "filtered": bool(narrowing),
        "limited": not present().everything,
        "states": get_args(AlertState),
        "sources": extents.recent_sources(_SOURCES),
        "next": f"?{urlencode(following)}" if listed["next"] else "",
        "first": f"{request.path}?{urlencode(narrowing)}" if place.cursor else "",
    }
    return render(request, "alerts.html", context)
