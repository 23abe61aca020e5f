"""Declare the messages by which changes of a live source reach a page.

Times are microseconds since 1970, UTC.
"""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.payloads.findings import FindingGroupPayload, IncidentRowPayload
from timeline.payloads.windows import Within


class TailPayload(TypedDict):
    """What new batches changed of one track: its bars from `since` on, which replace those that the page has, and its
    additional marks."""

    track: int
    lane: str  # LanePayload.key
    family: str
    number: int  # as in Births
    since: int | None  # the time from which `bars` replace older ones; null if its bars did not change
    born: int | None  # the time of its creation, if the new batches brought it
    # start, end, text, tone, start_within, end_within as in Bars, and the actor by name; see `queries.window.deltas`
    bars: list[tuple[int | None, int | None, str, str, Within | None, Within | None, str]]
    # time, mark, text, resource_version, within as in Marks, and the actor by name
    marks: list[tuple[int, str, str, str | None, Within | None, str]]


class DeltaPayload(TypedDict):
    """What the batches since a given one changed, so that a window that shows that one can be updated."""

    type: Literal["delta"]
    sequence: int  # the number of the last of these batches
    at: int  # when that batch was committed, by the database's clock
    behind: int  # microseconds from the arrival of the cluster's answer until this message is sent
    first: int  # the beginning of the source
    last: int  # the end of the source
    tracks: list[TailPayload]
    findings: list[FindingGroupPayload]
    gone: list[str]  # the keys of findings that no longer hold
    incidents: list[IncidentRowPayload]  # those that changed
    incidents_gone: list[str]  # the ids of those that no longer hold


class HealthPayload(TypedDict):
    """The state of the collection of a source."""

    type: Literal["health"]
    sequence: int
    state: Literal["waiting", "connecting", "live", "failing", "paused", "ended"]
    error: str  # why the collection fails, or has ended
    listing: list[str]  # the resources whose first list is not complete yet
    entries: int
    gaps: int  # with the freed spans after the beginning, whose changes retention has deleted
    silent: int | None  # microseconds since the last batch was committed
    last: int | None  # the end of the source as of that batch
