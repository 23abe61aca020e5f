"""Read acknowledgements, by which users record that they know of findings and incidents."""

from collections.abc import Collection
from datetime import datetime

from timeline.models import Acknowledgement, Finding, Occurrence
from timeline.payloads.findings import AcknowledgementPayload
from timeline.storage.people.acknowledgements import acknowledged_together, payload


def acknowledged(source_id: int, identities: Collection[str]) -> dict[str, AcknowledgementPayload]:
    """Return the acknowledgements of these findings or incidents that still hold, by identity."""
    rows = Acknowledgement.objects.filter(source=source_id, identity__in=identities, ended="")
    return {row.identity: payload(row) for row in rows}


def acknowledged_in(
    sources: Collection[int], identities: Collection[str]
) -> dict[tuple[int, str], AcknowledgementPayload]:
    """Return the acknowledgements of these findings or incidents of several sources that still hold."""
    rows = Acknowledgement.objects.filter(source__in=sources, identity__in=identities, ended="")
    return {(row.source_id, row.identity): payload(row) for row in rows}


def listed_with(source_id: int, identity: str, keys: Collection[str]) -> dict[str, str]:
    """Return the names of the subjects of all other findings in these rows of the list of findings, by identity."""
    rows = Occurrence.objects.filter(source=source_id, key__in=keys).values_list("findings", flat=True)
    others = list(dict.fromkeys(other for findings in rows for other in findings if other != identity))
    stored = Finding.objects.filter(source=source_id, identity__in=others)
    names = dict(stored.values_list("identity", "document__subject__name"))
    return {other: names[other] for other in others if other in names}


def acknowledged_at(at: datetime, by: str) -> int:
    """Return how many incidents this user acknowledged at once at this time."""
    return acknowledged_together(at, by).count()


def ended(source_id: int, identity: str) -> str:
    """Return why the acknowledgement of an incident holds no more; "" if it does, or if there was none."""
    row = Acknowledgement.objects.filter(source=source_id, identity=identity).exclude(ended="").first()
    return f"{row.by or 'Somebody'} acknowledged it at {row.at:%Y-%m-%d %H:%M} UTC. {row.ended}" if row else ""


def has_acknowledged(by: str) -> bool:
    """Return whether this user has ever acknowledged an incident."""
    return Acknowledgement.objects.filter(by=by, rank__isnull=False).exists()
