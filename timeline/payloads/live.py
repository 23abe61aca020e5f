"""This module declares the messages in which changes of a live source reach a page. Times are microseconds, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic takes none of typing before Python 3.12

from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.windows import Within


class TailPayload(TypedDict):
    """What commits changed of one life: its bars from a moment on are these; its marks are further ones."""

    track: int
    lane: str  # LanePayload.key
    family: str
    number: int  # as in Births
    since: int | None  # the moment; null where its bars stay as they are
    born: int | None  # its creation, where it lies there
    # start, end, text, tone, start_within, end_within as in Bars; see `queries.deltas`
    bars: list[tuple[int | None, int | None, str, str, Within | None, Within | None]]
    marks: list[
        tuple[int, str, str, str | None, Within | None]
    ]  # time, mark, text, resource version, within: see Marks


class DeltaPayload(TypedDict):
    """What the commits since another changed: enough to move the edge of a window that shows that one."""

    type: Literal["delta"]
    sequence: int  # of the last of them
    at: int  # when that was committed, by the database's clock
    behind: int  # how long after the cluster's answer arrived this is sent, microseconds
    first: int  # what the source covers
    last: int
    tracks: list[TailPayload]
    findings: list[FindingGroupPayload]
    gone: list[str]  # keys of findings that hold no more


class HealthPayload(TypedDict):
    """How it stands with the collection of a source."""

    type: Literal["health"]
    sequence: int
    state: Literal["waiting", "connecting", "live", "failing", "paused", "ended"]
    error: str  # why it fails, or has ended
    listing: list[str]  # resources whose first list is not complete yet
    entries: int
    gaps: int
    silent: int | None  # since the last commit, microseconds
    last: int | None  # what the source covered then
