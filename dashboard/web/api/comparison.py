"""Compare runs of the same work."""

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.web.api.answers import json_response
from dashboard.web.places import in_place
from dashboard.web.runs import NotChosen, chosen
from timeline.payloads.comparison import ComparisonPayload
from timeline.queries.objects import comparing
from timeline.queries.objects.comparing import TooLarge

router = Router(tags=["objects"])
_Run = Annotated[str, Field(max_length=40)]


@router.get("/compare", response=ComparisonPayload)
@needs.to_read("viewer", action="compare")
@in_place
def compare(
    request: HttpRequest,
    bad: _Run,
    good: Annotated[list[_Run], Query(min_length=1, max_length=comparing.GOOD)],
) -> HttpResponseBase:
    """Return what differs between a run that did not go well (`bad`) and runs that did (`good`, which may be repeated).

    A run is an object, written as the numbers of its source and its track (`7-1234`), or a whole source (`7`).
    """
    try:
        return json_response(request, comparing.compare(*chosen(good, bad)))
    except (NotChosen, TooLarge) as error:
        raise HttpError(422, str(error)) from None
