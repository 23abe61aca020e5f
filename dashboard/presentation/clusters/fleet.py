"""Write the texts of the table of clusters and recordings, and of the newest incidents beside it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from dashboard.presentation import incidents, wording
from dashboard.presentation.clusters.states import WORDS, last_event
from dashboard.presentation.symptoms import Symptoms, symptoms
from timeline.core.durations import duration
from timeline.core.entries import microseconds, moment
from timeline.payloads.documents import mostly_skipped, timestamp
from timeline.payloads.findings import IncidentRowPayload
from timeline.queries.incidents.counts import IncidentCounts
from timeline.queries.sources.fleet import FleetRow

_FILES = 3  # files that are named because most of them was skipped
_SEVERITIES = (("error", "errors"), ("warning", "warnings"), ("info", "info"))


class Count(NamedTuple):
    severity: str
    number: int
    word: str  # "errors"


class Counted(NamedTuple):
    """The incidents of a source in words."""

    ongoing: list[Count]
    severities: list[Count]
    numbers: str  # "3 incidents · 5 symptoms · 12 findings"
    harmless: str  # "3 more without harm"; "" if there are none
    aside: str  # "1 acknowledged · 2 silenced"; "" if there are none


class Incident(NamedTuple):
    """An incident in a row of a table, or in the list of the newest."""

    url: str
    title: str
    severity: str
    state: str  # "ongoing", "over", "ongoing when the recording ends"
    course: str  # "3 times since 05:02 · last 40 s ago"
    where: str  # "batch / Job train"
    source: str  # the name of the cluster or recording
    acknowledged: bool
    cause: str  # what is behind it; "" where nothing proves a cause
    symptoms: Symptoms


@dataclass(frozen=True)
class ClusterRow:
    name: str
    cluster: int | None
    source: int | None
    state: str  # the sign: a state of a cluster, "paused" where nothing is watched, or "ended" for a recording
    health: str  # "live", "failing", "2 kinds not watched", "recording"
    tone: str  # "good", "bad" or ""
    notes: list[str]  # sentences about what is wrong
    lag: str
    activity: str  # "3 s ago", "21 Nov 2026 07:52:59 UTC"
    iso: str
    entries: str
    counted: Counted
    worst: Incident | None
    may_change: bool


def counted(counts: IncidentCounts) -> Counted:
    aside = [(counts.acknowledged, "acknowledged"), (counts.silenced, "silenced")]
    return Counted(
        _by_severity(counts.ongoing),
        _by_severity(counts.severities),
        incidents.numbers_of_all(counts.incidents, counts.symptoms, counts.findings),
        incidents.without_harm(counts.harmless, counts.incidents),
        " · ".join(f"{wording.count(number)} {word}" for number, word in aside if number),
    )


def row(shown: FleetRow, now: int, *, may_change: bool) -> ClusterRow:
    """Return the words of a row; `now` is the current time in microseconds since 1970."""
    health, state, tone = _health(shown)
    live = shown.cluster is not None
    last = shown.last.astimezone(UTC) if shown.last else None
    return ClusterRow(
        name=shown.name,
        cluster=shown.cluster,
        source=shown.source,
        state=state,
        health=health,
        tone=tone,
        notes=_notes(shown),
        lag=duration(max(1000, int(shown.lag * 1e6))) if shown.lag is not None and tone == "good" else "",
        activity=last_event(shown.silent) if live else f"{last.day} {last:%b %Y %H:%M:%S} UTC" if last else "",
        iso=timestamp(microseconds(last)) if last else "",
        entries=wording.count(shown.entries),
        counted=counted(shown.counts),
        worst=incident(shown.worst, shown.name, shown.last, now, live=live) if shown.worst else None,
        may_change=may_change,
    )


def incident(shown: IncidentRowPayload, source: str, ended: datetime | None, now: int, *, live: bool) -> Incident:
    card = incidents.card(shown, ended, now, live=live)
    return Incident(
        shown["url"],
        shown["title"],
        shown["severity"],
        card.state,
        _course(shown, now, live=live),
        card.where,
        source,
        bool(shown["acknowledged"]),
        shown["cause"],
        symptoms(shown),
    )


def _course(shown: IncidentRowPayload, now: int, *, live: bool) -> str:
    """Return how often and since when it happened, to the minute; of a cluster also how long ago it happened last."""
    several = shown["occurrences"] > 1
    first = moment(shown["start"])
    today = live and first.date() == moment(now).date()
    since = f"{first:%H:%M}" if today else f"{first.day} {first:%b %Y %H:%M}"
    times = f"{incidents.often(shown)}{'since' if several else 'at'} {since}"
    return f"{times} · last {last_event(max(0, now - shown['end']) / 1e6)}" if live and several else times


def heading(clusters: int, recordings: int, ongoing: int) -> str:
    """Return what the table shows in a line: "4 clusters, 12 recordings, 2 incidents going on"."""
    going = f"{wording.count(ongoing) if ongoing else 'no'} {wording.plural('incident', ongoing)} going on"
    parts = [(clusters, "cluster"), (recordings, "recording")]
    named = [wording.number_of(number, word) for number, word in parts if number]
    return ", ".join([*named, *([going] if clusters else [])]) or "No clusters and no recordings"


def _by_severity(counts: Iterable[int]) -> list[Count]:
    found = zip(_SEVERITIES, counts, strict=True)
    return [Count(one, number, one if number == 1 else many) for (one, many), number in found if number]


def _health(shown: FleetRow) -> tuple[str, str, str]:
    """Return the health of a source in words, its sign, and its tone. Only what is watched and delivers is good."""
    match shown.state:
        case None:
            partly = bool(shown.mostly_skipped)
            words = "mostly skipped" if partly else "disconnected" if shown.ended else "recording"
            return words, "ended", "bad" if partly else ""
        case "failing" | "waiting":
            return WORDS[shown.state], shown.state, "bad"
        case "connecting" | "paused":
            return WORDS[shown.state], shown.state, ""
    if shown.failing:
        return f"{shown.failing} {wording.plural('kind', shown.failing)} not watched", "failing", "bad"
    return WORDS["live"], "live", "good"


def _notes(shown: FleetRow) -> list[str]:
    if shown.cluster is None:
        return [*mostly_skipped(shown.mostly_skipped)[:_FILES], *([shown.ended] if shown.ended else [])]
    denied = f"{shown.forbidden} {wording.plural('kind', shown.forbidden)} may not be watched."
    return [*([shown.error] if shown.error else []), *([denied] if shown.forbidden else [])]
