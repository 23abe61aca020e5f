"""Answer what changed before a time, an incident, a finding or the end of an object."""

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from ninja import Router
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.web.api.answers import Number, Time, json_response
from timeline.judging.incidents.changes import MINUTES, MINUTES_AT_MOST
from timeline.payloads.changes import SETS, ChangesPayload
from timeline.queries.changes import before as changes_before

router = Router(tags=["changes"])
_Identity = Annotated[str, Field(pattern=r"^([0-9a-f]{16})?$")]
_Named = Annotated[str, Field(pattern=r"^([0-9a-f]{4,16})?$")]  # an incident, by its id or its name


@router.get("/sources/{source_id}/changes", response=ChangesPayload)
@needs.to_read("viewer", action="see")
def changes(
    request: HttpRequest,
    source_id: Number,
    before: Time | None = None,
    about: Number | None = None,
    incident: _Named = "",
    finding: _Identity = "",
    minutes: Annotated[int, Field(ge=1, le=MINUTES_AT_MOST)] = MINUTES,
    limit: Annotated[int, Field(ge=1, le=100)] = SETS,
) -> HttpResponseBase:
    """Return what people and their tools changed in the minutes before a time, the likeliest to matter first.

    `about` is the number of an object (a track). Without `before`, the time is the beginning of the incident or the
    finding, or the end of the object or of the source. Without any object, all changes are ranked by kind and time.
    """
    if sum((about is not None, bool(incident), bool(finding))) > 1:
        raise HttpError(422, "Give one of about, incident and finding.")
    asked = changes_before.asked(source_id, track=about, incident=incident, finding=finding)
    at = asked.at if before is None else before
    return json_response(
        request, changes_before.changes_before(source_id, at, about=asked.tracks, minutes=minutes, limit=limit)
    )
