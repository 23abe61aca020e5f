"""Write acknowledgements, by which users record that they know of findings and incidents."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from timeline.core.entries import microseconds
from timeline.models import Acknowledgement, Finding, Incident
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import AcknowledgementPayload
from timeline.storage.judged import incidents
from timeline.storage.people.answering import REFUSED, wholly_answered


def acknowledge(source_id: int, identity: str, by: str, note: str) -> AcknowledgementPayload:
    """Acknowledge a finding, or replace the note of its acknowledgement.

    Raises Finding.DoesNotExist, and PermissionDenied if the present reader may answer only a part of it.
    """
    Finding.objects.only("pk").get(source=source_id, source__delete_after=None, identity=identity)
    if not wholly_answered(Finding, source_id, [identity]):
        raise PermissionDenied(REFUSED)
    row, _ = Acknowledgement.objects.update_or_create(
        source_id=source_id, identity=identity, defaults={"by": by, "note": note}
    )
    return payload(row)


def acknowledge_incidents(source_id: int, identities: Collection[str], by: str, note: str) -> int:
    """Acknowledge these incidents, as grave as they are now; return how many of them there are.

    Raises PermissionDenied if the present reader may answer only a part of one.
    """
    found = dict(_shown(source_id, identities).values_list("identity", "rank"))
    if found.keys() - wholly_answered(Incident, source_id, found):
        raise PermissionDenied(REFUSED)
    return _acknowledge(source_id, found, by, note, timezone.now())


def acknowledge_new(wanted: Mapping[int, Collection[str]], by: str, note: str) -> datetime:
    """Acknowledge those of these incidents that nobody has acknowledged, and that the present reader may answer whole;
    return the time that all of these share."""
    at = timezone.now()
    with transaction.atomic():
        for source_id, identities in wanted.items():
            whole = wholly_answered(Incident, source_id, identities)
            found = _shown(source_id, whole).exclude(
                Exists(Acknowledgement.objects.filter(source=source_id, identity=OuterRef("identity"), ended=""))
            )
            _acknowledge(source_id, dict(found.values_list("identity", "rank")), by, note, at)
    return at


def _shown(source_id: int, identities: Collection[str]) -> QuerySet[Incident]:
    return Incident.objects.filter(source=source_id, source__delete_after=None, identity__in=identities)


def _acknowledge(source_id: int, ranks: Mapping[str, int], by: str, note: str, at: datetime) -> int:
    rows = [
        Acknowledgement(source_id=source_id, identity=identity, by=by, note=note, rank=rank)
        for identity, rank in ranks.items()
    ]
    with transaction.atomic():
        Acknowledgement.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["source", "identity"],
            update_fields=["by", "note", "rank", "at", "ended"],
        )
        # `auto_now` has given each row a time of its own.
        Acknowledgement.objects.filter(source=source_id, identity__in=ranks).update(at=at)
        incidents.announce(source_id, ranks)
    return len(rows)


def undo(at: datetime, by: str) -> int:
    """Remove the acknowledgements that this user made at once at this time; return how many there were."""
    undone: dict[int, list[str]] = {}
    for source_id, identity in acknowledged_together(at, by).values_list("source", "identity"):
        undone.setdefault(source_id, []).append(identity)
    count, _ = acknowledged_together(at, by).delete()
    for source_id, identities in undone.items():
        incidents.announce(source_id, identities)
    return count


def acknowledged_together(at: datetime, by: str) -> QuerySet[Acknowledgement]:
    """Return the acknowledgements that hold of the incidents that this user acknowledged at once at this time."""
    return Acknowledgement.objects.filter(at=at, by=by, rank__isnull=False, ended="")


def withdraw(source_id: int, identity: str) -> bool:
    """Remove the acknowledgement of a finding or an incident; return whether there was one.

    Raises PermissionDenied if the present reader may answer only a part of it.
    """
    of_it = Acknowledgement.objects.filter(source=source_id, source__delete_after=None, identity=identity)
    if of_it.exists() and not any(wholly_answered(model, source_id, [identity]) for model in (Incident, Finding)):
        raise PermissionDenied(REFUSED)
    count, _ = of_it.delete()
    if count:
        incidents.announce(source_id, [identity])
    return bool(count)


def payload(row: Acknowledgement) -> AcknowledgementPayload:
    """Return who acknowledged something, when, and the note."""
    return {"by": row.by, "at": timestamp(microseconds(row.at)), "note": row.note}
