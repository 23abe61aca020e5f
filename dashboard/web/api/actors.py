"""List the actors of a source, and what each of them did."""

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from ninja import Router
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.web.api.answers import Number, Words, json_response
from timeline.payloads.actors import ActorOrder, ActorsPayload
from timeline.queries.changes import actors as actors_queries

router = Router(tags=["actors"])


@router.get("/sources/{source_id}/actors", response=ActorsPayload)
@needs.to_read("viewer", action="see")
def actors(
    request: HttpRequest,
    source_id: Number,
    q: Words = "",
    order: ActorOrder = "writes",
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Field(ge=1, le=200)] = actors_queries.PAGE,
) -> HttpResponseBase:
    """Return what each actor did: a part of one process, such as the Job controller of one controller manager.

    `q` are words of names, accounts, user agents or Pods. Lists are ordered by the highest number, or by name.
    """
    found = actors_queries.actors(source_id, words=q, order=order, offset=offset, limit=limit)
    return json_response(request, found)
