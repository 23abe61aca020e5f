"""Keep what collectors send until the worker of their cluster takes it, and decide which one is active.

A batch is stored in one transaction, and only then acknowledged. The worker takes it in the transaction that commits
what is in it. Batches are numbered without a hole, so a batch that is sent twice is recognised. A collector that begins
gets a new epoch, and batches of older epochs are refused: one that was frozen and wakes up sends nothing.
"""

from datetime import timedelta
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F, Sum
from django.db.models.functions import Now

from timeline.models import Cluster, CollectedBatch, Collector

SILENT = timedelta(seconds=30)  # after which another collector may become the active one
TAKEN = 16  # batches that are taken together at most
TAKEN_BYTES = 2 * 1024**2  # packed bytes that are taken together at most, but for the first batch
ATTEMPTS = 3  # after which a batch is put aside
ASIDE = 20  # batches of a cluster that are kept aside at most: the newest


class Held(Exception):
    """Another collector is active."""


class Stale(Exception):
    """A collector is not the active one any more."""


class OutOfOrder(Exception):
    """A batch is missing before the one that was sent."""

    def __init__(self, accepted: int) -> None:
        super().__init__(f"Batch {accepted + 1} is missing.")
        self.accepted = accepted


class Full(Exception):
    """So much waits for the worker that the collector has to wait, too."""


class Report(NamedTuple):
    """What a collector says of itself when it begins, and from time to time."""

    holder: str
    version: str
    buffered: int  # bytes
    behind: float  # seconds
    namespaces: tuple[str, ...]  # the only ones that it watches; none for all of them


class Epoch(NamedTuple):
    """The right to send batches, and the number of the last batch that was accepted."""

    epoch: int
    accepted: int


def begin_or_renew(cluster_id: int, epoch: int | None, report: Report) -> Epoch:
    """Make a collector the active one, or keep it so. `epoch` is what it was given before, None at first.

    Raises Held if another collector is active, Stale if another one was meanwhile, and Full if it watches other
    namespaces than the last one, while batches of the last one still wait.
    """
    with transaction.atomic():
        row = _locked(cluster_id)
        silent = row.renewed_at is None or _is_silent(cluster_id)
        if epoch is not None and epoch == row.epoch and row.holder == report.holder:
            pass
        elif epoch is not None:
            raise Stale("Another collector of this cluster has begun meanwhile.")
        elif silent or row.holder == report.holder:
            row.epoch += 1
        else:
            raise Held(f"{row.holder} is the active collector of this cluster.")
        cluster = Cluster.objects.get(pk=cluster_id)
        if tuple(cluster.namespaces) != report.namespaces:
            if CollectedBatch.objects.filter(cluster=cluster_id, settled=False).exists():
                raise Full("Batches of other namespaces wait for the worker that watches the cluster.")
            Cluster.objects.filter(pk=cluster_id).update(namespaces=list(report.namespaces))
        Collector.objects.filter(pk=cluster_id).update(
            holder=report.holder,
            epoch=row.epoch,
            renewed_at=Now(),
            version=report.version,
            buffered=report.buffered,
            behind=report.behind,
        )
    return Epoch(row.epoch, row.accepted)


def give_up(cluster_id: int, epoch: int) -> None:
    """Let another collector begin at once, if the active one has this epoch."""
    Collector.objects.filter(pk=cluster_id, epoch=epoch).update(renewed_at=None)


class Received(NamedTuple):
    """A batch as it arrived."""

    number: int
    lines: bytes  # packed
    restored: str = ""  # why the cluster has another history from this batch on; "" if it has not
    aside: str = ""  # why it cannot be read, so that it is put aside at once; "" if it can


def accept(cluster_id: int, epoch: int, batch: Received, most: int) -> int:
    """Store a batch, if it was not stored before; return the number of the last batch that was accepted.

    Raises Stale, OutOfOrder, and Full if more than `most` packed bytes wait already.
    """
    with transaction.atomic():
        row = _locked(cluster_id)
        if row.epoch != epoch:
            raise Stale("Another collector of this cluster has begun meanwhile.")
        if batch.number <= row.accepted:
            return row.accepted
        if batch.number != row.accepted + 1:
            raise OutOfOrder(row.accepted)
        waiting = CollectedBatch.objects.filter(cluster=cluster_id, settled=False)
        if (waiting.aggregate(size=Sum("size"))["size"] or 0) > most:
            raise Full(f"More than {most} bytes wait for the worker that watches the cluster.")
        CollectedBatch.objects.create(
            cluster_id=cluster_id,
            number=batch.number,
            arrived=Now(),
            size=len(batch.lines),
            lines=batch.lines,
            restored=batch.restored[:1000],
            aside=batch.aside[:1000],
        )
        Collector.objects.filter(pk=cluster_id).update(accepted=batch.number, accepted_at=Now(), renewed_at=Now())
        if batch.aside:
            note(cluster_id, f"Batch {batch.number} was put aside, because it could not be read. {batch.aside}")
    return batch.number


def state_after(cluster_id: int, epoch: int, number: int) -> bytes | None:
    """Return what is known of the cluster after a batch, packed, or None if a worker has yet to say it. Raises
    Stale."""
    row = Collector.objects.filter(pk=cluster_id, epoch=epoch).first()
    if row is None:
        raise Stale("Another collector of this cluster has begun meanwhile.")
    if row.known is not None and row.known_after == number:
        return bytes(row.known)
    Collector.objects.filter(pk=cluster_id).update(asked=number, known=None)
    return None


def note(cluster_id: int, problem: str) -> None:
    """Note a problem of a batch, as a sentence."""
    Collector.objects.filter(pk=cluster_id).update(problem=problem[:1000], problem_at=Now())


def of(cluster_id: int) -> tuple[Collector | None, bool]:
    """Return what is known of the collectors of a cluster, and whether the active one is silent."""
    row = Collector.objects.defer("known").filter(pk=cluster_id).first()
    return row, row is not None and (row.renewed_at is None or _is_silent(cluster_id))


def waiting(cluster_id: int) -> list[CollectedBatch]:
    """Return the batches that are to be taken next, in order: a single one if a worker has failed to process it, if it
    was put aside, or if another history of the cluster begins with it."""
    rows = CollectedBatch.objects.filter(cluster=cluster_id, settled=False).order_by("number")
    sizes = list(rows.values_list("number", "size", "attempts", "restored", "aside")[:TAKEN])
    chosen: list[int] = []
    total = 0
    for number, size, attempts, restored, aside in sizes:
        total += size
        if chosen and (total > TAKEN_BYTES or attempts or restored or aside):
            break
        chosen.append(number)
        if attempts or aside:
            break
    return list(rows.filter(number__in=chosen)) if chosen else []


def take(cluster_id: int, numbers: list[int]) -> None:
    """Remove batches. Call this in the transaction that commits what is in them, or the gap of one put aside."""
    rows = CollectedBatch.objects.filter(cluster=cluster_id, number__in=numbers)
    rows.filter(aside="").delete()
    rows.update(settled=True)
    Collector.objects.filter(pk=cluster_id).update(taken=max(numbers))


def history_begun(cluster_id: int, number: int) -> None:
    """Note that a new source was begun for the history that begins with a batch, in the same transaction."""
    CollectedBatch.objects.filter(cluster=cluster_id, number=number).update(restored="")


def failed(cluster_id: int, numbers: list[int], why: str) -> None:
    """Note that batches could not be processed. After some attempts, the first of them is put aside."""
    with transaction.atomic():
        rows = CollectedBatch.objects.filter(cluster=cluster_id, number__in=numbers)
        rows.update(attempts=F("attempts") + 1)
        if len(numbers) > 1 or not rows.filter(attempts__gte=ATTEMPTS).exists():
            return
        rows.update(aside=why[:1000] or "It could not be processed.")
        note(cluster_id, f"Batch {numbers[0]} was put aside, because it could not be processed. {why}")
        old = CollectedBatch.objects.filter(cluster=cluster_id, settled=True).order_by("-number")[ASIDE:]
        numbers = list(old.values_list("number", flat=True))
        CollectedBatch.objects.filter(cluster=cluster_id, number__in=numbers).delete()


def answer(cluster_id: int, after: int, known: bytes) -> None:
    """Store what is known of the cluster after a batch, packed."""
    Collector.objects.filter(pk=cluster_id, asked=after).update(known=known, known_after=after, asked=None)


def _locked(cluster_id: int) -> Collector:
    Collector.objects.bulk_create([Collector(cluster_id=cluster_id)], ignore_conflicts=True)
    return Collector.objects.select_for_update().defer("known").get(pk=cluster_id)


def _is_silent(cluster_id: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT renewed_at < clock_timestamp() - make_interval(secs => %s) FROM timeline_collector"
            " WHERE cluster_id = %s",
            [SILENT.total_seconds(), cluster_id],
        )
        row = cursor.fetchone()
    return bool(row and row[0])
