"""This module words what lists, pages and reports say of an incident. It makes no queries and no HTML."""

from datetime import datetime
from typing import NamedTuple

from dashboard.presentation.wording import clock_of, count, plural
from timeline.core.durations import duration
from timeline.core.entries import microseconds
from timeline.payloads.findings import IncidentRowPayload

BARS = 24  # of a sparkline
_MINUTE = 60_000_000


class Bar(NamedTuple):
    """This is a bar of a sparkline: how many occurrences began in one of its equal parts."""

    occurrences: int
    height: int  # in parts of a hundred of the highest bar; 0 without an occurrence


class Card(NamedTuple):
    """This is an incident as a list shows it."""

    where: str  # "batch / Job train"
    state: str  # the words of the pill: "ongoing", "over", "ongoing when the recording ends"
    course: str  # "3 times since 05:02:11 · last 40 s ago"
    numbers: str  # "3 occurrences · 5 findings"
    by: str  # who wrote what the proofs show; "" if no observation names one
    bars: list[Bar]


def card(incident: IncidentRowPayload, ended: datetime | None, now: int, *, live: bool) -> Card:
    """Return what a list shows of an incident.

    `ended` is the end of the source, `now` the current time in microseconds since 1970, and `live` whether a cluster
    feeds the source.
    """
    anchor = incident["anchor"]
    where = " / ".join(filter(None, [anchor["namespace"], f"{anchor['kind']} {anchor['name']}"]))
    until = now if live or ended is None else microseconds(ended)
    ongoing = incident["state"] == "ongoing"
    state = "ongoing" if live or not ongoing else "ongoing when the recording ends"
    return Card(
        where,
        state if ongoing else "over",
        _course(incident, until, live=live),
        numbers(incident["occurrences"], incident["findings"]),
        _listed(incident["actors"]),
        sparkline(incident["times"], incident["start"], max(until, incident["end"])),
    )


def _listed(actors: list[str]) -> str:
    more = f" and {len(actors) - 2} more" if len(actors) > 2 else ""
    return ", ".join(actors[:2]) + more


def numbers(occurrences: int, findings: int) -> str:
    """Return the counts in the words that every page uses: "3 occurrences · 5 findings"."""
    return f"{count(occurrences)} {plural('occurrence', occurrences)} · {count(findings)} {plural('finding', findings)}"


def _course(incident: IncidentRowPayload, until: int, *, live: bool) -> str:
    """Return when an incident happened, and how long that is ago: before now, or before the recording ends."""
    first, last = incident["start"], incident["end"]
    often = incident["occurrences"]
    since = f"{often} times since {clock_of(first)}" if often > 1 else f"at {clock_of(first)}"
    if incident["state"] == "ongoing" and not live:
        return since
    ago = max(0, until - last)
    rounded = duration(ago if ago < _MINUTE else ago // _MINUTE * _MINUTE)
    return f"{since} · last {rounded} ago" if live else f"{since} · last {rounded} before the recording ends"


def sparkline(times: list[int], start: int, end: int) -> list[Bar]:
    """Return bars for occurrences that began at these times, between `start` and `end` (microseconds since 1970)."""
    width = max(1, -(-(end - start + 1) // BARS))
    counts = [0] * BARS
    for time in times:
        if start <= time <= end:
            counts[(time - start) // width] += 1
    highest = max(counts)
    return [Bar(number, 100 * number // highest if highest else 0) for number in counts]
