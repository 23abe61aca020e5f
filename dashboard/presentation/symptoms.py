"""Write the texts about the symptoms of an incident. It makes no queries and no HTML."""

from collections.abc import Sequence
from typing import NamedTuple

from dashboard.presentation.wording import count, number_of, plural
from timeline.payloads.findings import AnchorPayload, IncidentRowPayload, SymptomRowPayload
from timeline.queries.people.separations import Separation

_NAMED = 3  # subjects that are named


class SymptomRow(NamedTuple):
    """A symptom as a row of a list."""

    symptom: SymptomRowPayload
    url: str  # the page of its gravest finding
    where: str  # "batch / Job train"
    names: str  # of its subjects: "ring-0, ring-1, ring-2 and 3 more"; "" if it has only one
    numbers: str  # "3 occurrences · 5 findings"


class Symptoms(NamedTuple):
    """The symptoms of an incident as they are folded below it."""

    rows: list[SymptomRow]  # none if the incident has only one
    numbers: str  # "13 symptoms · 50 findings"
    more: int  # how many further ones there are


def symptoms(incident: IncidentRowPayload) -> Symptoms:
    """Return the symptoms of an incident: the first ones, and how many there are."""
    total, shown = incident["symptoms_total"], incident["symptoms"]
    several = total > 1
    return Symptoms(
        [_row(each, incident["source"]) for each in shown] if several else [],
        f"{number_of(total, 'symptom')} · {number_of(incident['findings'], 'finding')}",
        total - len(shown) if several else 0,
    )


class SeparationRow(NamedTuple):
    """That a person has taken a symptom out of an incident, on the page of one of both."""

    incident: str  # the identity of the incident that it was taken out of
    symptom: str  # the identity of the symptom
    other: str  # the identity of the incident that the page does not show
    title: str  # of that incident
    out: bool  # whether it was taken out of the incident that the page shows
    said: str  # "ada, 2026-11-22 05:02 UTC"


def separation(each: Separation, shown: IncidentRowPayload) -> SeparationRow:
    """Return what the page of an incident says of a symptom that a person has taken out of it or out of another."""
    out = each.incident == shown["id"]
    return SeparationRow(
        each.incident,
        each.symptom,
        each.symptom if out else each.incident,
        (each.symptom_title if out else each.title) or "an incident that is gone",
        out,
        f"{each.by or 'somebody'}, {each.at[:16].replace('T', ' ')} UTC",
    )


def _row(each: SymptomRowPayload, source: int) -> SymptomRow:
    return SymptomRow(
        each,
        f"/sources/{source}/findings/{each['worst']}/",
        place(each["anchor"]),
        named(each["names"], each["subjects"]) if each["subjects"] > 1 else "",
        f"{number_of(each['occurrences'], 'occurrence')} · {number_of(each['findings'], 'finding')}",
    )


def place(anchor: AnchorPayload) -> str:
    """Return what something is about: "batch / Job train"."""
    return " / ".join(filter(None, [anchor["namespace"], f"{anchor['kind']} {anchor['name']}"]))


def named(names: Sequence[str], total: int) -> str:
    """Return the first names and how many more there are: "ring-0, ring-1, ring-2 and 3 more"."""
    shown = names[:_NAMED]
    more = total - len(shown)
    return ", ".join(shown) + (f" and {count(more)} more" if more > 0 else "")


def same_cause(others: Sequence[tuple[str, int]]) -> str:
    """Return what else one cause harmed, given by kind how many other objects: "5 other Jobs"; "" for nothing."""
    return " and ".join(f"{count(number)} other {plural(kind, number)}" for kind, number in others)
