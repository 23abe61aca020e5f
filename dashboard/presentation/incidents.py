"""Write the texts of lists, pages and reports about an incident. It makes no queries and no HTML."""

from datetime import datetime, timedelta
from typing import NamedTuple

from dashboard.presentation.symptoms import Symptoms, place, symptoms
from dashboard.presentation.wording import count, number_of, second_of
from timeline.core.actors import KIND as ACTOR
from timeline.core.actors import short
from timeline.core.durations import duration
from timeline.core.entries import microseconds
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import IncidentRowPayload, IncidentsPayload, SilencedPayload
from timeline.queries.incidents.lists import Origin

_SPACES = 2  # namespaces of an incident that are named
BARS = 24  # of a sparkline
_SECOND, _MINUTE, _HOUR, _DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
LIVE_SPAN = 6 * _HOUR  # that the sparkline of a row of a connected cluster covers


class Bar(NamedTuple):
    """A bar of a sparkline: how many occurrences began in one of its equal parts."""

    occurrences: int
    height: int  # in parts of a hundred of the highest bar; 0 without an occurrence


class Card(NamedTuple):
    """An incident as a list shows it."""

    where: str  # "batch / Job train"
    state: str  # the words of the pill: "ongoing", "over", "ongoing when the recording ends"
    harms: bool  # whether it does harm, as far as that is seen or possible
    course: str  # "3 times since 2026-11-22 05:02:11 UTC · last 40 s ago"
    lasted: str  # from the beginning to the end: "5.6 s"; "" for a moment
    began: str  # what it began with, where the title does not say that: a sentence
    numbers: str  # "3 occurrences · 5 findings"
    by: str  # who wrote what the proofs show; "" if no observation names one
    effect: str  # "Harm is possible: ring-0 ran meanwhile."
    notes: list[str]  # as of a row


class IncidentRow(NamedTuple):
    """An incident as a row of a list."""

    incident: IncidentRowPayload
    key: str  # "3.5f315b1c837e9f81": its source and identity
    source: str  # the name of its recording or cluster
    where: str  # "batch / Job train"
    by: str
    when: str  # "40 s ago" of a connected cluster, else "2026-11-21 07:52:00"
    moment: str  # the same as ISO 8601
    now: bool  # it goes on in a connected cluster, and does harm
    beside: str  # "ongoing · since 2026-11-22 05:02:11"
    pills: list[str]  # only where they say something unusual
    notes: list[str]  # "acknowledged by ada at 2026-11-22 05:02: ticket 7"
    symptoms: Symptoms
    course: str  # of the sparkline: "26 occurrences, drawn from 05:00:00 to 11:00:00"
    bars: str  # the sparkline as an SVG path


def row(incident: IncidentRowPayload, origin: Origin, now: int) -> IncidentRow:
    """Return a row of a list. The sparkline covers the last six hours of a connected cluster, or a whole recording."""
    last = incident["end"]
    start, end = (now - LIVE_SPAN, now) if origin.live else (origin.first, origin.last)
    ongoing = incident["state"] == "ongoing"
    since = f"since {_since(incident['start'], last)}" if incident["occurrences"] > 1 else ""
    if origin.live:
        when, beside = _ago(now - last), ["ongoing" if ongoing else "over", since]
    elif ongoing:
        when, beside = second_of(last), ["ongoing when the recording ends", since]
    else:
        when, beside = second_of(last), [f"{_ago(origin.last - last)[:-4]} before the end", since]
    shown = len(incident["times"])
    drawn = f", the last {shown} of which are drawn," if shown < incident["occurrences"] else ""
    counted = f"{number_of(incident['occurrences'], 'occurrence')}{drawn}"
    unusual = [incident["status"] if incident["status"] == "suspected" else "", incident["verdict"]]
    return IncidentRow(
        incident,
        f"{incident['source']}.{incident['id']}",
        origin.name,
        where(incident),
        _listed(incident["actors"]),
        when,
        timestamp(last),
        ongoing and origin.live and harms(incident),
        " · ".join(filter(None, beside)),
        [each for each in unusual if each not in ("", "exact")],
        notes(incident),
        symptoms(incident),
        f"{counted} between {second_of(start)} and {second_of(end)} UTC",
        _path(sparkline(incident["times"], start, end)),
    )


def notes(incident: IncidentRowPayload) -> list[str]:
    """Return who knows of an incident, and what takes it out of the lists."""
    noted, silenced = incident["acknowledged"], incident["silenced"]
    lines = []
    if noted:
        note = f": {noted['note']}" if noted["note"] else ""
        lines.append(f"acknowledged{_by(noted['by'])} at {written(noted['at'])}{note}")
    if silenced and silenced["until"]:
        lines.append(f"silenced{_by(silenced['by'])} until {written(silenced['until'])}{_why(silenced)}")
    elif silenced:
        lines.append(f"in the baseline{_why(silenced)}")
    return lines


def _why(silenced: SilencedPayload) -> str:
    return f": {silenced['reason']}" if silenced["reason"] else ""


def where(incident: IncidentRowPayload) -> str:
    """Return what an incident is about: "batch / Job train", or "batch, nightly / 7 Jobs" if its symptoms are about
    several objects. Who did it stands beside it."""
    every = [incident["anchor"], *(each["anchor"] for each in incident["symptoms"])]
    about = [each for each in every if each["kind"] != ACTOR]
    anchors = {tuple(each.values()): each["kind"] for each in about}
    if len(anchors) < 2:
        return place(about[0] if about else every[0])
    spaces, kinds = [each for each in incident["anchored_in"] if each], {*anchors.values()}
    more = f" and {len(spaces) - _SPACES} more" if len(spaces) > _SPACES else ""
    least = "at least " if incident["symptoms_total"] > len(incident["symptoms"]) else ""
    objects = f"{len(anchors)} {kinds.pop()}s" if len(kinds) == 1 else f"{len(anchors)} objects"
    return " / ".join(filter(None, [", ".join(spaces[:_SPACES]) + more, least + objects]))


def harms(incident: IncidentRowPayload) -> bool:
    """Return whether an incident does harm, as far as that is seen or possible."""
    return incident["severity"] != "info" and incident["effect"] != "none"


def summary(listed: IncidentsPayload) -> str:
    """Return the counts in the words that every list uses: "3 incidents · 5 symptoms · 12 findings".

    They include those that are left out of the list because somebody has acknowledged them.
    """
    return numbers_of_all(
        listed["total"] + listed["acknowledged"],
        listed["symptoms"] + listed["acknowledged_symptoms"],
        listed["findings"] + listed["acknowledged_findings"],
    )


def numbers_of_all(total: int, symptoms: int, findings: int) -> str:
    """Return the numbers of incidents, of their symptoms and of their findings: "1 incident · 13 symptoms · 50
    findings"."""
    return " · ".join([number_of(total, "incident"), number_of(symptoms, "symptom"), number_of(findings, "finding")])


def without_harm(number: int, others: int) -> str:
    """Return how many incidents do no harm, beside `others` that do: "3 more without harm"; "" for none."""
    return f"{count(number)}{' more' if others else ''} without harm" if number else ""


def _by(name: str) -> str:
    return f" by {name}" if name else ""


def written(iso: str) -> str:
    """Return a time for people: "2026-11-22 05:02 UTC"."""
    return f"{iso[:16].replace('T', ' ')} UTC"


def length(left: timedelta) -> str:
    """Return a length of time in whole minutes: "1 h 59 min"."""
    return duration(max(_MINUTE, left // timedelta(microseconds=1) // _MINUTE * _MINUTE))


def _since(first: int, last: int) -> str:
    """Return when something began; only the clock if it was on the day of its end."""
    return second_of(first)[11:] if second_of(first)[:10] == second_of(last)[:10] else second_of(first)


def _ago(length: int) -> str:
    """Return an age with its largest unit only: "40 s ago", "2 min ago", "3 h ago", "5 d ago"."""
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if length >= size:
            return f"{length // size} {unit} ago"
    return f"{max(0, length) // _SECOND} s ago"


def _path(bars: list[Bar]) -> str:
    """Return a sparkline as an SVG path, four wide for each bar and 16 high."""
    heights = [max(3, 16 * bar.height // 100) if bar.occurrences else 0 for bar in bars]
    return "".join(f"M{4 * at} 16v-{height}h3v{height}z" for at, height in enumerate(heights) if height)


def card(incident: IncidentRowPayload, ended: datetime | None, now: int, *, live: bool) -> Card:
    """Return what a list shows of an incident.

    `ended` is the end of the source, `now` the current time in microseconds since 1970, and `live` whether a cluster
    feeds the source.
    """
    until = now if live or ended is None else microseconds(ended)
    ongoing = incident["state"] == "ongoing"
    state = "ongoing" if live or not ongoing else "ongoing when the recording ends"
    return Card(
        where(incident),
        state if ongoing else "over",
        harms(incident),
        _course(incident, until, live=live),
        duration(incident["end"] - incident["start"]) if incident["end"] > incident["start"] else "",
        _began(incident),
        numbers(incident["occurrences"], incident["findings"]),
        _listed(incident["actors"]),
        f"{_EFFECTS[incident['effect']]}{': ' if incident['effect_text'] else ''}{incident['effect_text']}.",
        notes(incident),
    )


def _began(incident: IncidentRowPayload) -> str:
    root = incident["root"]
    if root:
        return "" if incident["title"].startswith(root) else f"It began with this: {root}."
    return "" if incident["cause"] else "What it began with is not proven."


_EFFECTS = {"none": "No harm is expected", "possible": "Harm is possible", "observed": "Harm was observed"}


def _listed(actors: list[str]) -> str:
    more = f" and {len(actors) - 2} more" if len(actors) > 2 else ""
    return ", ".join(map(short, actors[:2])) + more


def numbers(occurrences: int, findings: int) -> str:
    """Return the counts in the words that every page uses: "3 occurrences · 5 findings"."""
    return f"{number_of(occurrences, 'occurrence')} · {number_of(findings, 'finding')}"


def _course(incident: IncidentRowPayload, until: int, *, live: bool) -> str:
    """Return when an incident happened, and how long that is ago: before now, or before the recording ends."""
    first, last = incident["start"], incident["end"]
    since = f"{often(incident)}{'since' if incident['occurrences'] > 1 else 'at'} {second_of(first)} UTC"
    if incident["state"] == "ongoing" and not live:
        return since
    ago = _ago(until - last)
    return f"{since} · last {ago}" if live else f"{since} · last {ago.removesuffix(' ago')} before the recording ends"


def often(incident: IncidentRowPayload) -> str:
    """Return how often an incident happened: "2 times ". Return "" for once, and for several symptoms, because
    each of them counts the same event."""
    several = incident["occurrences"] > 1 and incident["symptoms_total"] == 1
    return f"{count(incident['occurrences'])} times " if several else ""


def when(incident: IncidentRowPayload, *, live: bool) -> str:
    """Return when an incident happened, in words that stay true: "2 times from 2026-11-21 07:51:33 to 07:52:59 UTC".

    `live` says whether a cluster feeds its source.
    """
    first, last = incident["start"], incident["end"]
    if incident["state"] == "ongoing":
        state = "ongoing" if live else "ongoing when the recording ends"
        return f"{often(incident)}since {second_of(first)} UTC, {state}"
    if second_of(first) == second_of(last):
        return f"{often(incident)}at {second_of(first)} UTC"
    return f"{often(incident)}from {second_of(first)} to {_since(last, first)} UTC"


def sparkline(times: list[int], start: int, end: int) -> list[Bar]:
    """Return bars for occurrences that began at these times, between `start` and `end` (microseconds since 1970)."""
    width = max(1, -(-(end - start + 1) // BARS))
    counts = [0] * BARS
    for time in times:
        if start <= time <= end:
            counts[(time - start) // width] += 1
    highest = max(counts)
    return [Bar(number, 100 * number // highest if highest else 0) for number in counts]
