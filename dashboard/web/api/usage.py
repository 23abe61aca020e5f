"""Answer how much room each source takes in the database, and change how long recordings are kept."""

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from ninja import Router
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.access.trail import change_log
from dashboard.web.api.answers import Asked, Number, json_response
from timeline.models import KEEP_DAYS_AT_MOST, Source
from timeline.payloads.usage import RetentionPayload, UsagePayload
from timeline.queries.sources import usage
from timeline.storage.keeping import periods as keeping

router = Router(tags=["sources"])


class Kept(Asked):
    days: Annotated[int, Field(ge=0, le=KEEP_DAYS_AT_MOST)] | None  # 0 for ever, null for those of the setting


@router.get("/usage", response=UsagePayload)
@needs.to_read("admin", "everything", action="list")
def show_usage(request: HttpRequest, page: Annotated[int, Field(ge=1, le=10**6)] = 1) -> HttpResponseBase:
    """Return what each source takes in the database in bytes, measured once an hour, the largest first. Only
    administrators can; an access token cannot."""
    return json_response(request, usage.usage_payload(page))


@router.put("/sources/{source_id}/retention", response=RetentionPayload)
@needs.to_change("admin", "everything", action="keep")
def keep_recording(request: HttpRequest, source_id: Number, kept: Kept) -> HttpResponseBase:
    """Change for how many days a recording is kept since its import: 0 for ever, null for as long as the setting says.
    Only administrators can. Of a connected cluster, its page and `causeline keep` change that."""
    source = Source.objects.get(pk=source_id, ready=True)
    try:
        keeping.change_days(source, kept.days)
    except ValueError as error:
        raise HttpError(409, str(error)) from None
    change_log.about(request, name=source.name, days=kept.days)
    source.refresh_from_db(fields=["keep_days"])
    return json_response(request, usage.retention_payload(source))
