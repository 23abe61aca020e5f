"""Keep what API servers send by themselves until the worker of a live source takes it.

A batch is stored in one transaction, and only then acknowledged. The worker takes it in the transaction that commits
what is in it. So nothing is lost or doubled, whatever dies when. A batch that is sent again, because the answer to the
first one was lost, is recognised by its digest.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import NamedTuple

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Sum
from django.db.models.functions import Now

from timeline.models import ActorFeed, AuditBatch, Cluster, Source, Way

REMEMBERED = timedelta(hours=6)  # for which a batch is recognised; API servers try for some minutes
TAKEN = 16  # batches that are taken together at most
TAKEN_BYTES = 2 * 1024**2  # packed bytes that are taken together at most, but for the first batch
GAPS = 50  # of the newest gaps that are kept
_TOGETHER = 60_000_000  # µs between two changes of one gap at most
_KEYS = {"repeated", "events", "unread", "late", "dropped", "added", "batches"}

_MOVE = """
UPDATE timeline_audit_batch AS batch SET source_id = moving.present
FROM (
    SELECT DISTINCT ON (cluster.source_id, way, digest) cluster.source_id AS present, ended.id AS ended, way, digest
    FROM timeline_audit_batch AS waiting JOIN timeline_source AS ended ON ended.id = waiting.source_id
    JOIN timeline_cluster AS cluster ON cluster.id = ended.cluster_id AND cluster.source_id <> ended.id
    WHERE lines IS NOT NULL AND NOT EXISTS (
        SELECT FROM timeline_audit_batch AS other WHERE other.source_id = cluster.source_id
        AND other.way = waiting.way AND other.digest = waiting.digest
    )
    ORDER BY cluster.source_id, way, digest, ended.id DESC
) AS moving
WHERE batch.source_id = moving.ended AND batch.way = moving.way AND batch.digest = moving.digest
"""


class NotWatched(Exception):
    """Nothing of the cluster is watched, so that there is no source to which a batch could belong."""


class Full(Exception):
    """So much waits for the worker that the sender has to wait, too."""


class Batch(NamedTuple):
    """A batch as it arrived. `events` are counted as they were sent, `unread` those that could not be read."""

    digest: str
    lines: bytes  # packed
    events: int
    unread: int = 0
    dropped: int = 0  # how much the sender was answered to be accepted although it was not stored


def digest_of(identities: Iterable[str]) -> str:
    """Return what identifies a batch by the identities of its events, in any order."""
    return sha256("\n".join(sorted(identities)).encode(errors="replace")).hexdigest()


def accept(cluster_id: int, way: Way, batch: Batch, most: int) -> bool:
    """Store a batch for the present source of a cluster; return False if it had been stored before.

    Raises NotWatched, and Full if more than `most` packed bytes wait already.
    """
    with transaction.atomic():
        source = _source(cluster_id)
        waiting = AuditBatch.objects.filter(source=source, way=way, lines__isnull=False)
        if (waiting.aggregate(size=Sum("size"))["size"] or 0) > most:
            raise Full(f"More than {most} bytes wait for the worker that watches the cluster.")
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO timeline_audit_batch (source_id, way, digest, arrived, size, lines)"
                " VALUES (%s, %s, %s, clock_timestamp(), %s, %s) ON CONFLICT DO NOTHING",
                [source, way, batch.digest, len(batch.lines), batch.lines],
            )
            new = bool(cursor.rowcount)
        counts = {"events": batch.events, "unread": batch.unread, "dropped": batch.dropped, "batches": 1}
        _count(source, way, **(counts if new else {"repeated": 1}), arrived=True)
    return new


def note(cluster_id: int, way: Way, problem: str, *, dropped: int = 0) -> None:
    """Note a problem of a batch, as a sentence, or how much was dropped. Without a source, there is nowhere to."""
    with transaction.atomic():
        try:
            source = _source(cluster_id)
        except NotWatched:
            return
        _count(source, way, dropped=dropped)
        if problem:
            ActorFeed.objects.filter(source=source, way=way).update(problem=problem[:1000], problem_at=Now())


def waiting(source: Source, way: Way, besides: Collection[str] = ()) -> Sequence[AuditBatch]:
    """Return the batches that are to be taken next, the oldest first, without those whose digests are `besides`."""
    rows = AuditBatch.objects.filter(source=source, way=way, lines__isnull=False).exclude(digest__in=besides)
    sizes = list(rows.order_by("arrived", "digest").values_list("digest", "size")[:TAKEN])
    chosen: list[str] = []
    total = 0
    for digest, size in sizes:
        total += size
        if chosen and total > TAKEN_BYTES:
            break
        chosen.append(digest)
    return list(rows.filter(digest__in=chosen).order_by("arrived", "digest")) if chosen else ()


def flows(source: Source, way: Way) -> bool:
    """Return whether anything has arrived by this way."""
    return ActorFeed.objects.filter(source=source, way=way, batches__gt=0).exists()


def take(batches: Collection[AuditBatch]) -> None:
    """Note that batches of one source and way were taken. Call this in the transaction that commits what is in them."""
    first = next(iter(batches))
    digests = [batch.digest for batch in batches]
    AuditBatch.objects.filter(source=first.source_id, way=first.way, digest__in=digests).update(lines=None)


def count_added(source: Source, way: Way, *, added: int, late: int = 0, problem: str = "") -> None:
    """Count the observations that were taken: those that added something, and those of a time that is not known."""
    _count(source.pk, way, added=added, late=late)
    if problem:
        ActorFeed.objects.filter(source=source, way=way).update(problem=problem[:1000], problem_at=Now())


def set_aside(source: Source, way: Way, problem: str) -> None:
    """Count an observation that was set aside, and note why, as a sentence."""
    _count(source.pk, way, unread=1)
    ActorFeed.objects.filter(source=source, way=way).update(problem=problem[:1000], problem_at=Now())


def tidy() -> None:
    """Let what waits for a source that has ended wait for the one that its cluster has now, and remove the rows of
    batches that were taken long ago."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_MOVE)
    except IntegrityError:
        pass  # a batch has come again meanwhile; the next call moves the others
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM timeline_audit_batch WHERE arrived < clock_timestamp() - make_interval(secs => %s)"
            " AND (lines IS NULL OR source_id NOT IN (SELECT source_id FROM timeline_cluster"
            " WHERE source_id IS NOT NULL))",
            [REMEMBERED.total_seconds()],
        )


def since(source: Source) -> int:
    """Return when the first batch of any way arrived, in microseconds since 1970; 0 if none did."""
    feeds = ActorFeed.objects.filter(source=source, batches__gt=0)
    found = feeds.order_by("since").values_list("since", flat=True).first()
    return round(found.timestamp() * 1e6) if found else 0


def compared(source: Source, said: Mapping[tuple[str, bool], int], without: Iterable[tuple[str, int]]) -> None:
    """Count changes by kind and whether it is known who made them. `without` has the kind and the time (µs since 1970)
    of those without a known maker; they are a gap if the makers of other changes of their kind are known."""
    with transaction.atomic():
        feed = ActorFeed.objects.select_for_update().filter(source=source).order_by("-way").first()  # audit first
        if feed is None:
            return
        for (kind, known), number in said.items():
            counts = feed.compared.setdefault(kind, [0, 0])
            counts[not known] += number
        for time in sorted(time for kind, time in without if feed.compared[kind][0]):
            if feed.gaps and time - feed.gaps[-1][1] < _TOGETHER:
                feed.gaps[-1] = [min(feed.gaps[-1][0], time), max(feed.gaps[-1][1], time), feed.gaps[-1][2] + 1]
            else:
                feed.gaps.append([time, time, 1])
        feed.gaps = feed.gaps[-GAPS:]
        feed.save(update_fields=["compared", "gaps"])


def _source(cluster_id: int) -> int:
    """Return the number of the source to which a cluster's changes are added now.

    The row is not locked. If the source ends before the batch is stored, `tidy` moves the batch to the next source.
    """
    row = Cluster.objects.filter(pk=cluster_id, source__first__isnull=False).values_list("source").first()
    if row is None or row[0] is None:
        raise NotWatched("Nothing of the cluster has been watched yet.")
    return int(row[0])


def _count(source: int, way: Way, *, arrived: bool = False, **counts: int) -> None:
    """Add to the counts of a way."""
    assert counts.keys() <= _KEYS
    ActorFeed.objects.bulk_create(
        [ActorFeed(source_id=source, way=way, since=Now(), last=Now())], ignore_conflicts=True
    )
    changes = {name: F(name) + number for name, number in counts.items() if number}
    if arrived:
        changes["last"] = Now()  # type: ignore[assignment]
    if changes:
        ActorFeed.objects.filter(source=source, way=way).update(**changes)
