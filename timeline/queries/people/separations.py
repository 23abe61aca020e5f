"""Read which symptoms people have taken out of incidents."""

from typing import NamedTuple

from django.db.models import Q

from timeline.core.entries import microseconds
from timeline.models import Incident, SeparateSymptom, Symptom
from timeline.payloads.documents import timestamp


class Separation(NamedTuple):
    """A symptom that a person has taken out of an incident."""

    incident: str  # Incident.identity
    title: str  # of that incident; "" if it is gone
    symptom: str  # Symptom.identity, and Incident.identity of what it is now
    symptom_title: str  # "" if it is gone
    by: str  # a user's name; "" if nobody has to sign in
    at: str  # ISO 8601 UTC


def separated(source_id: int, identity: str) -> list[Separation]:
    """Return what was taken out of an incident, and the incidents that it was taken out of itself, in order of time."""
    of_it = SeparateSymptom.objects.filter(Q(incident=identity) | Q(symptom=identity), source=source_id)
    rows = list(of_it.order_by("at", "symptom"))
    named = {name for row in rows for name in (row.incident, row.symptom)}
    titles = dict(Incident.objects.filter(source=source_id, identity__in=named).values_list("identity", "title"))
    of_symptoms = Symptom.objects.filter(source=source_id, incident__in=named, identity__in=named)
    symptoms = dict(of_symptoms.values_list("identity", "title"))
    return [
        Separation(
            row.incident,
            titles.get(row.incident, ""),
            row.symptom,
            symptoms.get(row.symptom, ""),
            row.by,
            timestamp(microseconds(row.at)),
        )
        for row in rows
    ]
