"""This module declares the payload of measuring between two times. Times are whole microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic takes none of typing before Python 3.12

from timeline.payloads.findings import ObjectPayload


class MeasuredChangePayload(TypedDict):
    """The latest change up to a moment."""

    time: int  # drawn
    earliest: str  # ISO 8601 UTC: it was committed then or later
    latest: str | None  # and no later than this, where a clock bounds it
    clock: Literal["audit", "object"]
    resource_version: str
    change: str
    action: str
    track: int | None
    object: ObjectPayload


class MeasurePayload(TypedDict):
    """What lies between two times in the whole of a source, whatever a screen filters, groups or has loaded."""

    source: int
    start: MeasuredChangePayload | None  # None where nothing was observed up to then
    end: MeasuredChangePayload | None
    revisions: int | None  # by how much the counter rose between the two changes
    order: Literal["exact", "bounded", "inconclusive"] | None  # how sure it is that the first was committed before
    observations: int  # stored of the whole source between the two moments; a change may be observed more than once


class StepsPayload(TypedDict):
    """Every time at which the latest revision of a source rose, and to what, in order."""

    time: list[int]
    resource_version: list[str]
