"""Take incidents out of the lists: by silences, and by the baseline of a source."""

from datetime import timedelta
from typing import Annotated

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.access.trail import change_log
from dashboard.web.api.answers import Asked, Number, json_response
from dashboard.web.inputs import person
from timeline.models import Source
from timeline.payloads.findings import SilencePayload
from timeline.queries.people import silences as silences_queries
from timeline.storage.people import baselines
from timeline.storage.people import silences as silences_storage

router = Router(tags=["incidents"])
_Matcher = Annotated[str, Field(max_length=253, pattern=r"^[^\x00]*$")]
_HOURS = 24 * 366


class NewSilence(Asked):
    """A silence matches incidents by at least one of rule, namespace, owner and actor."""

    source: Number | None = None  # its cluster, or this recording; without it, all sources
    rule: _Matcher = ""
    namespace: _Matcher = ""
    owner: _Matcher = ""  # the name of what an incident is about; * stands for any characters, ? for one
    actor: _Matcher = ""
    reason: Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00]*$")]
    hours: Annotated[float, Field(gt=0, le=_HOURS)] = 2


class Baselined(Schema):
    """This is how many incidents are in the baseline now."""

    incidents: int


@router.get("/silences", response=list[SilencePayload])
@needs.to_read("viewer", action="list")
def silences(request: HttpRequest) -> HttpResponseBase:
    """Return the silences that hold now, those that expire first."""
    return json_response(request, [silences_queries.payload(each) for each in silences_queries.active()])


@router.post("/silences", response={201: SilencePayload})
@needs.to_change("responder", action="silence", scope="respond")
def silence(request: HttpRequest, new: NewSilence) -> HttpResponseBase:
    """Take the incidents that match out of the lists, for two hours unless `hours` says otherwise."""
    source = None if new.source is None else Source.objects.select_related("cluster").get(pk=new.source, ready=True)
    try:
        made = silences_storage.create(
            source=source,
            rule=new.rule,
            namespace=new.namespace,
            owner=new.owner,
            actor=new.actor,
            reason=new.reason.strip(),
            by=person(request),
            expires=timezone.now() + timedelta(hours=new.hours),
        )
    except ValueError as error:
        raise HttpError(422, str(error)) from None
    change_log.about(request, silence=made.pk)
    return json_response(request, silences_queries.payload(made), status=201)


@router.delete("/silences/{number}", response={204: None})
@needs.to_change("responder", action="silence", scope="respond")
def expire(request: HttpRequest, number: Number) -> HttpResponse:
    """End a silence now."""
    if not silences_storage.expire(number):
        raise HttpError(404, "There is no such silence, or it has expired.")
    change_log.about(request, silence=number)
    return HttpResponse(status=204)


@router.put("/sources/{source_id}/baseline", response=Baselined)
@needs.to_change("responder", "whole", action="baseline")
def set_baseline(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """Take every incident that is known now out of the lists, until it gets worse. It needs the role responder on all
    of the source."""
    count = baselines.set_baseline(source_id, person(request))
    return json_response(request, {"incidents": count})


@router.delete("/sources/{source_id}/baseline", response={204: None})
@needs.to_change("responder", "whole", action="baseline")
def clear_baseline(request: HttpRequest, source_id: Number) -> HttpResponse:
    """Remove the baseline of a source. It needs the role responder on all of it."""
    if not baselines.clear_baseline(source_id):
        raise HttpError(404, "The source has no baseline.")
    return HttpResponse(status=204)
