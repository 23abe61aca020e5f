"""Show one object: its lifeline, its relations, and the difference that each change made."""

import re
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import content_disposition_header

from dashboard.access.roles import needs
from dashboard.drawing.pictures import Picture
from dashboard.presentation import alerts, changes, log_lines, objects, wording
from dashboard.web.inputs import number, source_of
from dashboard.web.places import in_place
from timeline.core.entries import microseconds
from timeline.kinds import qualified
from timeline.layout import bodies
from timeline.models import Source, Track
from timeline.queries.alerts import received as alert_queries
from timeline.queries.logs import lines as log_queries
from timeline.queries.objects import lives as object_lives
from timeline.queries.objects import page as object_page
from timeline.queries.objects import revisions
from timeline.queries.sources import coverage

if TYPE_CHECKING:
    from django.http import HttpRequest

    from timeline.core.entries import Entry
    from timeline.payloads.objects import LifePayload, TrackPayload
    from timeline.queries.sources.extents import SourceRow

_CURSOR = re.compile(r"[0-9]{1,16}\.[0-9]{1,9}\.[0-9]{1,15}")
_CHARACTERS = 2_000_000  # the most that a page shows of an object


@needs.to_read("viewer", action="see")
@in_place
def show_object(request: "HttpRequest", source_id: int, track_id: int) -> "HttpResponse":
    source, track = _asked(source_id, track_id)
    managed = request.GET.get("managed") == "1"
    offset, at = (number(request, name) for name in ("offset", "at"))
    page = revisions.revisions(source_id, track_id, offset or 0, at=at)
    columns, start, end = object_lives.life_columns(track)
    withheld, work = coverage.withheld(source_id), bodies.Work()
    lines = log_queries.lines(source_id, about=track_id, after=_cursor(request))
    day = f"{source.last:%Y-%m-%d}" if source.last else ""
    received = alert_queries.alerts_about(source_id, track_id)
    context = {
        "source": source,
        "track": track,
        "alerts": alerts.rows(received["alerts"]),
        "alerts_more": received["more"],
        "lines": log_lines.rows(lines),
        "later_lines": lines["next"],
        "wrong": objects.wrong(track["incidents"], source, microseconds(timezone.now())),
        "findings_of_it": objects.findings_of_it(len(track["findings"])),
        "status": objects.status(track["status"], track["object"]["kind"], track["end"], day, withheld),
        "kind": qualified(track["object"]["group"], track["object"]["kind"]),
        "when": when(track["start"], track["end"]),
        "picture": Picture(columns, start, end),
        "related": list(_related(track)),
        "managed": managed,
        "revisions": [
            {**changes.in_words(each, withheld, managed, work), "asked": each.time == at, "offset": page.offset + place}
            for place, each in enumerate(page.revisions)
        ],
        "page": {
            "offset": page.offset,
            "first": page.offset + 1,
            "last": page.offset + len(page.revisions),
            "total": page.total,
            "parts": page.parts,
            "before": max(0, page.offset - revisions.PAGE) if page.offset else None,
            "after": page.next,
        },
    }
    return render(request, "object.html", context)


@needs.to_read("viewer", action="see")
@in_place
def show_revision(request: "HttpRequest", source_id: int, track_id: int, sequence: int) -> "HttpResponse":
    source, track = _asked(source_id, track_id)
    entry = _observed(source_id, track_id, sequence)
    managed = request.GET.get("managed") == "1"
    try:
        yaml = bodies.as_yaml(entry.body, bodies.Work(), managed_fields=managed)
    except bodies.TooLarge:
        yaml = ""
    context = {
        "source": source,
        "track": track,
        "sequence": sequence,
        "at": entry.received,
        "clock": wording.clock_of(entry.received),
        "revision": entry.resource_version,
        "managed": managed,
        "yaml": yaml if len(yaml) <= _CHARACTERS else "",
        "bytes": len(entry.body),
    }
    return render(request, "revision.html", context)


@needs.to_read("viewer", action="see")
@in_place
def download_revision(request: "HttpRequest", source_id: int, track_id: int, sequence: int) -> "HttpResponse":
    """Return an object after a change as JSON, as it is stored: redacted."""
    _, track = _asked(source_id, track_id)
    answer = HttpResponse(_observed(source_id, track_id, sequence).body, content_type="application/json")
    name = f"{track['object']['kind']}-{track['object']['name']}-{sequence}.json"
    answer["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return answer


def _observed(source_id: int, track_id: int, sequence: int) -> "Entry":
    """Return the entry of a change that shows the object. Raise Http404."""
    entry = revisions.revision(source_id, track_id, sequence)
    if entry is None or not entry.body:
        raise Http404("The recording has no body of the object at this change.")
    return entry


def _asked(source_id: int, track_id: int) -> "tuple[SourceRow, TrackPayload]":
    source = source_of(source_id)
    try:
        return source, object_page.track(source_id, track_id)
    except (Source.DoesNotExist, Track.DoesNotExist):
        raise Http404(f"The recording {source.name} has no such object.") from None


def _cursor(request: "HttpRequest") -> str:
    """Return from which line of logs on the reader asked for lines; "" for the first one."""
    text = request.GET.get("lines", "")
    return text if _CURSOR.fullmatch(text) else ""


def when(start: int | None, end: int | None) -> str:
    if start is None:
        return "never seen"
    return wording.span(start, end) if end else f"since {wording.span(start, start).partition(' – ')[0]}"


def _related(track: "TrackPayload") -> Any:
    """Yield each heading that has objects, with these objects."""
    groups: list[tuple[str, list[LifePayload], int]] = [
        (
            "Other incarnations of this name",
            [each for each in track["incarnations"] if each["track"] != track["track"]],
            0,
        ),
        ("Owner", [track["owner"]] if track["owner"] else [], 0),
        ("Children", track["children"], track["children_total"]),
        ("Needs", track["needs"], 0),
        ("Needed by", track["needed_by"], track["needed_by_total"]),
        ("Events about it", track["events"], track["events_total"]),
    ]
    for heading, lives, total in groups:
        if lives:
            members = [{**each, "when": when(each["start"], each["end"])} for each in lives]
            yield {"heading": heading, "lives": members, "total": max(total, len(lives))}
