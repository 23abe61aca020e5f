"""Write baselines, which take what is known out of the lists until it gets worse."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from timeline.core.entries import microseconds
from timeline.models import BaselineIncident, Incident, Source
from timeline.storage.judged import incidents
from timeline.storage.people.answering import wholly_answered

_DAY = timedelta(hours=24)


def set_baseline(source_id: int, by: str) -> int:
    """Take every incident of a source that is known now, and that the present reader sees whole, out of its lists;
    return how many these are.

    Raises Source.DoesNotExist.
    """
    source = Source.objects.get(pk=source_id, ready=True)
    now, end = timezone.now(), source.last or timezone.now()
    known = Incident.objects.filter(source=source)
    whole = wholly_answered(Incident, source_id, known.values_list("identity", flat=True))
    rows = [
        BaselineIncident(
            source=source, identity=identity, rank=rank, hourly=_hourly(times, end), by=by, at=now, ended=""
        )
        for identity, rank, times in known.values_list("identity", "rank", "times")
        if identity in whole
    ]
    with transaction.atomic():
        BaselineIncident.objects.filter(source=source).delete()
        BaselineIncident.objects.bulk_create(rows, batch_size=1000)
        incidents.announce(source_id, [row.identity for row in rows])
    return len(rows)


def clear_baseline(source_id: int) -> int:
    """Remove the baseline of a source; return how many incidents were in it."""
    rows = BaselineIncident.objects.filter(source=source_id, source__delete_after=None)
    identities = list(rows.values_list("identity", flat=True))
    count, _ = rows.delete()
    incidents.announce(source_id, identities)
    return count


def _hourly(times: list[int], end: datetime) -> float:
    """Return how many of these occurrences began in an hour, in the 24 hours before the end."""
    since = microseconds(end - _DAY)
    return sum(since <= time <= microseconds(end) for time in times) / 24
