"""Answer in one go what the page of a timeline asks for when it is opened.

What the page asks for next depends on what it got: the range of the first window is around the gravest finding. Five
requests one after the other took as long as all scripts of the page. The page asks as usual for whatever is not here.
"""

from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router
from typing_extensions import TypedDict

from dashboard.access.roles import needs
from dashboard.web.api.answers import Number, Time, in_order, json_response
from dashboard.web.api.incidents import FilterOfSource
from dashboard.web.api.windows import Arrangement
from timeline.core.entries import microseconds
from timeline.payloads.findings import FindingGroupPayload, FindingsPayload, IncidentsPayload
from timeline.payloads.windows import OverviewPayload, WindowPayload
from timeline.queries.incidents import lists
from timeline.queries.incidents.findings import findings
from timeline.queries.sources import live as live_sources
from timeline.queries.window import overview as overview_queries
from timeline.queries.window import windows
from timeline.queries.window.view import View

router = Router(tags=["timeline"])
LANES = 64  # as many as a screen of 1360 pixels shows
_INCIDENTS, _ROWS = 100, 50  # as many as the page asks for: incidentFilterOf in loading.js, ROWS in rows.js
_RANKS = ("error", "warning", "info")
_LEAST, _MINUTE = 20_000, 60_000_000  # µs


class AskedWindow(TypedDict):
    """This is the question of a page that a window answers."""

    start: int
    end: int
    limit: int  # of lanes, from the first on
    rest: dict[str, str]  # the other parameters


class FirstWindow(TypedDict):
    """This is the window that a page asks for first."""

    asked: AskedWindow
    window: WindowPayload


class OpeningPayload(TypedDict):
    """These are the answers to requests by their addresses, and the first window, if it can be foreseen."""

    answers: dict[str, OverviewPayload | IncidentsPayload | FindingsPayload]
    first: FirstWindow | None


class Address(Arrangement):
    """These are the parameters of the address of the page on which the first requests depend; `focus` is the scope."""

    hidden: bool = False  # whether incidents that somebody knows of are listed
    follow: bool = False


@router.get("/sources/{source_id}/opening", response=OpeningPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def opening(
    request: HttpRequest, source_id: Number, address: Query[Address], start: Time | None = None, end: Time | None = None
) -> HttpResponseBase:
    """Return what the page of a timeline with this address shows first.

    `answers` has the overview, the incidents, and the findings of the incident that is opened, each under the address
    of the operation that returns the same.
    """
    in_order(start, end)
    asking = _Asking(source_id, address)
    whole = asking.overview()
    incidents = asking.incidents()
    live, _ = live_sources.live_state(source_id)
    follow = live and (address.follow or (start is None and not address.finding))
    shown: FindingGroupPayload | None = None
    if address.finding:
        shown = asking.named(address.finding, incidents)
    elif not follow and start is None:
        shown = asking.gravest(incidents)
    span: tuple[int, int] | None = None
    if follow:
        span = latest(whole["last"], None if start is None or end is None else end - start)
    elif start is not None and end is not None:
        span = start, end
    elif shown is not None:
        span = around(shown)
    begun = whole["last"] - whole["first"] > 1
    found = {"answers": asking.answers, "first": asking.window(span, shown) if begun and span else None}
    return json_response(request, found)


class _Asking:
    """Collect the answers to what a page asks for, by the addresses of its requests."""

    def __init__(self, source_id: int, address: Address) -> None:
        self._source = source_id
        self._address = address
        self._filter = {
            name: getattr(address, name) for name in ("kinds", "namespace", "name", "rule", "severity", "actor")
        }
        self.answers: dict[str, Any] = {}

    def _keep(self, operation: str, parameters: dict[str, Any], answer: Any) -> None:
        """Keep an answer under the address that the function `query` of api.js writes."""
        query = urlencode(_written(parameters))
        self.answers[f"/api/sources/{self._source}/{operation}{f'?{query}' if query else ''}"] = answer

    def overview(self) -> OverviewPayload:
        scope = self._address.focus
        whole = overview_queries.overview(self._source, scope)
        self._keep("overview", {"scope": scope}, whole)
        return whole

    def incidents(self) -> IncidentsPayload:
        """Return the first page of incidents."""
        return self._incidents({"limit": _INCIDENTS})

    def _incidents(self, further: dict[str, Any]) -> IncidentsPayload:
        known = int(self._address.hidden)
        parameters = {**self._filter, "root": self._address.focus, "acknowledged": known, "silenced": known, **further}
        wanted = FilterOfSource.model_validate(_written(parameters)).wanted()
        page = lists.incidents(self._source, wanted, limit=further["limit"], order=further.get("order"))
        self._keep("incidents", parameters, page)
        return page

    def _findings(self, parameters: dict[str, Any]) -> FindingsPayload:
        view = View(incident=parameters.get("incident", ""))
        given = {name: value for name, value in parameters.items() if name != "incident"}
        page = findings(self._source, view, **given)
        self._keep("findings", parameters, page)
        return page

    def named(self, key: str, incidents: IncidentsPayload) -> FindingGroupPayload | None:
        """Return the finding with a key, and keep the findings of its incident; None if there is none."""
        found = self._findings({"key": key})["findings"]
        if not found:
            return None
        listed = {each["id"] for each in incidents["incidents"]}
        own = found[0]["incidents"]
        if opened := next((each for each in own if each in listed), None):
            self._findings({"incident": opened, "limit": _ROWS})
        return found[0]

    def gravest(self, incidents: IncidentsPayload) -> FindingGroupPayload | None:
        """Return the gravest finding of the gravest incident, which IncidentsList.gravest chooses; None without any."""
        if incidents["next"] is not None:
            incidents = self._incidents({"limit": 1, "order": "gravest"})
        if not incidents["incidents"]:
            return None
        gravest = min(incidents["incidents"], key=lambda each: (_RANKS.index(each["severity"]), -each["findings"]))
        page = self._findings({"incident": gravest["id"], "limit": _ROWS})
        rows = page["findings"]
        if page["next"] is None:
            return min(rows, key=lambda each: (_RANKS.index(each["severity"]), -len(each["findings"])), default=None)
        [group] = self._findings({"incident": gravest["id"], "order": "gravest", "limit": 1})["findings"]
        if group["key"] not in {each["key"] for each in rows}:
            self._findings({"key": group["key"]})
        return group

    def window(self, span: tuple[int, int], shown: FindingGroupPayload | None) -> FirstWindow:
        """Return the window of a range of time, in which the group of a finding comes first."""
        scope = self._address.focus
        own = {"finding": shown["key"], "focus": shown["focus"]} if shown else {"focus": scope}
        arrangement = self._address.model_copy(update={"fold": True, "scope": scope, **own})
        asked = arrangement.model_dump(exclude={"hidden", "follow"})
        start, end = (max(0, time) for time in span)
        window = windows.window(self._source, start, end, limit=LANES, view=arrangement.view())
        return {"asked": {"start": start, "end": end, "limit": LANES, "rest": _written(asked)}, "window": window}


def _written(parameters: dict[str, Any]) -> dict[str, str]:
    """Return parameters as `query` of api.js writes them: without empty texts and switches that are off."""
    given = {
        name: value for name, value in parameters.items() if value is not None and value is not False and value != ""
    }
    return {name: "1" if value is True else str(value) for name, value in given.items()}


def around(shown: FindingGroupPayload) -> tuple[int, int]:
    """Return the range to show for a finding, as `rangeAround` of ranges.js does."""

    def bounds(at: int, name: Literal["earliest", "latest"]) -> list[int]:
        return [_time(bound) for each in shown["proof"] if (bound := each[name]) and _time(each["time"]) == at]

    start = min([shown["start"], *bounds(shown["start"], "earliest")])
    end = max([shown["end"], *bounds(shown["end"], "latest")])
    length = max(end - start, _LEAST)
    return round(start - 1.9 * length), round(end + 5.8 * length)


def latest(last: int, width: int | None) -> tuple[int, int]:
    """Return the range of times, in microseconds since 1970, that a page shows when it follows a live source: most of
    it before the last change. The function `latest` of ranges.js computes the same in the browser."""
    width = width or _MINUTE
    return last - width * 9 // 10, last + width // 10


def _time(written: str) -> int:
    return microseconds(datetime.fromisoformat(written))
