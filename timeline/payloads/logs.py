"""Declare the payloads of the logs of programs. Times are microseconds since 1970, UTC, by the clock of the machine on
which a program ran."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12


class LogPayload(TypedDict):
    """This is a log. It belongs to a Pod only if the source shows that Pod."""

    log: int
    name: str  # "kube-system/kube-vip-7d/kube-vip", or else the file
    label: str  # what names it under the lane of its Pod: the container, or else the file, or its name
    lane: str  # LanePayload.key of the lane of its Pod; "" if the source does not show the Pod
    track: int | None  # the last incarnation of the Pod
    lines: int
    first: int
    last: int


class LogsPayload(TypedDict):
    logs: list[LogPayload]
    more: bool  # whether the source has more logs than are listed


class LogMarksPayload(TypedDict):
    """These are the marks of a log, as columns. Lines that are closer than a pixel share a mark."""

    log: int
    time: list[int]  # of the first line of each mark
    count: list[int]  # how many lines it stands for
    level: list[int]  # the gravest level of these: 0 info or less, 1 warning, 2 error
    text: list[str]  # the beginning of the first of these; "" if the range has too many lines


class NamedObjectPayload(TypedDict):
    """This is an object that a line names. A line seldom says of which kind an object is, so several may have the
    name."""

    kind: str
    namespace: str
    name: str
    track: int
    url: str


class LogLinePayload(TypedDict):
    log: int
    name: str  # LogPayload.name
    sequence: int  # the number of the line, as `sequence` of the operation that returns one line
    time: int
    year_known: bool  # false if the line has neither year nor zone, so that they were taken from what is beside it
    date_known: bool  # false if the line has only a time of day, so that its date was taken from what is beside it
    zone_known: bool  # false if the line has no zone, so that its time was taken for UTC
    latest: bool  # true if the line says only how long ago it was, so that its time is the latest that it may have
    level: Literal["", "trace", "debug", "info", "warning", "error", "fatal"]
    text: str  # at most 1000 characters, without credentials
    file: str  # "" if it is not known
    line: int  # in the file, counted from 1


class LogLinesPayload(TypedDict):
    lines: list[LogLinePayload]
    next: str | None  # pass it as `cursor` for the lines after these
    scanned: int | None  # how many lines were searched, if there are more that were not; else null


class ShownLinePayload(LogLinePayload):
    """This is one line with all that it names."""

    number: int  # its place among the lines of its log
    total: int
    lane: str  # LogPayload.lane
    objects: list[NamedObjectPayload]
    earlier: int | None  # the sequence of the line before it
    later: int | None
