"""List incidents, and acknowledge them."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.web.api.answers import Asked, Identity, Named, Note, Number, json_response
from dashboard.web.inputs import person
from timeline.payloads.findings import FindingOrder, IncidentRowPayload, IncidentsPayload
from timeline.queries.filters import IncidentFilter, SourceIncidentFilter
from timeline.queries.incidents import lists
from timeline.queries.incidents.pages import WrongOrder
from timeline.storage.people import acknowledgements

router = Router(tags=["incidents"])
_PLACE = r"((newest|time)\.\d{1,16}\.[012]|gravest\.\d{1,16}\.[012]\.\d{1,10})"
Cursor = Annotated[str, Field(pattern=rf"^({_PLACE}\.[0-9a-f]{{16}}\.\d{{1,18}})?$")]


class Acknowledged(Asked):
    """These incidents are acknowledged with one note."""

    incidents: Annotated[list[Identity], Field(min_length=1, max_length=1000)]
    note: Note = ""


class AcknowledgedCount(Schema):
    """This is how many incidents were acknowledged."""

    acknowledged: int


@router.get("/sources/{source_id}/incidents", response=IncidentsPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def incidents(
    request: HttpRequest,
    source_id: Number,
    wanted: Query[SourceIncidentFilter],
    cursor: Cursor = "",
    limit: Annotated[int, Field(ge=1, le=500)] = lists.PAGE,
    order: FindingOrder | None = None,
) -> HttpResponseBase:
    """Return incidents: of a cluster newest first, of a recording in order of time, unless `order` is given.

    Pass `next` as `cursor` for the page after it, in the same order.
    """
    try:
        found = lists.incidents(source_id, wanted, cursor=cursor, limit=limit, order=order)
    except WrongOrder as error:
        raise HttpError(422, str(error)) from None
    return json_response(request, found)


@router.get("/incidents", response=IncidentsPayload)
@needs.to_read("viewer", action="list")
def all_incidents(
    request: HttpRequest,
    wanted: Query[IncidentFilter],
    cursor: Cursor = "",
    limit: Annotated[int, Field(ge=1, le=500)] = lists.PAGE,
    order: FindingOrder | None = None,
) -> HttpResponseBase:
    """Return incidents of all clusters and recordings: newest first, unless `order` is given."""
    try:
        found = lists.incidents(None, wanted, cursor=cursor, limit=limit, order=order)
    except WrongOrder as error:
        raise HttpError(422, str(error)) from None
    return json_response(request, found)


@router.get("/sources/{source_id}/incidents/{identity}", response=IncidentRowPayload)
@needs.to_read("viewer", action="see incident", links=needs.TIMELINES)
def incident(request: HttpRequest, source_id: Number, identity: Named) -> HttpResponseBase:
    """Return one incident, by its id or its name. That of a symptom, which may have been an incident before, leads to
    the incident that has it."""
    return json_response(request, lists.incident(source_id, identity))


@router.post("/sources/{source_id}/acknowledgements", response=AcknowledgedCount)
@needs.to_change("responder", action="acknowledge", scope="respond")
def acknowledge(request: HttpRequest, source_id: Number, body: Acknowledged) -> HttpResponseBase:
    """Acknowledge incidents with a note, which replaces an earlier one."""
    count = acknowledgements.acknowledge_incidents(source_id, body.incidents, person(request), body.note.strip())
    return json_response(request, {"acknowledged": count})


@router.delete("/sources/{source_id}/incidents/{identity}/acknowledgement", response={204: None})
@needs.to_change("responder", action="withdraw", scope="respond")
def withdraw(request: HttpRequest, source_id: Number, identity: Identity) -> HttpResponse:
    """Withdraw the acknowledgement of an incident."""
    if not acknowledgements.withdraw(source_id, identity):
        raise HttpError(404, "The incident is not acknowledged.")
    return HttpResponse(status=204)
