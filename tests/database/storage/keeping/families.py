"""This module makes the source of a cluster of which retention keeps a part."""

from tests import ENGINE
from tests.database.storage import sources
from tests.rows.stored import entries_in
from timeline.models import Finding, Incident, Source, Track


def watched(**kept: int) -> Source:
    """Return a source with one table for each of a few batches."""
    return sources.watched(ENGINE / "families-watch", 60, tables_each=True, **kept)


def counts(source: Source) -> tuple[int, ...]:
    return entries_in(source), Track.objects.count(), Finding.objects.count(), Incident.objects.count()
