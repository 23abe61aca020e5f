"""Read findings as they are stored."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from timeline.history.lifelines import Name
from timeline.payloads.incidents.occurrences import StoredFinding

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from timeline.models import Finding

_COLUMNS = ("subject", "root", "document", "occurrences", "incident", "anchor", "namespaces")


def read(findings: "QuerySet[Finding]") -> Iterator[StoredFinding]:
    """Yield these findings."""
    for row in findings.values_list(*_COLUMNS).iterator():
        subject, root, document, occurrences, incident, anchor, namespaces = row
        named = Name(*anchor) if anchor else None
        yield StoredFinding(subject, root, document, occurrences, incident, named, namespaces)
