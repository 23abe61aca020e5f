"""Take symptoms out of incidents: a person says that they have not the same cause as the rest."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.core.exceptions import PermissionDenied
from django.db import transaction

from timeline.judging.incidents import subjects
from timeline.judging.incidents.partition import episodes
from timeline.models import Incident, SeparateSymptom, Source, Symptom
from timeline.payloads.incidents.making import Places
from timeline.payloads.incidents.occurrences import StoredFinding
from timeline.storage.judged import findings, incidents
from timeline.storage.people.answering import REFUSED, wholly_answered
from timeline.storage.permitted.limits import unlimited


def separate(source_id: int, incident: str, symptom: str, by: str) -> None:
    """Make a symptom of an incident an incident of its own, which it stays.

    Raises Symptom.DoesNotExist if it is no symptom of the incident, or gives the incident its identity, and
    PermissionDenied if the present reader may answer only a part of the incident.
    """
    with _changed(source_id, [incident]) as source:
        if symptom == incident:
            raise Symptom.DoesNotExist("The incident is known by this symptom.")
        Symptom.objects.only("pk").get(source=source, incident=incident, identity=symptom)
        SeparateSymptom.objects.get_or_create(source=source, incident=incident, symptom=symptom, defaults={"by": by})
        moved = {
            each.document["id"]: [symptom if place == incident else place for place in each.places]
            for each in incidents.read_findings(source, [incident])
            if _symptom(each) == symptom
        }
        _move(source, moved, {incident, symptom})


def rejoin(source_id: int, incident: str, symptom: str) -> None:
    """Undo `separate`: what proof connects with the incident belongs to it again.

    Raises SeparateSymptom.DoesNotExist if the symptom was not taken out of the incident, and PermissionDenied if the
    present reader may answer only a part of both.
    """
    with _changed(source_id, [incident, symptom]) as source:
        near = incidents.with_separated([incident, symptom], incidents.apart(source))
        if not SeparateSymptom.objects.filter(source=source, incident=incident, symptom=symptom).delete()[0]:
            raise SeparateSymptom.DoesNotExist("The symptom was not taken out of the incident.")
        read = list(incidents.read_findings(source, near))
        pieces = [piece for each in read for piece, at in zip(each.pieces, each.places, strict=False) if at in near]
        joined = {
            (piece.finding, piece.number)
            for each in episodes(pieces, incidents.apart(source))
            for piece in each.pieces
            if each.identity == incident
        }
        moved = {}
        for each in read:
            if _symptom(each) == symptom:
                id = each.document["id"]
                places = enumerate(each.places)
                moved[id] = [incident if at == symptom and (id, number) in joined else at for number, at in places]
        _move(source, moved, {incident, symptom})


@contextmanager
def _changed(source_id: int, identities: Collection[str]) -> Iterator[Source]:
    """Lock a source whose incidents are changed. Raises PermissionDenied if the present reader may not answer them."""
    if {*identities} - wholly_answered(Incident, source_id, identities):
        raise PermissionDenied(REFUSED)
    with transaction.atomic(), unlimited():
        yield Source.objects.select_for_update(no_key=True).only("cluster").get(pk=source_id)


def _symptom(found: StoredFinding) -> str:
    """Return the identity of the symptom that a finding is of."""
    return subjects.identity(found.document["rule"], found.anchor) if found.anchor else ""


def _move(source: Source, moved: Places, touched: Collection[str]) -> None:
    findings.move(source, moved)
    incidents.write(source, touched)
