"""Answer in one go what the page of a timeline shows first, and what it needs for that.

What the page needs next depends on what it got: the range of the first window is around the gravest finding. Five
requests one after the other took as long as all scripts of the page.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router

from dashboard.access.roles import needs
from dashboard.web import timestamps
from dashboard.web.api.answers import Number, Time, in_order, json_response
from timeline.layout.opening import Axis, OpeningPayload, first_view
from timeline.payloads.findings import FindingGroupPayload, IncidentsPayload, IncidentState
from timeline.queries.filters import SourceIncidentFilter
from timeline.queries.incidents import lists
from timeline.queries.incidents.findings import findings
from timeline.queries.sources import live as live_sources
from timeline.queries.window import overview as overview_queries
from timeline.queries.window import windows
from timeline.queries.window.view import FindingFilter, Grouping, View

router = Router(tags=["timeline"])
LANES = 64  # as many as a screen of 1360 pixels shows
_SWITCHES = ("noise", "active", "hidden", "follow")
_INCIDENTS, _ROWS = 100, 50  # as many as the page asks for: incidentFilterOf in loading.js, ROWS in rows.js


class Address(View):
    """The parameters of the address of the page on which its first view depends; its `focus` is the scope."""

    axis: Axis = "time"
    hidden: bool = False  # whether incidents that somebody knows of, or that do no harm, are listed
    state: Literal[IncidentState, ""] = ""  # only incidents that go on, or that are over
    follow: bool = False

    @property
    def incidents(self) -> SourceIncidentFilter:
        """Return the filter of the incidents that the page lists."""
        known = SourceIncidentFilter(acknowledged=self.hidden, silenced=self.hidden, harmless=self.hidden)
        return known.but(**self.narrowing(), root=self.focus, state=self.state)


ASKED = [name for name in Address.model_fields if name not in ("fold", "keep", "scope", "since")]
_CHOICES = {
    "axis": get_args(Axis),
    "group": get_args(Grouping),
    "state": get_args(IncidentState),
    **dict.fromkeys(_SWITCHES, ("1",)),
}


def address_of(source_id: int, page: Mapping[str, str]) -> str:
    """Return the address of what is shown first on the page of a timeline whose own address has these parameters. What
    the page does not understand is left out."""
    given = {name: text for name in ASKED if (text := page.get(name)) and text in _CHOICES.get(name, (text,))}
    if span := timestamps.span(page):
        given |= {"start": str(span[0]), "end": str(span[1])}
    return f"/api/sources/{source_id}/opening{f'?{urlencode(given)}' if given else ''}"


@router.get("/sources/{source_id}/opening", response=OpeningPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def opening(
    request: HttpRequest, source_id: Number, address: Query[Address], start: Time | None = None, end: Time | None = None
) -> HttpResponseBase:
    """Return what the page of a timeline with this address shows first."""
    in_order(start, end)
    overview = overview_queries.overview(source_id, address.focus)
    incidents = lists.incidents(source_id, address.incidents, limit=_INCIDENTS)
    span = None if start is None or end is None else (start, end)
    is_live, _ = live_sources.live_state(source_id)
    begun = overview["last"] - overview["first"] > 1
    if is_live and not begun:
        span = None
    finding: FindingGroupPayload | None = None
    incident = next(iter(lists.incidents_with(source_id, list(filter(None, [address.incident])))), None)
    if address.finding:
        finding = next(iter(findings(source_id, key=address.finding)["findings"]), None)
    elif incident:
        finding = _shown_with(source_id, incident["id"])
    elif span is None and not (is_live and begun):
        first = lists.gravest(source_id, address.incidents) if incidents["incidents"] else None
        finding = None if first is None else _shown_with(source_id, first)
    view = first_view(
        span,
        finding,
        incident if finding and not address.finding else None,
        named=address.finding,
        axis=address.axis,
        follow=address.follow,
        live=overview["last"] if is_live and begun else None,
    )
    window = None
    if begun:
        top = finding["focus"] if finding else address.focus
        shown = address.but(fold=True, focus=top, scope=address.focus, finding=view["finding"])
        window = windows.window(source_id, view["start"], view["end"], limit=LANES, view=shown)
    found: OpeningPayload = {
        "view": view,
        "overview": overview,
        "incidents": incidents,
        "finding": finding,
        "findings": _of_its_incident(source_id, address, finding, incidents),
        "window": window,
        "lanes": LANES,
    }
    return json_response(request, found)


def _shown_with(source_id: int, incident: str) -> FindingGroupPayload | None:
    """Return the row with which an incident is shown."""
    rows = findings(source_id, FindingFilter(incident=incident), limit=1, order="gravest")["findings"]
    return rows[0] if rows else None


def _of_its_incident(
    source_id: int, address: Address, finding: FindingGroupPayload | None, incidents: IncidentsPayload
) -> Any:
    """Return the first page of the findings of the incident that the page opens with a finding, if it is listed."""
    listed = {each["id"] for each in incidents["incidents"]}
    named = finding["incidents"] if finding else []
    opened = address.incident if address.incident in named else next((each for each in named if each in listed), None)
    return findings(source_id, FindingFilter(incident=opened), limit=_ROWS) if opened else None
