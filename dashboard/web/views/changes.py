"""Show what changed before an incident, a finding, an object's end, or any time of a source."""

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import render

from dashboard.access import limits
from dashboard.access.roles import needs
from dashboard.presentation import changes_before, wording
from dashboard.web.inputs import number, source_of
from dashboard.web.timestamps import parsed
from timeline.judging.incidents.changes import MINUTES, MINUTES_AT_MOST
from timeline.models import Finding, Incident, Source, Track
from timeline.payloads.documents import timestamp
from timeline.queries.changes import before
from timeline.queries.incidents import finding as finding_page
from timeline.queries.incidents import lists

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from timeline.queries.sources.extents import SourceRow

_SHOWN = 50  # the most sets of changes on the page
_CHOICES = (5, 30, 120, 720, MINUTES_AT_MOST)


@needs.to_read("viewer", action="see")
def show_changes(request: "HttpRequest", source_id: int) -> "HttpResponse":
    source = source_of(source_id)
    incident, finding, track = request.GET.get("incident", ""), request.GET.get("finding", ""), number(request, "about")
    try:
        asked = before.asked(source_id, track=track, incident=incident, finding=finding)
        about = _about(source, incident, finding, track)
    except (Source.DoesNotExist, Incident.DoesNotExist, Finding.DoesNotExist, Track.DoesNotExist):
        raise Http404(f"The recording {source.name} has nothing of that name.") from None
    minutes = min(MINUTES_AT_MOST, number(request, "minutes") or MINUTES)
    at, problem = asked.at, ""
    if text := request.GET.get("before", "").strip():
        try:
            at = parsed(text)
        except ValueError as error:
            problem = str(error)
    found = before.changes_before(source_id, at, about=asked.tracks, minutes=minutes, limit=_SHOWN)
    context: dict[str, Any] = {
        "source": source,
        "about": about,
        "asked": {"incident": incident, "finding": finding, "about": "" if track is None else str(track)},
        "at": wording.clock_of(at),
        "iso": timestamp(at),
        "before": text if problem else timestamp(at),
        "problem": problem,
        "minutes": minutes,
        "choices": [(each, changes_before.minutes(each) if each < 120 else _hours(each)) for each in _choices(minutes)],
        "rows": changes_before.rows(found),
        "total": found["total"],
        "complete": found["complete"],
        "nothing": changes_before.nothing(found, part=bool(limits.in_part(source_id))),
        "outdated": wording.outdated(source),
        "timeline": f"/sources/{source_id}/?start={max(0, at - minutes * 60_000_000)}&end={at + 1_000_000}",
    }
    return render(request, "changes.html", context, status=400 if problem else 200)


def _choices(minutes: int) -> list[int]:
    return sorted({*_CHOICES, minutes})


def _hours(minutes: int) -> str:
    return f"{minutes / 60:g} hours"


def _about(source: "SourceRow", incident: str, finding: str, track: int | None) -> tuple[str, str]:
    """Return title and address of what is asked about; "" for all objects of a source."""
    if incident:
        return lists.incident(source.id, incident)["title"], f"/sources/{source.id}/incidents/{incident}/"
    if finding:
        return finding_page.finding(source.id, finding)["summary"], f"/sources/{source.id}/findings/{finding}/"
    if track is not None:
        row = Track.objects.only("source", "kind", "namespace", "name").get(source=source.id, id=track)
        named = f"{row.kind} {row.name}"
        return f"{named} in {row.namespace}" if row.namespace else named, f"/sources/{source.id}/objects/{track}/"
    return "", ""
