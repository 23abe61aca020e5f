"""Make share links: for people without an account, and for frames on pages of other sites."""

from datetime import datetime, timedelta
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

from dashboard.access.roles import needs
from dashboard.access.signing_in import rights
from dashboard.access.tokens import links
from dashboard.access.trail import change_log
from dashboard.web.api.answers import Asked, Number, json_response
from timeline.models import Source
from timeline.queries.incidents import lists

router = Router(tags=["sources"])
_FRAME = '<iframe src="{}" title="Timeline of {}" width="100%" height="600" style="border: 0" loading="lazy"></iframe>'

Query = Annotated[str, Field(max_length=links.QUERY_LENGTH, pattern=r"^[^\x00]*$")]


class Wanted(Asked):
    """This is for how long a link may be used, and what it shows: an incident, or a timeline that opens with these
    parameters."""

    hours: Annotated[int, Field(ge=1, le=365 * 24)] = 24 * 7
    query: Query = ""
    incident: Annotated[str, Field(max_length=16, pattern=r"^[0-9a-f]*$")] = ""


class WantedFrame(Asked):
    """This is for how long the view may be seen, and with which parameters the timeline opens."""

    hours: Annotated[int, Field(ge=1, le=int(links.LONGEST_EMBEDDED.total_seconds()) // 3600)] = 24 * 7
    query: Query = ""


class SharedLink(Schema):
    """This is the address of a link, and when it expires."""

    url: str
    expires: str


class EmbeddedView(SharedLink):
    """This is the address for a frame, the HTML of such a frame, and when both expire."""

    html: str


@router.post("/sources/{source_id}/links", response=SharedLink)
@needs.to_change("responder", "whole", action="share")
def make_link(request: HttpRequest, source_id: Number, wanted: Wanted) -> HttpResponseBase:
    """Make a link with which whoever has it reads this timeline, or one incident of it, until it expires.

    Responders of the source can, unless the setting CAUSELINE_SHARE_LINKS is `off`. The link ends when whoever made it
    is not a responder any more.
    """
    source = Source.objects.get(pk=source_id, ready=True)
    if not rights.may_share(request.user, source.pk):
        raise HttpError(403, "Only responders of all of it can share it, where people sign in and links are allowed.")
    if wanted.hours > settings.SHARE_DAYS * 24:
        raise HttpError(422, f"A link expires after {settings.SHARE_DAYS} days at the latest.")
    if wanted.incident:
        lists.incident(source.pk, wanted.incident)
    kind = links.INCIDENT if wanted.incident else links.TIMELINE
    text, expires = _made(request, kind, source, wanted.hours, wanted.query, wanted.incident)
    page, arguments = ("incident", [source.pk, wanted.incident]) if wanted.incident else ("timeline", [source.pk])
    url = request.build_absolute_uri(f"{reverse(page, args=arguments)}?{urlencode({links.PARAMETER: text})}")
    return json_response(request, {"url": url, "expires": f"{expires:%Y-%m-%dT%H:%M:%SZ}"})


@router.post("/sources/{source_id}/views", response=EmbeddedView)
@needs.to_change("editor", "whole", action="embed")
def make_view(request: HttpRequest, source_id: Number, wanted: WantedFrame) -> HttpResponseBase:
    """Make an address under which whoever has it sees this timeline, without signing in, until it expires.

    Editors of the recording or cluster can, and only if the setting CAUSELINE_EMBED_ANCESTORS names the origins whose
    pages may show it. The link ends when whoever made it is not an editor any more.
    """
    source = Source.objects.get(pk=source_id, ready=True)
    if not settings.EMBED_ANCESTORS:
        raise HttpError(403, "Timelines cannot be embedded: CAUSELINE_EMBED_ANCESTORS names no origins.")
    text, expires = _made(request, links.EMBEDDED, source, wanted.hours, wanted.query)
    query = urlencode({"embed": 1, links.PARAMETER: text})
    url = request.build_absolute_uri(f"{reverse('timeline', args=[source.pk])}?{query}")
    html = format_html(_FRAME, url, source.name)
    return json_response(request, {"url": url, "html": html, "expires": f"{expires:%Y-%m-%dT%H:%M:%SZ}"})


def _made(
    request: HttpRequest, kind: str, source: Source, hours: int, query: str, incident: str = ""
) -> tuple[str, datetime]:
    """Make a link and return its text and when it expires."""
    expires = timezone.now() + timedelta(hours=hours)
    try:
        text, row = links.issue(
            kind, source, request.user, change_log.who(request), expires=expires, incident=incident, query=query
        )
    except links.LinkRefused as error:
        raise HttpError(409, str(error)) from None
    change_log.about(request, **links.described(row))
    return text, expires
