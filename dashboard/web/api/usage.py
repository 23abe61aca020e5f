"""This operation says what each source takes in the database."""

from typing import Annotated

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from ninja import Router
from pydantic import Field

from dashboard.access import rights
from dashboard.web.api.answers import json_response
from timeline import queries
from timeline.payloads.usage import UsagePayload

router = Router(tags=["sources"])


@router.get("/usage", response=UsagePayload)
def show_usage(request: HttpRequest, page: Annotated[int, Field(ge=1, le=10**6)] = 1) -> HttpResponseBase:
    """Return what each source takes in the database in bytes, measured once an hour, the largest first. Only
    administrators can; an access token cannot."""
    if not rights.is_admin(request.user):
        raise PermissionDenied("Only administrators can see what is stored.")
    return json_response(request, queries.usage_payload(page))
