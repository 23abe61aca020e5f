"""Keep what is under a legal hold: nobody and nothing deletes it until the hold is lifted.

Whoever deletes locks the table of holds first (`refuse`), so no hold can be placed between the check and the deletion.
"""

from collections.abc import Collection

from django.db import connection, transaction
from django.db.models import Q

from timeline.models import Cluster, Hold, Source
from timeline.storage import notify

REASON_LENGTH = 1000  # the most characters of a reason


class Held(Exception):
    """Something is to be deleted that a hold keeps. The message names the reason of the hold."""

    def __init__(self, hold: Hold) -> None:
        by = f" by {hold.by}" if hold.by else ""
        what = "The cluster" if hold.cluster_id else "It"
        super().__init__(
            f"{what} is under a legal hold since {hold.since:%Y-%m-%d %H:%M} UTC{by}: {hold.reason} Nothing of it can"
            " be deleted before the hold is lifted."
        )
        self.hold = hold


def of_source(source: int) -> Hold | None:
    """Return the hold that keeps a source: its own, or that of its cluster; None if nothing keeps it."""
    return Hold.objects.filter(_keeping([source], None)).order_by("pk").first()


def place(reason: str, by: str, *, source: int | None = None, cluster: int | None = None) -> Hold:
    """Put a source or a cluster under a legal hold; return its row. An existing hold gets the new reason.

    Raises ValueError if the reason is empty or too long, and Source.DoesNotExist or Cluster.DoesNotExist if it was
    deleted.
    """
    reason = " ".join(reason.replace("\0", "").split())
    if not reason or len(reason) > REASON_LENGTH:
        raise ValueError(f"Say why in at most {REASON_LENGTH} characters.")
    with transaction.atomic():
        with connection.cursor() as cursor:  # wait for deletions that have begun, and begin none meanwhile
            cursor.execute("LOCK TABLE timeline_hold IN ROW EXCLUSIVE MODE")
        kept: Source | Cluster
        if source is not None:
            kept = Source.objects.only("pk").get(pk=source, ready=True)
        else:
            kept = Cluster.objects.only("pk").get(pk=cluster or 0)
        hold, _ = kept.holds.update_or_create(defaults={"reason": f"{reason.rstrip('.')}.", "by": by})
        _notify(hold)
    hold.refresh_from_db()
    return hold


def lift(*, source: int | None = None, cluster: int | None = None) -> Hold | None:
    """Lift the hold of a source or a cluster itself; return its row as it was, or None if it had none."""
    with transaction.atomic():
        hold = Hold.objects.filter(source=source, cluster=cluster).first()
        if hold:
            _notify(hold)
            hold.delete()
    return hold


def refuse(sources: Collection[int], cluster: int | None = None) -> None:
    """Raise Held if a hold keeps one of these sources or the cluster. No hold can be placed until the current
    transaction ends. Call this before anything else is locked."""
    if hold := _first(sources, cluster):
        raise Held(hold)


def held(sources: Collection[int]) -> set[int]:
    """Return which of these sources a hold keeps. No hold can be placed until the current transaction ends."""
    lock()
    return set(Source.everything.filter(_with_hold(), pk__in=sources).values_list("pk", flat=True))


def hand_over(cluster: int) -> None:
    """Put each source of a cluster under the hold of the cluster, because the cluster will be removed."""
    hold = Hold.objects.filter(cluster=cluster).first()
    if hold is None:
        return
    rows = [
        Hold(source_id=source, reason=hold.reason, by=hold.by, since=hold.since)
        for source in Source.everything.filter(cluster=cluster).values_list("pk", flat=True)
    ]
    Hold.objects.bulk_create(rows, ignore_conflicts=True)


def lock() -> None:
    """Keep everybody from placing or lifting a hold until the current transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE timeline_hold IN SHARE MODE")


def _first(sources: Collection[int], cluster: int | None) -> Hold | None:
    lock()
    return Hold.objects.filter(_keeping(sources, cluster)).order_by("pk").first()


def _keeping(sources: Collection[int], cluster: int | None) -> Q:
    keeping = Q(source__in=sources) | Q(cluster__sources__in=sources)
    return keeping | Q(cluster=cluster) if cluster is not None else keeping


def _with_hold() -> Q:
    return Q(holds__isnull=False) | Q(cluster__holds__isnull=False)


def _notify(hold: Hold) -> None:
    if hold.source_id:
        notify.notify(source=hold.source_id)
    else:
        assert hold.cluster_id
        notify.notify(cluster=hold.cluster_id)
