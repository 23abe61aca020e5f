"""This module reads and writes baselines, which take what is known out of the lists until it gets worse."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from timeline.core.entries import microseconds
from timeline.models import BaselineIncident, Incident, Source
from timeline.queries.answering import wholly_answered
from timeline.storage import incidents

_DAY = timedelta(hours=24)
_WORSE = 200  # incidents that have got worse, which are listed


@dataclass(frozen=True)
class Baseline:
    """This is the baseline of a source as a whole."""

    at: datetime
    by: str
    incidents: int  # that are still in it
    worse: list[tuple[str, str, str]]  # the identity and title of each that has got worse, and in what way


def baseline(source_id: int) -> Baseline | None:
    """Return the baseline of a source; None without one."""
    rows = BaselineIncident.objects.filter(source=source_id)
    first = rows.order_by("at").first()
    if first is None:
        return None
    worse = dict(rows.exclude(ended="").order_by("identity").values_list("identity", "ended")[:_WORSE])
    titles = dict(Incident.objects.filter(source=source_id, identity__in=worse).values_list("identity", "title"))
    listed = [(identity, titles[identity], why) for identity, why in worse.items() if identity in titles]
    return Baseline(first.at, first.by, rows.filter(ended="").count(), listed)


def worse(source_id: int, identity: str) -> str:
    """Return why an incident came out of the baseline of its source; "" if it did not."""
    row = BaselineIncident.objects.filter(source=source_id, identity=identity).exclude(ended="").first()
    return f"It was in the baseline of {row.at:%Y-%m-%d %H:%M} UTC. {row.ended}" if row else ""


def baselines(sources: Collection[int], identities: Collection[str]) -> dict[tuple[int, str], BaselineIncident]:
    """Return those of these incidents that are in the baseline of their source, and have not got worse."""
    rows = BaselineIncident.objects.filter(source__in=sources, identity__in=identities, ended="")
    return {(row.source_id, row.identity): row for row in rows}


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
