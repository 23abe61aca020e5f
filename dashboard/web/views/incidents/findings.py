"""Show one finding: what happened, the proof, the verdict, what to do, and its acknowledgement."""

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import redirect, render

from dashboard.access.roles import needs
from dashboard.drawing.pictures import Picture, steps_of
from dashboard.presentation import views, wording
from dashboard.presentation.catalogue import BENIGN, sections, words
from dashboard.presentation.symptoms import same_cause
from dashboard.web.inputs import NoteTooLong, note_of, number, person, source_of, text_of
from dashboard.web.places import in_place
from dashboard.web.views.objects import when
from timeline.judge import rulebook
from timeline.models import Finding, Source
from timeline.payloads.documents import timestamp
from timeline.payloads.incidents.occurrences import listed
from timeline.queries.incidents import causes, lists
from timeline.queries.incidents import finding as finding_page
from timeline.queries.people import acknowledgements
from timeline.storage.people import acknowledgements as acknowledgements_storage
from timeline.storage.people import answering

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from timeline.payloads.objects import FindingPagePayload, OccurrencePayload
    from timeline.queries.incidents.causes import CauseOf
    from timeline.queries.sources.extents import SourceRow

_TIMES = 200  # the most occurrences that are listed
_NAMED = 12  # objects that are shown; further ones are folded


@needs.to_read("viewer", action="see")
@needs.to_change("responder", action="acknowledge")
@in_place
def show_finding(request: "HttpRequest", source_id: int, identity: str) -> "HttpResponse":
    source = source_of(source_id)
    try:
        if request.method == "POST":
            return _acknowledge(request, source, identity)
        finding = finding_page.finding(source_id, identity)
    except (Source.DoesNotExist, Finding.DoesNotExist):
        raise Http404(f"The recording {source.name} has no such finding.") from None
    return render(request, "finding.html", _context(request, source, finding))


def _acknowledge(request: "HttpRequest", source: "SourceRow", identity: str) -> "HttpResponse":
    if request.POST.get("act") == "withdraw":
        acknowledgements_storage.withdraw(source.id, identity)
    else:
        try:
            note = note_of(request.POST)
        except NoteTooLong as error:
            context = _context(request, source, finding_page.finding(source.id, identity))
            context |= {"note": text_of(request.POST, "note"), "problem": str(error)}
            return render(request, "finding.html", context, status=400)
        others = _listed_with(source.id, finding_page.finding(source.id, identity)) if "others" in request.POST else ()
        for each in (identity, *others):
            acknowledgements_storage.acknowledge(source.id, each, person(request), note)
    return redirect(f"/sources/{source.id}/findings/{identity}/#noted")


def _listed_with(source_id: int, finding: "FindingPagePayload") -> dict[str, str]:
    return acknowledgements.listed_with(source_id, finding["id"], [each["key"] for each in finding["occurrences"]])


def _context(request: "HttpRequest", source: "SourceRow", finding: "FindingPagePayload") -> dict[str, Any]:
    times = finding["occurrences"]
    worst = finding_page.gravest(finding)
    asked_for = number(request, "occurrence") or 0
    place = asked_for if 0 < asked_for <= len(times) else times.index(worst) + 1
    shown = times[place - 1]
    columns, start, end = finding_page.columns(source.id, finding, shown)
    steps = steps_of(shown["proof"], finding["subject"], columns)
    rule = next(rule for rule in rulebook() if rule.id == finding["rule"])
    seen = {
        (each["object"]["kind"], each["object"]["namespace"], each["object"]["name"]) for each in finding["objects"]
    }
    named = [finding["subject"], *([finding["other"]] if finding["other"] else []), *finding["affects"]]
    noted = finding["acknowledged"]
    objects = [{**each, "when": when(each["start"], each["end"])} for each in finding["objects"]]
    return {
        "source": source,
        "incident": lists.incident_of(source.id, finding["id"]),
        "same_cause": same_cause(lists.others_of_cause(source.id, finding["id"])),
        **because(causes.cause_of(source.id, finding["id"]), source.id),
        "behind": causes.caused_by(source.id, finding),
        "view": views.shown(source.id, finding["id"], shown["start"], shown["end"]),
        "finding": finding,
        "in_part": answering.refusal_to_answer(Finding, source.id, finding["id"]),
        "number": place,
        "shown": shown,
        "when": _when(shown["start"], shown["proof"]),
        "picture": linked(Picture(columns, start, end, finding=shown["key"], steps=steps), source.id),
        "proofs": [proof_row(each, source.id) for each in shown["proof"]],
        "effect_text": shown["effect_text"].replace("{names}", finding["subject"]["name"]),
        "why": words(shown["why"]),
        "steps": wording.advice(finding["advice"]),
        "benign": next([*each.paragraphs, *each.points] for each in sections(rule) if each.heading == BENIGN),
        "objects": objects[:_NAMED],
        "more_objects": objects[_NAMED:],
        "unseen": [
            f"{each['kind']} {each['name']}"
            for each in named
            if (each["kind"], each["namespace"], each["name"]) not in seen
        ],
        "occurrences": [_time(at, each, finding) for at, each in enumerate(times[:_TIMES], 1)],
        "more": max(0, len(times) - _TIMES),
        "acknowledged_at": noted["at"][:19].replace("T", " ") if noted else "",
        "note": "",
        "others": listed(sorted(_listed_with(source.id, finding).values())),
    }


def linked(drawn: Picture, source_id: int) -> Picture:
    """Return the picture with a link from each lane to the page of its object."""
    drawn.lanes = [{**lane, "url": f"/sources/{source_id}/objects/{lane['track']}/"} for lane in drawn.lanes]
    return drawn


def proof_row(each: dict[str, Any], source_id: int) -> dict[str, str]:
    track = each["track"]
    url = f"/sources/{source_id}/objects/{track}/?at={each['at']}#revisions" if track else ""
    return {**wording.proof(each, ""), "url": url}  # type: ignore[arg-type]


def because(cause: "CauseOf | None", source_id: int, words: str = "") -> dict[str, Any]:
    """Return what parts/cause.html shows. `words` says it of a whole incident."""
    if cause is None:
        return {"cause": None}
    return {
        "cause": cause,
        "because": words or cause["sentence"],
        "chain": [proof_row(each, source_id) for each in cause["proof"]],
    }


def _when(moment: int, proof: list[Any]) -> str:
    return f"{wording.clock_of(moment)[:10]} {wording.proved(timestamp(moment), proof)}"


def _time(number: int, each: "OccurrencePayload", finding: "FindingPagePayload") -> dict[str, Any]:
    harm = each["effect_text"].replace("{names}", finding["subject"]["name"])
    return {
        "number": number,
        "start": _when(each["start"], each["proof"]),
        "end": _when(each["end"], each["proof"]),
        "effect": f"{each['effect']}: {harm}" if harm else each["effect"],
        "timeline": each["timeline"],
    }
