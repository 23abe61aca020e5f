"""Declare the payloads of how much room sources take in the database. Times are microseconds since 1970, UTC."""

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12


class SourceUsagePayload(TypedDict):
    source: int
    name: str
    measured: int | None  # null if it was not measured yet; all sizes are 0 then
    entries: int
    bytes: int  # the sum of the five sizes that follow
    chunks: int  # the entries, with their indexes
    tracks: int  # the objects, with their indexes
    findings: int  # findings, their occurrences and incidents
    logs: int
    evidence: int  # changes that were meant, copies, actors, gaps and the snapshot of a live source
    share: float  # of what all sources take, from 0 to 1
    growth: int | None  # bytes a day; null until it was measured on two days
    hold: str  # the reason of the legal hold that keeps it; "" if none does


class RetentionPayload(TypedDict):
    """This says how long a recording is kept."""

    days: int | None  # its own days since its import, 0 for ever; null for those of the setting
    deleted_on: int | None  # when it will be deleted unless a legal hold keeps it; null for never


class UsagePayload(TypedDict):
    sources: list[SourceUsagePayload]
    next: int | None  # the number of the next page; null on the last page
