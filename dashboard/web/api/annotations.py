"""Return what happened as a table that Grafana draws as annotations (Infinity data source)."""

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.access.signing_in import rights
from dashboard.web import timestamps
from dashboard.web.api.answers import Words, json_response
from timeline.payloads.annotations import AnnotationPayload
from timeline.queries.alerts import lookup
from timeline.queries.filters import Filter
from timeline.queries.incidents.annotations import annotations

router = Router(tags=["alerts"])
MOST = 1000  # rows of one answer


@router.get("/annotations", response=list[AnnotationPayload])
@needs.to_read("viewer", action="list", limited=True)
def list_annotations(
    request: HttpRequest,
    begin: Annotated[str, Query(alias="from", max_length=100)],
    to: Annotated[str, Field(max_length=100)],
    wanted: Query[Filter],
    source: Words = "",
    cluster: Words = "",
    limit: Annotated[int, Field(ge=1, le=MOST)] = 200,
) -> HttpResponseBase:
    """Return the occurrences of findings from `from` to `to`, the newest first, without those of silenced incidents.

    The times are counts of milliseconds, as Grafana's `${__timeFrom}` gives them, or RFC 3339. `source` is the number
    or the name of a recording or cluster, `cluster` the name of a connected cluster; without both, all are searched.
    """
    try:
        start, end = timestamps.parsed(begin), timestamps.parsed(to)
    except ValueError as error:
        raise HttpError(422, str(error)) from None
    if start > end:
        raise HttpError(422, "from lies after to")
    sources = lookup.named_sources(source, cluster, rights.readable(request))
    if not sources and (source or cluster):
        raise HttpError(404, f"No cluster and no recording is called {source or cluster}.")
    found = annotations(sources, start, end, wanted, limit)
    return json_response(request, [{**each, "url": request.build_absolute_uri(each["url"])} for each in found])
