"""Compute until when recordings are kept: for the days of the setting, unless a recording has its own."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Coalesce, Greatest

from timeline.models import KEEP_DAYS_AT_MOST, Source
from timeline.storage import notify

NOTICE = timedelta(days=7)  # so long before a recording is deleted, pages say so


def recording_days(source: Source) -> int:
    """Return for how many days a recording is kept; 0 for ever."""
    days: int = settings.RECORDING_DAYS if source.keep_days is None else source.keep_days
    return days


def change_days(source: Source, days: int | None) -> None:
    """Set for how many days a recording is kept: 0 for ever, None for those of the setting. Raises ValueError."""
    if source.cluster_id is not None:
        raise ValueError("A connected cluster feeds it: what is said of the cluster decides how long it is kept.")
    if days is not None and not 0 <= days <= KEEP_DAYS_AT_MOST:
        raise ValueError(f"Say for how many days it is kept, from 0 to {KEEP_DAYS_AT_MOST}; 0 keeps it for ever.")
    Source.objects.filter(pk=source.pk).update(keep_days=days)
    notify.notify(source=source.pk)


def deleted_on(source: Source) -> datetime | None:
    """Return when retention deletes a recording if no legal hold keeps it; None if never, and for sources of connected
    clusters.

    The days count from the import. What a cluster fed counts from its last change, if that is later.
    """
    days = recording_days(source)
    if source.cluster_id is not None or not days:
        return None
    begun = max(source.created, source.last) if source.sequence and source.last else source.created
    return begun + timedelta(days=days)


def expired(now: datetime) -> QuerySet[Source]:
    """Return the recordings whose days are over and that no legal hold keeps, the oldest first."""
    begun = Case(When(sequence__gt=0, then=Greatest("created", Coalesce("last", "created"))), default=F("created"))
    own = Coalesce("keep_days", settings.RECORDING_DAYS)
    of_recordings = Source.objects.filter(ready=True, cluster=None, current_of=None, holds=None).annotate(
        begun=begun, kept_days=own
    )
    over = Q()
    for days in set(of_recordings.order_by().values_list("kept_days", flat=True).distinct()):
        over |= Q(kept_days=days, begun__lt=now - timedelta(days=days)) if days else Q()
    return of_recordings.filter(over).order_by("pk") if over else Source.objects.none()


def announced(now: datetime) -> list[tuple[Source, datetime]]:
    """Return the recordings that will be deleted within the time of notice, with the times, the next first."""
    soon = expired(now + NOTICE).defer("document", "skips", "histogram")[:100]
    return sorted(((each, at) for each in soon if (at := deleted_on(each))), key=lambda each: each[1])
