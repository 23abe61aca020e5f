"""Watch one cluster in a worker, and store what its streams deliver while the worker holds the lease.

After any failure, the state in memory is dropped and loaded again from what was committed, and the streams continue
from there. So nothing is lost, and nothing is stored twice. What fails repeatedly is divided (see
`collectors.watch.storing.dividing`), so one observation that cannot be stored stops no cluster.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

import psycopg
from django import db
from django.conf import settings
from django.utils import timezone
from structlog.contextvars import bind_contextvars

from collectors.watch.server.credentials import BY_COLLECTOR
from collectors.watch.server.failures import ApiError, safe_text
from collectors.watch.storing.dividing import Dividing
from collectors.watch.storing.feeds import Collected, OtherNamespaces, Watched
from collectors.watch.storing.ingester import Ended, Ingester
from collectors.watch.streams.threads import Streams
from timeline.models import Cluster, Source, Stream
from timeline.storage import leases, live, notify

if TYPE_CHECKING:
    from collections.abc import Callable

    from collectors.watch.server.api import Api
    from collectors.watch.storing.feeds import Feed
    from timeline.storage.leases import Lease

logger = logging.getLogger(__name__)
PAUSES = (0.3, 5.0)  # seconds to wait after a failure: at first, at most
DATABASE_PAUSE = 1.0  # seconds to wait at most after a failure of the database, which costs one refused connection
LOCK_SECONDS = 10  # seconds that a commit waits at most for the lock of another transaction


class ClusterWatcher(threading.Thread):
    """Watch a cluster until the thread is stopped or loses the lease.

    `connect` raises ApiError if a cluster cannot be reached.
    """

    def __init__(self, lease: Lease, connect: Callable[[Cluster], Api]) -> None:
        super().__init__(name=f"cluster {lease.cluster}", daemon=True)
        self.lease = lease
        self._connect = connect
        self._stopped = threading.Event()
        self._feed: Feed | None = None
        self._dividing = Dividing()
        self._state_shown: tuple[Cluster.State, str] | None = None  # the state and error that were written last

    def stop(self) -> None:
        """Tell the thread to end after its current commit, and return at once."""
        self._stopped.set()
        if feed := self._feed:
            feed.interrupt()

    def run(self) -> None:
        """Watch the cluster, and continue after each failure, until the thread is stopped or the lease is lost."""
        bind_contextvars(cluster=self.lease.cluster)
        pause, longest = PAUSES
        while not self._stopped.is_set():
            began, database = time.monotonic(), False
            try:
                self._watch()
            except (leases.Lost, Cluster.DoesNotExist):
                logger.info("%s is not watched by this worker any more", self.name)
                return
            except ApiError as error:  # the credentials cannot be used
                self._fail(str(error))
            except Exception as error:
                database = isinstance(error, db.Error | psycopg.Error)
                logger.warning("%s continues from its last commit: %s", self.name, error, exc_info=not database)
                self._fail(safe_text(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"))
            finally:
                db.connection.close()
            if self._stopped.wait(min(pause, DATABASE_PAUSE) if database else pause):
                return
            soon = time.monotonic() - began > 2 * longest or self._dividing.divides
            pause = PAUSES[0] if soon else min(2 * pause, longest)

    def _watch(self) -> None:
        """Load what was stored, and store what the streams deliver, until the thread is stopped."""
        leases.mark(self.lease)
        with db.connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{LOCK_SECONDS}s"])
        while not self._stopped.is_set():
            with db.transaction.atomic():
                leases.hold(self.lease)
                cluster = Cluster.objects.select_related("source").get(pk=self.lease.cluster)
                opened = live.open_again(_source_of(cluster))
            bind_contextvars(source=opened.source.pk)
            with self._feed_of(cluster) as feed:
                self._feed = feed
                ingester = Ingester(self.lease, opened, feed, self._show, self._dividing)
                try:
                    while not self._stopped.is_set():
                        ingester.commit_batch()
                except Ended as ended:
                    self._begin_new_source(cluster, str(ended), feed)
                except OtherNamespaces:
                    continue

    def _feed_of(self, cluster: Cluster) -> Watched | Collected:
        if cluster.reference.get("how") == BY_COLLECTOR:
            return Collected(cluster)
        return Watched(
            Streams(self._connect(cluster), cluster.include, cluster.exclude, cluster.namespaces, settings.LIMITS)
        )

    def _begin_new_source(self, cluster: Cluster, why: str, feed: Feed) -> None:
        """End the source, which keeps what was observed, and begin a new one for what follows."""
        logger.warning("%s: %s", self.name, why)
        with db.transaction.atomic():
            leases.hold(self.lease)
            Stream.objects.filter(source=cluster.source_id).update(state=Stream.State.WAITING)
            live.begin(cluster, why)
            feed.history_begun()

    def _fail(self, error: str) -> None:
        """Write the failure to the cluster's row, if the database can be reached."""
        db.connection.close()
        try:
            self._show(Cluster.State.FAILING, error)
        except (db.Error, psycopg.Error):
            self._state_shown = None

    def _show(self, state: Cluster.State, error: str) -> None:
        if (state, error) == self._state_shown:
            return
        columns = {"state": state, "error": error, **({"error_at": timezone.now()} if error else {})}
        if Cluster.objects.filter(pk=self.lease.cluster, epoch=self.lease.epoch).update(**columns):
            notify.notify(cluster=self.lease.cluster)
        self._state_shown = state, error


def _source_of(cluster: Cluster) -> Source:
    """Return the source that the cluster feeds now. If other namespaces are to be watched than before, that is a new
    one: what is known to be absent depends on what was watched."""
    source = cluster.source
    if source is None:
        return live.begin(cluster)
    if source.namespaces == cluster.namespaces:
        return source
    if source.stored:
        return live.begin(cluster, "Since then, other namespaces of the cluster are watched.")
    source.namespaces = cluster.namespaces  # nothing was observed yet, not even a list
    source.save(update_fields=["namespaces"])
    return source
