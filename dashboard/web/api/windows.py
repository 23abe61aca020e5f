"""Return what a timeline shows: windows, the overview, findings."""

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.web.api.answers import Number, Time, Words, in_order, json_response
from timeline.payloads.events import EventsPayload
from timeline.payloads.findings import FindingOrder, FindingsPayload
from timeline.payloads.measuring import MeasurePayload
from timeline.payloads.windows import OverviewPayload, SearchPayload, WindowPayload
from timeline.queries.changes import events as events_queries
from timeline.queries.changes import measuring
from timeline.queries.filters import Key
from timeline.queries.incidents import findings as findings_queries
from timeline.queries.incidents.pages import WrongOrder
from timeline.queries.window import overview as overview_queries
from timeline.queries.window import search as search_queries
from timeline.queries.window import windows
from timeline.queries.window.view import FindingFilter, View

router = Router(tags=["timeline"])


@router.get("/sources/{source_id}/window", response=WindowPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def window(
    request: HttpRequest,
    source_id: Number,
    view: Query[View],
    start: Time | None = None,
    end: Time | None = None,
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0,
    limit: int = windows.LANES,
) -> HttpResponseBase:
    """Return what is drawn between `start` and `end`, or of the whole recording without them."""
    in_order(start, end)
    limit = max(1, min(limit, 200))
    return json_response(request, windows.window(source_id, start, end, offset=offset, limit=limit, view=view))


@router.get("/sources/{source_id}/events", response=EventsPayload)
@needs.to_read("viewer", action="see")
def events(
    request: HttpRequest,
    source_id: Number,
    start: Time | None = None,
    end: Time | None = None,
    namespace: Words = "",
    kind: Words = "",
    name: Words = "",
    scope: Number | None = None,
    noise: bool = False,
    every: bool = False,
    cursor: Annotated[str, Field(pattern=r"^(\d{1,16}\.\d{1,39}\.\d{1,19}\.\d{1,9})?$")] = "",
    limit: Annotated[int, Field(ge=1, le=500)] = 100,
) -> HttpResponseBase:
    """Return the changes between two times one by one in commit order, with their revisions, the bounds of their times
    and who made them. Pass `next` as cursor for more.

    `scope` is the number of a root owner, and keeps only its changes and those of what it owns. `noise` adds Events and
    the like, and `every` the changes of which the timeline draws nothing.
    """
    in_order(start, end)
    found = events_queries.events(
        source_id,
        start,
        end,
        namespace=namespace,
        kind=kind,
        name=name,
        root=scope,
        noise=noise,
        every=every,
        after=cursor,
        limit=limit,
    )
    return json_response(request, found)


@router.get("/sources/{source_id}/findings", response=FindingsPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def findings(
    request: HttpRequest,
    source_id: Number,
    wanted: Query[FindingFilter],
    start: Time | None = None,
    end: Time | None = None,
    key: Key = "",
    cursor: Annotated[str, Field(pattern=r"^((newest|time|gravest)\.\d{1,16}\.[012]\.[0-9a-f]{16})?$")] = "",
    limit: Annotated[int, Field(ge=1, le=500)] = 100,
    order: FindingOrder | None = None,
) -> HttpResponseBase:
    """Return findings: those of a cluster newest first, those of a recording in order of time, unless `order` is given.

    Pass `next` as `cursor` for the page after it, in the same order. `about` is the number of a track, and keeps only
    the findings that name its object or what belongs to it. `scope` is the number of a root owner, and keeps only the
    findings that name it, or an object that it owns. `incident` keeps only the findings of one incident.
    """
    in_order(start, end)
    try:
        found = findings_queries.findings(
            source_id, wanted, start=start, end=end, key=key, cursor=cursor, limit=limit, order=order
        )
    except WrongOrder as error:
        raise HttpError(422, str(error)) from None
    return json_response(request, found)


@router.get("/sources/{source_id}/search", response=SearchPayload)
@needs.to_read("viewer", action="see")
def search(request: HttpRequest, source_id: Number, q: Words) -> HttpResponseBase:
    """Return the objects, findings and actors of a recording that match every word of `q`, whatever their time.

    A word matches a part of a name, of a namespace, of the node or an image of a Pod, or of an IP address of a Pod or a
    Service; a kind, such as pods; a UID, or its first eight or more characters. `why` of an object says which of these
    it was, unless the words are in its names. Only the first eight words count.

    Terms such as `kind:pod ns:shop rule:lease-stolen severity:error actor:vc-cm node:node-3 image:nginx is:open` are
    not searched: `filter` has the parameters that they mean, which lists, findings and windows take.
    """
    return json_response(request, search_queries.search(source_id, q))


@router.get("/sources/{source_id}/measure", response=MeasurePayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def measure(
    request: HttpRequest,
    source_id: Number,
    start: Time,
    end: Time,
    start_track: Number | None = None,
    end_track: Number | None = None,
) -> HttpResponseBase:
    """Return what lies between two moments of the whole source, which no filter changes.

    That is the latest change up to each moment, with its revision and the bounds of its time, and how certain the order
    of the two is. With the number of a track, it is the change of that object at the moment, because others may have
    been changed at the same time.
    """
    in_order(start, end)
    return json_response(
        request, measuring.measure(source_id, start, end, start_track=start_track, end_track=end_track)
    )


@router.get("/sources/{source_id}/overview", response=OverviewPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def overview(request: HttpRequest, source_id: Number, scope: Number | None = None) -> HttpResponseBase:
    """Return the source as a whole: changes over time, where its findings lie, its kinds and its namespaces.

    With `scope`, the number of a root owner, only findings that name it, or an object that it owns, are counted.
    """
    return json_response(request, overview_queries.overview(source_id, scope))
