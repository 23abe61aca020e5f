"""This module reads and writes acknowledgements, by which users record that they know of findings and incidents."""

from collections.abc import Collection

from django.utils import timezone

from timeline.core.entries import microseconds
from timeline.models import Acknowledgement, Finding, Incident, Occurrence
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import AcknowledgementPayload


def acknowledged(source_id: int, identities: Collection[str]) -> dict[str, AcknowledgementPayload]:
    """Return the acknowledgements of these findings or incidents that still hold, by identity."""
    rows = Acknowledgement.objects.filter(source=source_id, identity__in=identities, ended="")
    return {row.identity: _payload(row) for row in rows}


def listed_with(source_id: int, identity: str, keys: Collection[str]) -> dict[str, str]:
    """Return the names of the subjects of all other findings in these rows of the list of findings, by identity."""
    rows = Occurrence.objects.filter(source=source_id, key__in=keys).values_list("findings", flat=True)
    others = list(dict.fromkeys(other for findings in rows for other in findings if other != identity))
    stored = Finding.objects.filter(source=source_id, identity__in=others)
    names = dict(stored.values_list("identity", "document__subject__name"))
    return {other: names[other] for other in others if other in names}


def acknowledge(source_id: int, identity: str, by: str, note: str) -> AcknowledgementPayload:
    """Acknowledge a finding, or replace the note of its acknowledgement. Raises Finding.DoesNotExist."""
    Finding.objects.only("pk").get(source=source_id, identity=identity)
    row, _ = Acknowledgement.objects.update_or_create(
        source_id=source_id, identity=identity, defaults={"by": by, "note": note}
    )
    return _payload(row)


def acknowledge_incidents(source_id: int, identities: Collection[str], by: str, note: str) -> int:
    """Acknowledge these incidents, as grave as they are now; return how many of them there are."""
    found = Incident.objects.filter(source=source_id, identity__in=identities).values_list("identity", "rank")
    rows = [
        Acknowledgement(source_id=source_id, identity=identity, by=by, note=note, rank=rank, at=timezone.now())
        for identity, rank in found
    ]
    Acknowledgement.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["source", "identity"],
        update_fields=["by", "note", "rank", "at", "ended"],
    )
    return len(rows)


def withdraw(source_id: int, identity: str) -> bool:
    """Remove the acknowledgement of a finding or an incident; return whether there was one."""
    count, _ = Acknowledgement.objects.filter(source=source_id, identity=identity).delete()
    return bool(count)


def _payload(row: Acknowledgement) -> AcknowledgementPayload:
    return {"by": row.by, "at": timestamp(microseconds(row.at)), "note": row.note}
