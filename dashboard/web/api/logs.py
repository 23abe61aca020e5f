"""Return the logs of programs: which a source has, where their lines are in time, and the lines."""

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from ninja import Router
from ninja.errors import HttpError
from pydantic import Field

from dashboard.access.roles import needs
from dashboard.web.api.answers import Number, Time, Words, in_order, json_response
from timeline.payloads.logs import LogLinePayload, LogLinesPayload, LogMarksPayload, LogsPayload, ShownLinePayload
from timeline.queries.logs import lines as log_queries

router = Router(tags=["logs"])
_Cursor = Annotated[str, Field(pattern=r"^(\d{1,16}\.\d{1,9}\.\d{1,15})?$")]
_Log = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Logs = Annotated[str, Field(pattern=r"^\d{1,9}(,\d{1,9}){0,19}$")]

_Row = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


@router.get("/sources/{source_id}/logs", response=LogsPayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def logs(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """Return the logs of programs in a source, by name, each with the lane of its Pod if the source shows that."""
    return json_response(request, log_queries.logs(source_id))


@router.get("/sources/{source_id}/logs/marks", response=list[LogMarksPayload])
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def marks(request: HttpRequest, source_id: Number, logs: _Logs, start: Time, end: Time) -> HttpResponseBase:
    """Return where the lines of at most 20 logs are between two times. `logs` has their numbers with commas between
    them. Lines that are close together share a mark."""
    in_order(start, end)
    return json_response(request, log_queries.marks(source_id, [int(each) for each in logs.split(",")], start, end))


@router.get("/sources/{source_id}/logs/proof", response=list[LogLinePayload])
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def proof(request: HttpRequest, source_id: Number, finding: _Row) -> HttpResponseBase:
    """Return the lines that prove a row of the list of findings, by the key of the row; none if no lines do."""
    return json_response(request, log_queries.proving(source_id, finding))


@router.get("/sources/{source_id}/logs/lines", response=LogLinesPayload)
@needs.to_read("viewer", action="see")
def lines(
    request: HttpRequest,
    source_id: Number,
    log: _Log | None = None,
    start: Time | None = None,
    end: Time | None = None,
    about: Number | None = None,
    q: Words = "",
    cursor: _Cursor = "",
    limit: Annotated[int, Field(ge=1, le=500)] = 100,
) -> HttpResponseBase:
    """Return lines by time: of one log, between two times, that name an object (the number of a track), or that contain
    all words of `q`. Pass `next` as cursor for more. If `scanned` is given, that many lines were read, and more were
    not: ask for a shorter time."""
    in_order(start, end)
    found = log_queries.lines(source_id, log=log, start=start, end=end, about=about, words=q, after=cursor, limit=limit)
    return json_response(request, found)


@router.get("/sources/{source_id}/logs/{log}/line", response=ShownLinePayload)
@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def line(
    request: HttpRequest, source_id: Number, log: _Log, sequence: Number | None = None, at: Time = 0
) -> HttpResponseBase:
    """Return one line with the objects that it names: that with the number `sequence`, or else the first one from the
    time `at` on. `earlier` and `later` are the numbers of the lines before and after it."""
    found = log_queries.line(source_id, log, sequence=sequence, at=at)
    if found is None:
        raise HttpError(404, "The log has no such line.")
    return json_response(request, found)
