"""Delete sources and clusters in two steps, so that a deletion can be undone for a minute.

The first step marks the row, which hides it everywhere (see `models.NotDeleted`). After the minute, a periodic task
removes it with everything that was stored of it.
"""

import logging
from datetime import UTC, datetime, timedelta
from typing import cast

from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now

from timeline.models import Cluster, Source
from timeline.storage import notify, store
from timeline.storage.keeping import holds

logger = logging.getLogger(__name__)
UNDO = timedelta(minutes=1)
_PATIENCE = 10  # seconds to wait for a transaction that still writes to the row


class NameTaken(Exception):
    """Another cluster has the name of the one that is to be restored."""


def delete_source(source_id: int) -> bool:
    """Hide a source, and let it be removed in a minute; return whether there was one.

    A source that a cluster feeds is not deleted. Raises OperationalError if somebody still writes to it, and holds.Held
    if a legal hold keeps it.
    """
    with transaction.atomic():
        _wait_at_most()
        holds.refuse([source_id])
        shown = Source.objects.filter(pk=source_id, ready=True, current_of=None)
        found = bool(shown.update(delete_after=_end_of_minute()))
        notify.notify(source=source_id)
    return found


def restore_source(source_id: int) -> bool:
    """Show a deleted source again; return False if its minute is over."""
    with transaction.atomic():
        found = bool(Source.everything.filter(pk=source_id, delete_after__gt=Now()).update(delete_after=None))
        notify.notify(source=source_id)
    return found


def delete_cluster(cluster_id: int, *, sources: bool) -> None:
    """Stop watching a cluster, hide it, and let it be removed in a minute, with its sources if `sources` is set.

    Its worker loses the lease, and so writes nothing more. Locks are taken in the same order as by the worker. Without
    `sources`, a legal hold of the cluster passes to its sources. Raises OperationalError if a lock is not free in time,
    and holds.Held if a legal hold keeps a source that is to be deleted.
    """
    with transaction.atomic():
        _wait_at_most()
        if sources:
            holds.refuse(Source.everything.filter(cluster=cluster_id).values_list("pk", flat=True), cluster_id)
        else:
            holds.hand_over(cluster_id)
        row = Cluster.objects.select_for_update().filter(pk=cluster_id).first()
        if row is None:
            return
        fed = list(Source.objects.select_for_update().filter(cluster=row).order_by("pk"))
        ended = f"The cluster was disconnected on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
        Source.objects.filter(cluster=row, ended="").update(ended=ended)
        until = _end_of_minute()
        if sources:
            Source.objects.filter(cluster=row).update(delete_after=until)
        Cluster.objects.filter(pk=row.pk).update(
            source=None, holder="", expires_at=None, epoch=row.epoch + 1, delete_after=until
        )
        _notify(row, fed)


def restore_cluster(cluster_id: int) -> bool:
    """Connect a cluster again, as it was, with the sources that were deleted with it; return False if its minute is
    over. The time between is a gap. If something was imported into its source meanwhile, another source begins.

    Raises NameTaken if another cluster has its name now, and OperationalError if somebody still writes to a source.
    """
    with transaction.atomic():
        _wait_at_most()
        row = Cluster.everything.select_for_update().filter(pk=cluster_id, delete_after__gt=Now()).first()
        if row is None:
            return False
        if Cluster.objects.filter(name=row.name).exists():
            raise NameTaken(f"Another cluster named {row.name} was connected meanwhile. Disconnect it first.")
        fed = Source.everything.select_for_update().filter(cluster=row).order_by("pk")
        Source.everything.filter(cluster=row, delete_after__gte=row.delete_after).update(delete_after=None)
        latest = fed.last()  # the source that the cluster fed: all others ended before
        if latest and len(latest.inputs) > 1:
            latest = None
        if latest:
            Source.everything.filter(pk=latest.pk).update(delete_after=None, ended="")
        Cluster.everything.filter(pk=row.pk).update(source=latest, delete_after=None)
        _notify(row, list(fed))
    return True


def remove_deleted() -> int:
    """Remove what was deleted more than a minute ago, and return how many sources and clusters these were.

    What another transaction still uses waits for the next call.
    """
    count = 0
    for cluster in Cluster.everything.filter(delete_after__lte=Now()):
        unused = list(Source.everything.filter(cluster=cluster, ready=False))
        cluster.delete()
        count += 1
        for source in unused:
            count += _discard(source)
    for source in Source.everything.filter(delete_after__lte=Now()).defer("document", "skips", "histogram"):
        count += _discard(source)
    return count


def _discard(source: Source) -> bool:
    try:
        store.discard_source(source, patience=_PATIENCE)
    except OperationalError:
        logger.warning("source %s was deleted, but is still in use; it is removed later", source.pk)
        return False
    return True


def _wait_at_most() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{_PATIENCE}s"])


def _end_of_minute() -> datetime:
    """Return until when a deletion can be undone, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row
    return cast("datetime", row[0]) + UNDO


def _notify(cluster: Cluster, sources: list[Source]) -> None:
    notify.notify(cluster=cluster.pk)
    for source in sources:
        notify.notify(source=source.pk)
