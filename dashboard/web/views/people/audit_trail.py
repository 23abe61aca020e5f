"""On these pages administrators read who did and saw what in Causeline, and download it as lines of JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from dashboard.access.roles import needs
from dashboard.access.trail import trail
from dashboard.access.trail.actions import ACTIONS
from dashboard.presentation.people.audit_trail import rows
from dashboard.web.downloads import Busy, Download
from dashboard.web.timestamps import parsed
from timeline.core.entries import moment
from timeline.core.numbers import whole_number

if TYPE_CHECKING:
    from django.http import HttpRequest

PAGE = 50  # records
_TEXTS = ("who", "action", "name", "thing")
_NUMBERS = ("source", "cluster")
_TIMES = ("since", "until")
_LONGEST = 200  # characters of a filter


class Invalid(Exception):
    """A filter cannot be understood. The message is a sentence for the person who wrote it."""


@needs.to_read("admin", "everything", action="see trail")
@never_cache
def show_trail(request: "HttpRequest") -> "HttpResponse":
    """Show the records that match the filter, the newest first, 50 on a page."""
    problem, found, following = "", [], ""
    asked = {name: request.GET.get(name, "").strip() for name in (*_TEXTS, *_NUMBERS, *_TIMES)}
    given = {name: value for name, value in asked.items() if value}
    try:
        before = _number("before", request.GET.get("before", "").strip())
        matching = trail.matching(_wanted(given))
        page = list((matching.filter(pk__lt=before) if before is not None else matching)[: PAGE + 1])
        found = rows(page[:PAGE])
        following = f"?{urlencode(given | {'before': page[PAGE - 1].pk})}" if len(page) > PAGE else ""
    except Invalid as error:
        problem = str(error)
    context: dict[str, Any] = {
        "problem": problem,
        "rows": found,
        "next": following,
        "first": f"?{urlencode(given)}" if "before" in request.GET else "",
        "asked": asked,
        "filtered": bool(given),
        "actions": sorted(ACTIONS),
        "download": f"{reverse('audit_export')}?{urlencode(given)}",
    }
    return render(request, "audit_trail.html", context, status=400 if problem else 200)


@needs.to_read("admin", "everything", action="export trail")
@never_cache
def export_trail(request: "HttpRequest") -> "HttpResponse | StreamingHttpResponse":
    """Download the records that match the filter, the oldest first, as one JSON object on each line."""
    given = {name: text for name, value in request.GET.items() if (text := str(value).strip())}
    try:
        pieces = Download(trail.lines(_wanted(given)))
    except Invalid as error:
        return HttpResponse(f"{error}\n", status=400, content_type="text/plain; charset=utf-8")
    except Busy:
        answer = HttpResponse("Too many downloads run. Try again in a moment.\n", status=503, content_type="text/plain")
        answer["Retry-After"] = "10"
        return answer
    streamed = StreamingHttpResponse(pieces, content_type="application/x-ndjson")
    streamed["Content-Disposition"] = 'attachment; filename="causeline-audit-trail.jsonl"'
    return streamed


def _wanted(given: Mapping[str, str]) -> trail.Wanted:
    """Return which records are asked for. Raises Invalid."""
    if any(len(value) > _LONGEST or "\0" in value for value in given.values()):
        raise Invalid(f"A filter has at most {_LONGEST} characters.")
    return trail.Wanted(
        who=given.get("who", ""),
        action=given.get("action", ""),
        name=given.get("name", ""),
        thing=given.get("thing", ""),
        source=_number("source", given.get("source", "")),
        cluster=_number("cluster", given.get("cluster", "")),
        since=_time("since", given.get("since", "")),
        until=_time("until", given.get("until", "")),
    )


def _number(name: str, text: str) -> int | None:
    number = whole_number(text)
    if text and number is None:
        raise Invalid(f"{name} has to be a number.")
    return number


def _time(name: str, text: str) -> datetime | None:
    try:
        return moment(parsed(text)) if text else None
    except ValueError as error:
        raise Invalid(f"{name}: {error}") from None
