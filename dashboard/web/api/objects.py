"""Return single objects and findings, entries, coverage, and the rules."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from ninja import Router
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.access.tokens import links
from dashboard.presentation import catalogue, changes
from dashboard.web.api.answers import Asked, Identity, Note, Number, Time, Words, in_order, json_response
from dashboard.web.inputs import person
from dashboard.web.places import in_place
from timeline.judge import rulebook
from timeline.layout.bodies import Work
from timeline.payloads.findings import AcknowledgementPayload
from timeline.payloads.objects import (
    CataloguePayload,
    EntriesPayload,
    FindingPagePayload,
    RevisionsPayload,
    ShownChangePayload,
    SourceCoveragePayload,
    TrackPayload,
)
from timeline.payloads.views import CopyPayload
from timeline.queries.incidents import finding as finding_page
from timeline.queries.objects import copies
from timeline.queries.objects import entries as entries_queries
from timeline.queries.objects import page as object_page
from timeline.queries.objects import revisions as revisions_queries
from timeline.queries.sources import coverage as coverage_queries
from timeline.storage.people import acknowledgements

router = Router(tags=["objects"])
_Cursor = Annotated[str, Field(pattern=r"^\d{0,15}$")]

_Revision = Annotated[str, Field(pattern=r"^[1-9]\d{0,38}$")]


class Noted(Asked):
    note: Note = ""


@router.get("/sources/{source_id}/tracks/{track_id}", response=TrackPayload)
@needs.to_read("viewer", action="see")
def track(request: HttpRequest, source_id: Number, track_id: Number) -> HttpResponseBase:
    """Return the life of one object: its owner, children and dependencies in both directions, and its findings."""
    return json_response(request, object_page.track(source_id, track_id))


@router.get("/sources/{source_id}/tracks/{track_id}/revisions", response=RevisionsPayload)
@needs.to_read("viewer", action="see")
@in_place
def revisions(
    request: HttpRequest,
    source_id: Number,
    track_id: Number,
    cursor: _Cursor = "",
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
    bodies: bool = False,
    differences: bool = False,
) -> HttpResponseBase:
    """Return the changes of an object in commit order, with bodies and differences on request. Pass `next` as cursor
    for more."""
    page = revisions_queries.revisions(source_id, track_id, int(cursor or 0), limit)
    withheld = coverage_queries.withheld(source_id)
    work = Work() if differences else None
    payload: RevisionsPayload = {
        "revisions": [
            changes.listed(source_id, track_id, each, withheld, work, bodies=bodies) for each in page.revisions
        ],
        "next": None if page.next is None else str(page.next),
        "total": page.total,
    }
    return json_response(request, payload)


@router.get("/sources/{source_id}/tracks/{track_id}/change", response=ShownChangePayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
@in_place
def change(
    request: HttpRequest,
    source_id: Number,
    track_id: Number,
    sequence: Number | None = None,
    at: Time = 0,
    revision: Number | None = None,
) -> HttpResponseBase:
    """Return one change of an object: when, who wrote it, and the difference that it made, or the object if it is new.

    It is the change with the number `sequence`; without one, that with this `revision`, or else the one nearest to the
    time `at`. With a share link, a new object is not returned. `earlier` and `later` are the numbers of the changes
    before and after it.
    """
    found = revisions_queries.change_in_place(source_id, track_id, sequence=sequence, at=at, revision=revision)
    if found is None:
        raise HttpError(404, "The object has no such change.")
    shown = changes.beside(found, coverage_queries.withheld(source_id))
    if shown["whole"] and links.of_request(request):
        shown |= {"lines": [], "lines_total": 0, "nothing": "A shared timeline does not show whole objects."}
    return json_response(request, shown)


@router.get("/sources/{source_id}/tracks/{track_id}/copy", response=CopyPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
@in_place
def copy(
    request: HttpRequest, source_id: Number, track_id: Number, copied: _Revision, stood: _Revision
) -> HttpResponseBase:
    """Return how an object differed at the revision `stood`, the newest when somebody acted, from the revision `copied`
    of the copy on which they acted."""
    acted_on = not links.of_request(request) or copies.is_acted_on(source_id, track_id, copied, stood)
    found = copies.copy_and_stood(source_id, track_id, int(copied), int(stood)) if acted_on else None
    if found is None:
        raise HttpError(404, "The object has no such revisions.")
    return json_response(request, changes.copy_beside(*found, coverage_queries.withheld(source_id)))


@router.get("/sources/{source_id}/entries", response=EntriesPayload)
@needs.to_read("viewer", action="export")
@in_place
def entries(
    request: HttpRequest,
    source_id: Number,
    start: Time | None = None,
    end: Time | None = None,
    namespace: Words = "",
    kind: Words = "",
    name: Words = "",
    cursor: _Cursor = "",
    limit: Annotated[int, Field(ge=1, le=1000)] = 100,
    bodies: bool = False,
) -> HttpResponseBase:
    """Return entries as they were read, by the time at which their requests arrived. Pass `next` for more."""
    in_order(start, end)
    found = entries_queries.entries(
        source_id,
        start=start,
        end=end,
        namespace=namespace,
        kind=kind,
        name=name,
        after=int(cursor or 0),
        limit=limit,
        bodies=bodies,
    )
    return json_response(request, found)


@router.get("/sources/{source_id}/findings/{identity}", response=FindingPagePayload)
@needs.to_read("viewer", action="see")
def finding(request: HttpRequest, source_id: Number, identity: Identity) -> HttpResponseBase:
    """Return a finding as in the findings document, with its occurrences and the objects that it names."""
    return json_response(request, finding_page.finding(source_id, identity))


@router.put("/sources/{source_id}/findings/{identity}/acknowledgement", response=AcknowledgementPayload)
@needs.to_change("responder", action="acknowledge", scope="respond")
def acknowledge(request: HttpRequest, source_id: Number, identity: Identity, body: Noted) -> HttpResponseBase:
    """Acknowledge a finding with a note, which replaces an earlier one."""
    return json_response(request, acknowledgements.acknowledge(source_id, identity, person(request), body.note.strip()))


@router.delete("/sources/{source_id}/findings/{identity}/acknowledgement", response={204: None})
@needs.to_change("responder", action="withdraw", scope="respond")
def withdraw(request: HttpRequest, source_id: Number, identity: Identity) -> HttpResponse:
    """Withdraw the acknowledgement of a finding."""
    if not acknowledgements.withdraw(source_id, identity):
        raise HttpError(404, "The finding is not acknowledged.")
    return HttpResponse(status=204)


@router.get("/sources/{source_id}/coverage", response=SourceCoveragePayload)
@needs.to_read("viewer", action="see")
def coverage(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """Return what was seen of each kind, what each rule can judge, what was skipped, and the corrected clocks."""
    return json_response(request, coverage_queries.coverage(source_id))


@router.get("/rules", response=list[CataloguePayload])
@needs.to_read("signed in", action=None, limited=True)
def rules(request: HttpRequest) -> HttpResponseBase:
    """Return the catalogue of rules, with the thresholds in force."""
    return json_response(request, [catalogue.payload(rule) for rule in rulebook()])
