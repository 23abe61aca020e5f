"""Return the alerts that other programs have sent."""

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router, Schema
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.web.api.answers import Named, Number, Time, Words, in_order, json_response
from timeline.payloads.alerts import AlertListPayload, AlertsPayload
from timeline.queries.alerts import received
from timeline.queries.alerts.received import AlertFilter

router = Router(tags=["alerts"])
AlertCursor = Annotated[str, Field(pattern=r"^(\d{1,16}\.[0-9a-f]{32}\.[^\x00]{1,100})?$")]


class AlertQuery(Schema):
    """These parameters narrow the list of alerts."""

    state: Literal["", "firing", "resolved"] = ""
    name: Words = ""  # a part of it
    receiver: Words = ""
    source: Number | None = None  # alerts that name its cluster, or an object that was seen only there

    def wanted(self) -> AlertFilter:
        return AlertFilter(self.state or None, self.name.strip(), self.receiver.strip(), self.source)


@router.get("/alerts", response=AlertListPayload)
@needs.to_read("viewer", action="list")
def alerts(
    request: HttpRequest,
    wanted: Query[AlertQuery],
    cursor: AlertCursor = "",
    limit: Annotated[int, Field(ge=1, le=500)] = received.PAGE,
) -> HttpResponseBase:
    """Return alerts, the newest first, each with the object that it is about, or why it is linked to none.

    Pass `next` as `cursor` for the page after it."""
    return json_response(request, received.alerts(wanted.wanted(), cursor=cursor, limit=limit))


@router.get("/sources/{source_id}/alerts", response=AlertsPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def alerts_of_source(request: HttpRequest, source_id: Number, start: Time, end: Time) -> HttpResponseBase:
    """Return the alerts of a source that fired between two times, the newest first; `more` if there are more."""
    in_order(start, end)
    return json_response(request, received.alerts_of(source_id, start, end))


@router.get("/sources/{source_id}/tracks/{track_id}/alerts", response=AlertsPayload)
@needs.to_read("viewer", action="see")
def alerts_about(request: HttpRequest, source_id: Number, track_id: Number) -> HttpResponseBase:
    """Return the newest alerts about one incarnation of an object."""
    return json_response(request, received.alerts_about(source_id, track_id))


@router.get("/sources/{source_id}/incidents/{identity}/alerts", response=AlertsPayload)
@needs.to_read("viewer", action="see incident")
def alerts_during(request: HttpRequest, source_id: Number, identity: Named) -> HttpResponseBase:
    """Return the newest alerts about the objects of an incident that fired during it, or began up to 30 minutes
    after it."""
    return json_response(request, received.alerts_during(source_id, identity))
