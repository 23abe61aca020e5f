"""Declare the payloads of measuring between two times. Times are whole microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.payloads.findings import ObjectPayload


class MeasuredChangePayload(TypedDict):
    """This is the latest change at or before a time, or that of a track at the time."""

    time: int  # the drawn time
    earliest: str  # ISO 8601 UTC; the earliest time at which it can have been committed
    latest: str | None  # ISO 8601 UTC; the latest such time; null if no clock bounds it
    clock: Literal["audit", "object"]
    resource_version: str
    change: str
    action: str
    track: int | None
    object: ObjectPayload


class MeasurePayload(TypedDict):
    """This says what happened between two times in the whole source, independent of any filter of a screen."""

    source: int
    start: MeasuredChangePayload | None  # the last change up to the first time; None if nothing was observed by then
    end: MeasuredChangePayload | None  # the last change up to the second time
    revisions: int | None  # by how much the counter of revisions increased between the two changes
    order: Literal["exact", "bounded", "inconclusive"] | None  # how sure it is that `start` was committed before `end`
    observations: int  # how many are stored between the two times; one change may be observed more than once


class StepsPayload(TypedDict):
    """The times at which the latest revision of a source increased, and those revisions, in order."""

    time: list[int]
    resource_version: list[str]
