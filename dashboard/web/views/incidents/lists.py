"""List the incidents of one source or of all, and acknowledge many at once."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple, get_args
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.shortcuts import redirect, render
from django.utils import timezone
from ninja import Schema

from dashboard.access.roles import needs
from dashboard.presentation import incidents as words
from dashboard.presentation import wording
from dashboard.web.api.answers import Time
from dashboard.web.api.incidents import Cursor
from dashboard.web.inputs import NOTE, WrongSearch, checked, note_of, person, source_of
from timeline.core.entries import microseconds, moment
from timeline.judging.findings import Severity
from timeline.payloads.findings import FindingOrder, IncidentState
from timeline.queries.filters import IncidentFilter, SourceIncidentFilter
from timeline.queries.incidents import filters, lists
from timeline.queries.incidents.pages import WrongOrder
from timeline.queries.people import acknowledgements
from timeline.storage.people import acknowledgements as acknowledgements_storage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpRequest, HttpResponse

    from timeline.queries.sources.extents import SourceRow

_KEY = re.compile(r"(\d{1,18})\.([0-9a-f]{16})")
_CHECKED = 1000  # rows that a form can name; a page has fewer
_SELECTING = SourceIncidentFilter.model_fields.keys() - {"harmless", "silenced", "acknowledged"}
# Parameters without a field in the form.
_HIDDEN = ("harmless", "silenced", "acknowledged", "root", "track", "kinds", "name", "start", "end")
_ORDERS = {"newest": "Newest first", "time": "In order of time", "gravest": "Gravest first"}


class _Place(Schema):
    """The parameters of a page that select no incidents."""

    order: FindingOrder | None = None
    cursor: Cursor = ""
    noted: Time | None = None  # when incidents were acknowledged at once, which can be undone


class Asked(NamedTuple):
    """What the address of a page asks for."""

    filter: IncidentFilter
    place: _Place
    given: dict[str, str]  # the parameters that are not empty
    wrong: str = ""  # a sentence about a search that means nothing, which does not narrow the list

    def link(self, **changed: str) -> str:
        """Return the address of the first page with some parameters changed, or left out if empty."""
        kept = {**self.given, "cursor": "", "noted": "", **changed}
        return "?" + urlencode({name: value for name, value in kept.items() if value})


@needs.to_read("viewer", action="list")
@needs.to_change("responder", action="acknowledge")
def show_incidents(request: "HttpRequest") -> "HttpResponse":
    """Show the incidents of all sources. Raises BadRequest if a parameter of the address is not valid."""
    return _show(request, None, IncidentFilter)


@needs.to_read("viewer", action="see")
@needs.to_change("responder", action="acknowledge")
def show_incidents_of_source(request: "HttpRequest", source_id: int) -> "HttpResponse":
    """Show the incidents of a source. Raises Http404, and BadRequest if a parameter of the address is not valid."""
    source = source_of(source_id)
    return _show(request, source, SourceIncidentFilter)


def _show(request: "HttpRequest", source: "SourceRow | None", fields: type[IncidentFilter]) -> "HttpResponse":
    asked = _asked(request, fields)
    if request.method == "POST":
        return _change(request, asked, source.id if source else None)
    return render(request, "incidents.html", _context(request, source, asked))


def _asked(request: "HttpRequest", fields: type[IncidentFilter]) -> Asked:
    given = {name: value for name, value in request.GET.dict().items() if value}
    hides = acknowledgements.has_acknowledged(person(request))
    named = {name: text for name, text in given.items() if name in fields.model_fields}
    first = {"acknowledged": not hides, "harmless": False}
    try:
        wanted, wrong = checked(fields, {**first, **named}), ""
    except WrongSearch as error:
        if request.method == "POST":  # nothing is changed by a filter that was not understood
            raise
        for name in ("q", "start", "end"):
            named.pop(name, None)
        wanted, wrong = checked(fields, {**first, **named}), str(error)
    return Asked(wanted, checked(_Place, given), given, wrong)


def _change(request: "HttpRequest", asked: Asked, source_id: int | None) -> "HttpResponse":
    """Acknowledge what is checked, or all that the filter matches, or undo that."""
    by = person(request)
    if request.POST.get("act") == "undo":
        if asked.place.noted is not None:
            acknowledgements_storage.undo(moment(asked.place.noted), by)
        return redirect(request.path + asked.link())
    note = note_of(request.POST)
    if "all" in request.POST:
        wanted = lists.listed_identities(source_id, asked.filter)
    else:
        wanted = named_in(request.POST.getlist("incident")[:_CHECKED], source_id)
    at = acknowledgements_storage.acknowledge_new(wanted, by, note)
    return redirect(request.path + asked.link(noted=str(microseconds(at))))


def named_in(keys: "Iterable[str]", source_id: int | None) -> dict[int, list[str]]:
    """Return the incidents that the rows of a form name, by source; only those of a source if one is given."""
    wanted: dict[int, list[str]] = {}
    for key in keys:
        if (found := _KEY.fullmatch(key)) and source_id in (None, int(found[1])):
            wanted.setdefault(int(found[1]), []).append(found[2])
    return wanted


def _context(request: "HttpRequest", source: "SourceRow | None", asked: Asked) -> dict[str, Any]:
    number = source.id if source else None
    wanted, place = asked.filter, asked.place
    order = place.order or ("newest" if source is None or source.is_live else "gravest")
    try:
        listed = lists.incidents(number, wanted, order=order, cursor=place.cursor)
    except WrongOrder as error:
        raise BadRequest(str(error)) from None
    now = microseconds(timezone.now())
    origins = lists.origins({each["source"] for each in listed["incidents"]})
    rows = [words.row(each, origins[each["source"]], now) for each in listed["incidents"] if each["source"] in origins]
    noted = acknowledgements.acknowledged_at(moment(place.noted), person(request)) if place.noted is not None else 0
    old = wording.outdated(source) if source else _outdated(lists.judged_before())
    return {
        "section": "incidents",
        "source": source,
        "rows": rows,
        "live": any(origin.live for origin in origins.values()) or bool(source and source.is_live),
        "listed": listed,
        "summary": words.summary(listed),
        "harmless": words.without_harm(listed["harmless"], listed["total"] + listed["acknowledged"]),
        "range": _range(asked),
        "span": "Last 6 hours" if source and source.is_live else "In the recording" if source else "Course",
        "severities": get_args(Severity),
        "states": get_args(IncidentState),
        "choices": filters.choices(number),
        "orders": {name: _ORDERS[name] for name in get_args(FindingOrder)},
        "asked": {**dict.fromkeys((*SourceIncidentFilter.model_fields, "order"), ""), **asked.given},
        "wanted": wanted,
        "wrong": asked.wrong,
        "filtered": bool(_SELECTING & asked.given.keys()),
        "kept": {name: asked.given[name] for name in _HIDDEN if name in asked.given},
        "links": {
            "all": request.path,
            "everything": asked.link(root="", track="", kinds="", name=""),
            "any_time": asked.link(start="", end=""),
            "here": asked.link(),
            "orders": {name: asked.link(order=name) for name in get_args(FindingOrder)},
            "next": asked.link(cursor=listed["next"]) if listed["next"] else "",
            "first": asked.link() if place.cursor else "",
            "harmless": asked.link(harmless="" if wanted.harmless else "true"),
            "silenced": asked.link(silenced="" if wanted.silenced else "true"),
            "acknowledged": asked.link(acknowledged="false" if wanted.acknowledged else "true"),
        },
        "noted": noted,
        "noted_at": place.noted,
        "outdated": old,
        "most": NOTE,
    }


def _range(asked: Asked) -> str:
    """Return the range of time that the address names besides the search, in words; "" without one."""
    ends = {"since": asked.filter.start, "until": asked.filter.end}
    named = [
        f"{word} {moment(time):%Y-%m-%d %H:%M:%S} UTC"
        for (word, time), name in zip(ends.items(), ("start", "end"), strict=True)
        if time is not None and name in asked.given
    ]
    return " ".join(named)


def _outdated(sources: int) -> str:
    """Return a sentence about sources that have to be judged again; "" if there are none."""
    if not sources:
        return ""
    these = "One recording or cluster was" if sources == 1 else f"{sources} recordings or clusters were"
    return f"{these} judged by an older version of Causeline. Their incidents are listed once they are judged again."
