"""Prepare lines of programs' logs for the page of an object: their times, levels and texts. It makes no queries and
no HTML."""

from typing import NamedTuple

from timeline.payloads.documents import timestamp
from timeline.payloads.logs import LogLinePayload, LogLinesPayload


class LogRow(NamedTuple):
    time: str  # "2026-11-22 12:00:01.250000"
    open: str  # what the line leaves open about its time; "" for nothing
    level: str
    text: str
    log: str
    place: str  # "kube-vip.log, line 12"
    sequence: str  # of the timeline's address, which opens the line


def rows(found: LogLinesPayload) -> list[LogRow]:
    return [
        LogRow(
            timestamp(each["time"])[:-1].replace("T", " "),
            open_about(each),
            each["level"],
            each["text"],
            each["name"],
            f"{each['file']}, line {each['line']}" if each["file"] else "",
            f"{each['log']}.{each['sequence']}",
        )
        for each in found["lines"]
    ]


def open_about(line: LogLinePayload) -> str:
    """Say what the time of a line leaves open; "" if it leaves nothing open."""
    if line["latest"]:
        return "at the latest"
    if not line["date_known"]:
        return "without date and zone"
    if not line["year_known"]:
        return "without year and zone"
    return "" if line["zone_known"] else "without zone"
