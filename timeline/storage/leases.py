"""Decide which worker watches a cluster, by leases on the rows of clusters.

A worker takes the lease of a cluster for some seconds, by the database's clock, and renews it while it watches. Taking
a lease and giving it back both increment its epoch, and `hold` refuses writes under an older epoch: a worker that was
frozen for longer than its lease and wakes up cannot write. Renewing does not wait for transactions that write under the
lease, so a long transaction does not lose it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction

NAME_LENGTH = 40  # the most characters of a holder's name, so that it fits into the application_name of a session
_FRESH = "clock_timestamp() + make_interval(secs => %(seconds)s)"
_TAKE = f"""
WITH free AS MATERIALIZED (
    SELECT id FROM timeline_cluster WHERE NOT paused AND delete_after IS NULL
    AND (expires_at IS NULL OR expires_at < clock_timestamp())
    ORDER BY expires_at NULLS FIRST, id LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
UPDATE timeline_cluster SET epoch = epoch + 1, holder = %(holder)s, expires_at = {_FRESH}, state = 'connecting'
FROM free WHERE timeline_cluster.id = free.id RETURNING timeline_cluster.id, epoch
"""
_KEEP = f"""
WITH held AS MATERIALIZED (
    SELECT id FROM timeline_cluster WHERE (id, epoch) IN (SELECT * FROM unnest(%(ids)s::bigint[], %(epochs)s::bigint[]))
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE timeline_cluster SET expires_at = {_FRESH} FROM held WHERE timeline_cluster.id = held.id
"""
_HOLD = "SELECT FROM timeline_cluster WHERE id = %(cluster)s AND epoch = %(epoch)s FOR KEY SHARE"
_RELEASE = """
UPDATE timeline_cluster SET epoch = epoch + 1, holder = '', expires_at = NULL,
    state = CASE WHEN paused THEN 'paused' ELSE 'waiting' END
WHERE id = %(cluster)s AND epoch = %(epoch)s
"""
_OVERVIEW = """
SELECT id, epoch, CASE WHEN expires_at > clock_timestamp() THEN holder ELSE '' END, paused,
    md5(reference::text || coalesce(encode(secret, 'hex'), '') || include::text || exclude::text
        || namespaces::text)
FROM timeline_cluster WHERE delete_after IS NULL
"""
_WORKERS = """
SELECT DISTINCT substr(application_name, %(length)s) FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, %(prefix)s)
AND state_change > clock_timestamp() - make_interval(secs => %(seconds)s)
"""
_END_SILENT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity, timeline_cluster
WHERE datname = current_database() AND application_name = concat(%(prefix)s, timeline_cluster.id, '/', epoch)
AND expires_at < clock_timestamp() AND xact_start IS NOT NULL AND wait_event_type = 'Client'
AND state_change < clock_timestamp() - make_interval(secs => %(seconds)s)
"""
_WORKER = "causeline worker "
_FOLLOWER = "causeline follower "


class Lost(Exception):
    """The worker no longer holds the lease. What it has not committed must be abandoned."""


class Lease(NamedTuple):
    """A lease of a cluster, valid as long as the row of the cluster has this epoch."""

    cluster: int
    epoch: int


class Watched(NamedTuple):
    """The state of a cluster and its lease. `holder` is "" if the lease has expired or nobody holds it."""

    lease: Lease
    holder: str
    paused: bool
    wanted: str  # a hash of how the cluster is reached and which resources of it are watched


def announce(holder: str) -> None:
    """Name this thread's database session after the worker, so that other workers can see that it runs."""
    _name(f"{_WORKER}{holder[:NAME_LENGTH]}")


def mark(lease: Lease) -> None:
    """Name this thread's database session after the lease, so that others can end it if its worker freezes in a
    transaction."""
    _name(f"{_FOLLOWER}{lease.cluster}/{lease.epoch}")


def workers() -> set[str]:
    """Return the workers that called `announce`, and used that session within the duration of a lease."""
    values: dict[str, str | int] = {"prefix": _WORKER, "length": len(_WORKER) + 1, "seconds": settings.LEASE_SECONDS}
    with connection.cursor() as cursor:
        cursor.execute(_WORKERS, values)
        return {name for (name,) in cursor}


def overview() -> list[Watched]:
    """Return the state of all clusters."""
    with connection.cursor() as cursor:
        cursor.execute(_OVERVIEW)
        return [Watched(Lease(pk, epoch), *others) for pk, epoch, *others in cursor]


def take(holder: str, most: int) -> list[Lease]:
    """Take at most `most` of the leases that nobody holds, and return them.

    Sessions of workers that froze in a transaction under an expired lease are ended first.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_END_SILENT, {"prefix": _FOLLOWER, "seconds": settings.LEASE_SECONDS})
        seconds = settings.LEASE_SECONDS
        cursor.execute(_TAKE, {"holder": holder[:NAME_LENGTH], "most": most, "seconds": seconds})
        return [Lease(*row) for row in cursor]


def keep(leases: Iterable[Lease]) -> None:
    """Renew those of the leases that are still held."""
    held = list(leases)
    ids, epochs = [lease.cluster for lease in held], [lease.epoch for lease in held]
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, {"ids": ids, "epochs": epochs, "seconds": settings.LEASE_SECONDS})


def hold(lease: Lease) -> None:
    """Keep others from taking the lease until the current transaction ends. Raises Lost if it is no longer held."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, lease._asdict())
        if not cursor.rowcount:
            raise Lost(f"Cluster {lease.cluster} is another worker's now.")


def release(lease: Lease) -> None:
    """Give a lease back. If a transaction runs under it, this waits for its end."""
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE, lease._asdict())


def _name(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', %s, false)", [name])
