"""Show one incident: whether it goes on, what proves it, what to do, its findings, and who knows of it."""

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import redirect, render
from django.utils import timezone

from dashboard.access import limits
from dashboard.access.roles import needs
from dashboard.access.tokens import links
from dashboard.drawing.pictures import Picture, steps_of
from dashboard.presentation import alerts, changes_before, incidents, views, wording
from dashboard.presentation.catalogue import words
from dashboard.presentation.people import shared
from dashboard.presentation.symptoms import separation, symptoms
from dashboard.web.inputs import NoteTooLong, note_of, person, source_of, text_of
from dashboard.web.places import in_place
from dashboard.web.views.incidents.findings import because, linked, proof_row
from dashboard.web.views.people.shared import share_dialog
from timeline.core.entries import microseconds
from timeline.models import Finding, Incident, SeparateSymptom, Source, Symptom
from timeline.queries.alerts import received as alert_queries
from timeline.queries.changes import before as before_queries
from timeline.queries.incidents import causes, finding, lists
from timeline.queries.objects import lives
from timeline.queries.people import acknowledgements as acknowledgements_queries
from timeline.queries.people import baselines
from timeline.queries.people import separations as separations_queries
from timeline.storage.people import acknowledgements, answering, separations

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from timeline.payloads.findings import IncidentRowPayload
    from timeline.queries.sources.extents import SourceRow


@needs.to_read("viewer", action="see incident", links=(links.INCIDENT,))
@needs.to_change("responder", action="acknowledge")
@in_place
def show_incident(request: "HttpRequest", source_id: int, identity: str) -> "HttpResponse":
    """Show an incident. What was an incident of its own before leads to the one that it is a symptom of now."""
    source = source_of(source_id)
    try:
        incident = lists.incident(source_id, identity)
        link = links.of_request(request)
        if incident["id"] != identity and not link:
            return redirect(incident["url"])
        if request.method == "POST":
            return _note(request, source, incident)
        if link:
            return _shared(request, {**_context(source, links.public(incident)), "link": link})
        return render(request, "incident.html", {**_context(source, incident), **share_dialog(request, source.id)})
    except (Source.DoesNotExist, Incident.DoesNotExist, Finding.DoesNotExist):
        raise Http404(f"The recording {source.name} has no such incident.") from None


@needs.to_change("responder", action="separate")
def change_symptom(request: "HttpRequest", source_id: int, identity: str) -> "HttpResponse":
    """Take a symptom out of an incident, because it has not the same cause, or undo that."""
    source = source_of(source_id)
    symptom = text_of(request.POST, "symptom")
    try:
        if request.POST.get("act") == "undo":
            separations.rejoin(source.id, identity, symptom)
        else:
            separations.separate(source.id, identity, symptom, person(request))
    except (Symptom.DoesNotExist, SeparateSymptom.DoesNotExist):
        raise Http404("The incident has no such symptom any more.") from None
    return redirect(f"/sources/{source.id}/incidents/{identity}/#caused")


def _shared(request: "HttpRequest", context: dict[str, Any]) -> "HttpResponse":
    """Show the incident to whoever has a link to it, who can open none of the pages that it leads to, and does not see
    what people wrote about it."""
    context |= {"ended": [], "alerts": alerts.rows(links.public(context.pop("received")))}
    answer = render(request, "shared_incident.html", context)
    answer.content = shared.without_links(answer.content.decode()).encode()
    links.frameable(answer, embedded=False)
    return answer


def _note(request: "HttpRequest", source: "SourceRow", incident: "IncidentRowPayload") -> "HttpResponse":
    """Acknowledge the incident, or remove its acknowledgement."""
    if request.POST.get("act") == "withdraw":
        acknowledgements.withdraw(source.id, incident["id"])
        return redirect(f"{incident['url']}#noted")
    try:
        note = note_of(request.POST)
    except NoteTooLong as error:
        context = {**_context(source, incident), "note": text_of(request.POST, "note"), "problem": str(error)}
        return render(request, "incident.html", context, status=400)
    acknowledgements.acknowledge_incidents(source.id, [incident["id"]], person(request), note)
    return redirect(f"{incident['url']}#noted")


def _context(source: "SourceRow", incident: "IncidentRowPayload") -> dict[str, Any]:
    """Return what the template shows. Raises Finding.DoesNotExist if the findings have just been withdrawn."""
    worst, shown = finding.shown_of(source.id, incident)
    columns, start, end = finding.columns(source.id, worst, shown)
    steps = steps_of(shown["proof"], worst["subject"], columns)
    now = microseconds(timezone.now())
    noted = incident["acknowledged"]
    asked = before_queries.asked(source.id, incident=incident["id"])
    before = before_queries.changes_before(source.id, asked.at, about=asked.tracks, limit=_CHANGES)
    received = alert_queries.alerts_during(source.id, incident["id"])
    return {
        "source": source,
        "incident": incident,
        "in_part": answering.refusal_to_answer(Incident, source.id, incident["id"]),
        "received": received["alerts"],
        "alerts": alerts.rows(received["alerts"]),
        "alerts_more": received["more"],
        "symptoms": symptoms(incident),
        "separated": [separation(each, incident) for each in separations_queries.separated(source.id, incident["id"])],
        "card": incidents.card(incident, source.last, now, live=source.is_live),
        "about": lives.page_of(source.id, incident["anchor"]),
        "worst": worst,
        "shown": shown,
        "picture": linked(Picture(columns, start, end, finding=shown["key"], steps=steps), source.id),
        "proofs": [proof_row(each, source.id) for each in shown["proof"]],
        "ended": [
            why
            for why in (
                acknowledgements_queries.ended(source.id, incident["id"]),
                baselines.worse(source.id, incident["id"]),
            )
            if why
        ],
        "why": words(shown["why"]),
        "steps": wording.advice(incident["advice"]),
        "changes": changes_before.rows(before),
        "changes_total": before["total"],
        "changes_minutes": changes_before.minutes(before["minutes"]),
        "changes_nothing": changes_before.nothing(before, part=bool(limits.in_part(source.id))),
        **because(causes.cause_of(source.id, incident["caused"]), source.id, incident["cause"]),
        "view": views.shown(source.id, incident["caused"] or worst["id"], shown["start"], shown["end"]),
        "findings": lists.findings_of_incident(source.id, incident),
        "compared": worst["focus"],
        "several_namespaces": len([each for each in incident["anchored_in"] if each]) > 1,
        "more": max(0, incident["findings"] - lists.FINDINGS_SHOWN),
        "acknowledged_at": noted["at"][:19].replace("T", " ") if noted else "",
        "note": "",
    }


_CHANGES = 3  # sets of changes that the page of an incident shows
