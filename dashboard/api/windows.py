"""What a timeline shows: windows of it, its outline, its findings."""

from django.http import HttpRequest, HttpResponseBase
from ninja import Router
from ninja.errors import HttpError

from dashboard.api.answers import Number, Time, Words, json_response
from timeline import queries
from timeline.payloads import OverviewPayload, WindowPayload

router = Router(tags=["timeline"])


@router.get("/sources/{source_id}/window", response=WindowPayload)
def window(
    request: HttpRequest,
    source_id: Number,
    start: Time | None = None,
    end: Time | None = None,
    offset: Number = 0,
    limit: int = queries.LANES,
    kinds: Words = "",
    namespace: Words = "",
    group: queries.Grouping = "owner",
    focus: Number | None = None,
) -> HttpResponseBase:
    """What is drawn between start and end (microseconds since 1970; the whole recording if left out)."""
    if start is not None and end is not None and start > end:
        raise HttpError(422, "start lies after end")
    payload = queries.window(
        source_id,
        start,
        end,
        offset=offset,
        limit=max(1, min(limit, 200)),
        families=[family for family in kinds.split(",") if family],
        namespace=namespace,
        grouping=group,
        focus=focus,
    )
    return json_response(request, payload)


@router.get("/sources/{source_id}/overview", response=OverviewPayload)
def overview(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """The recording as a whole: how much when, where its findings lie, which kinds and namespaces there are."""
    return json_response(request, queries.overview(source_id))
