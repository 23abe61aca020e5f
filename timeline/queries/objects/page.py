"""Read everything that the page of an object begins with."""

from timeline.models import Source, Track
from timeline.payloads.objects import TrackPayload
from timeline.queries.objects.lives import relations
from timeline.queries.objects.object_incidents import incidents_of
from timeline.queries.objects.status import status


def track(source_id: int, track_id: int) -> TrackPayload:
    """Return one incarnation of an object. Raises Source.DoesNotExist and Track.DoesNotExist."""
    source = Source.objects.get(pk=source_id, ready=True)
    row = Track.objects.get(source=source, id=track_id)
    return {**relations(source, row), "incidents": incidents_of(source, row), "status": status(row)}
