"""Decide what a timeline shows first: the one answer for pages and for reports.

The module is pure. Times are microseconds since 1970, UTC.
"""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.payloads.findings import FindingGroupPayload, FindingsPayload, IncidentRowPayload, IncidentsPayload
from timeline.payloads.windows import OverviewPayload, WindowPayload

Axis = Literal["time", "order"]
_MINUTE = 60_000_000


class FirstView(TypedDict):
    """What a timeline shows first. Without a start and an end, that is the whole source."""

    start: int | None
    end: int | None
    finding: str  # the key of the selected finding; "" for none
    follow: bool  # whether the view moves on with a live source


class OpeningPayload(TypedDict):
    """What the page of a timeline shows first, and what it needs for that."""

    view: FirstView
    overview: OverviewPayload
    incidents: IncidentsPayload  # the first page of those that match the filter
    finding: FindingGroupPayload | None  # the selected one
    findings: FindingsPayload | None  # the first page of the findings of its incident, if that matches the filter
    window: WindowPayload | None  # None if nothing was observed yet
    lanes: int  # for how many lanes the window was read, from the first one on


def around(finding: FindingGroupPayload, incident: IncidentRowPayload | None, axis: Axis) -> tuple[int, int]:
    """Return the range in which a timeline shows a finding, or the incident that is shown alone with this finding."""
    if incident is None:
        return finding["ranges"][axis]
    (start, end), (begun, over) = finding["ranges"]["order"], incident["ranges"][axis]
    return min(start, begun), max(end, over)


def first_view(
    span: tuple[int, int] | None,
    finding: FindingGroupPayload | None,
    incident: IncidentRowPayload | None = None,
    *,
    named: str = "",
    axis: Axis = "time",
    follow: bool = False,
    live: int | None = None,
) -> FirstView:
    """Return what a timeline shows first.

    `span` is the range that its address gives, `named` the key of the finding that it gives, `incident` the incident
    that is shown alone, and `follow` whether it follows the live edge. `finding` is that finding, or the gravest one of
    that incident, or, where the address gives none of these, the gravest one of the gravest incident; None if
    there is none. `live` is the last time that is known of a live source.

    A range that is asked for is kept. Otherwise a live source shows its last minute, and everything else the time
    around the finding, or that of the incident, which ends soon after what was observed.
    """
    if live is not None and (follow or (span is None and not named and incident is None)):
        width = span[1] - span[0] if span else _MINUTE
        return {"start": live - width * 9 // 10, "end": live + width // 10, "finding": named, "follow": True}
    if span is None and finding is not None:
        (first, last), named = around(finding, incident, axis), finding["key"]
        # As `rangeOf` in js/state/ranges.js: what led to it, instead of time that has not come.
        late = max(0, last - live - (last - first) // 10) if live is not None and axis == "time" else 0
        span = first - late, last - late
    start, end = span or (None, None)
    return {"start": start, "end": end, "finding": named, "follow": False}
