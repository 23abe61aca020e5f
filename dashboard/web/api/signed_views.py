"""This operation makes a signed view, with which a page of another site shows a timeline in a frame."""

from datetime import timedelta
from typing import Annotated
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access import change_log, embedding, rights
from dashboard.web.api.answers import Number, json_response
from timeline.models import Source

router = Router(tags=["sources"])
_HOURS = int(embedding.LONGEST.total_seconds()) // 3600

_FRAME = '<iframe src="{}" title="Timeline of {}" width="100%" height="600" style="border: 0" loading="lazy"></iframe>'


class Wanted(Schema):
    """This is for how long the view may be seen, and with which parameters the timeline opens."""

    hours: Annotated[int, Field(ge=1, le=_HOURS)] = 24 * 7
    query: Annotated[str, Field(max_length=embedding.QUERY_LENGTH, pattern=r"^[^\x00]*$")] = ""


class EmbeddedView(Schema):
    """This is the address for a frame, the HTML of such a frame, and when both expire."""

    url: str
    html: str
    expires: str


@router.post("/sources/{source_id}/views", response=EmbeddedView)
def make_view(request: HttpRequest, source_id: Number, wanted: Wanted) -> HttpResponseBase:
    """Make an address under which whoever has it sees this timeline, without signing in, until it expires.

    Only the owner of a recording and administrators can, and only if the setting CAUSELINE_EMBED_ANCESTORS names the
    origins whose pages may show it.
    """
    source = Source.objects.get(pk=source_id, ready=True)
    if not settings.EMBED_ANCESTORS:
        raise HttpError(403, "Timelines cannot be embedded: CAUSELINE_EMBED_ANCESTORS names no origins.")
    if not rights.may_embed(request.user, source.owner_id):
        raise HttpError(403, "Only the person who sent it, or an administrator, can embed it.")
    expires = timezone.now() + timedelta(hours=wanted.hours)
    view = embedding.SignedView(source.pk, wanted.query.removeprefix("?"), int(expires.timestamp()))
    query = urlencode({"embed": 1, embedding.PARAMETER: embedding.signed(view)})
    url = request.build_absolute_uri(f"{reverse('timeline', args=[source.pk])}?{query}")
    change_log.about(request, view_expires=f"{expires:%Y-%m-%dT%H:%M:%SZ}")
    html = format_html(_FRAME, url, source.name)
    return json_response(request, {"url": url, "html": html, "expires": f"{expires:%Y-%m-%dT%H:%M:%SZ}"})
