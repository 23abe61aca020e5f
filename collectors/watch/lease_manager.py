"""Hold this worker's fair share of the clusters, and run a watcher for each of them."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

import psycopg
from django import db

from timeline.storage import leases, notify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from timeline.storage.leases import Lease, Watched

logger = logging.getLogger(__name__)
BALANCE_SECONDS = 1.0  # seconds between two rounds of balancing
STOP_SECONDS = 5.0  # seconds that watchers may take to end their last commits


class ClusterWatcher(Protocol):
    """A thread that watches one cluster."""

    def start(self) -> None: ...

    def stop(self) -> None:
        """Tell it to end after its last commit, and return at once."""

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool: ...


class WatchedCluster(NamedTuple):
    """The watcher of a cluster, and what was configured when it began (`Watched.wanted`)."""

    watcher: ClusterWatcher
    wanted: str


class LeaseManager(threading.Thread):
    """Hold leases of clusters, in one thread of each worker. `holder` names the worker to users and to other
    workers."""

    def __init__(self, holder: str, follow: Callable[[Lease], ClusterWatcher]) -> None:
        super().__init__(name="lease manager", daemon=True)
        self.holder = holder[: leases.NAME_LENGTH]
        self._follow = follow
        self._stopped = threading.Event()
        self._watched: dict[Lease, WatchedCluster] = {}
        self._failed = False
        self._last_round = time.monotonic()

    def hangs(self, patience: float) -> bool:
        """Return whether no round has ended for this many seconds, though the thread was not stopped."""
        return not self._stopped.is_set() and time.monotonic() - self._last_round > patience

    def stop(self) -> None:
        """Tell the thread to end once all leases are given back, and return at once."""
        self._stopped.set()

    def run(self) -> None:
        """Balance the leases once a second until the thread is stopped, then give all of them back."""
        while not self._stopped.is_set():
            try:
                self.balance()
                self._failed = False
            except (db.Error, psycopg.Error) as error:
                if not self._failed:
                    logger.warning("the leases of clusters cannot be read: %s", error)
                self._failed = True
                db.connection.close()
            except Exception:
                logger.exception("the leases of clusters could not be balanced")
                db.connection.close()
            self._last_round = time.monotonic()
            self._stopped.wait(BALANCE_SECONDS)
        self._give_back(list(self._watched))
        db.connection.close()

    def balance(self) -> None:
        """Renew the leases that are held, take free ones, and give back those above the fair share."""
        leases.announce(self.holder)
        leases.keep(self._watched)
        watched = leases.overview()
        self._update_watchers({each.lease: each for each in watched})
        own_count, counts = len(self._watched), Counter(each.holder for each in watched)
        others = [counts[name] for name in leases.workers() - {self.holder}]
        smallest_count = min(others, default=own_count)
        share = math.ceil(sum(not each.paused for each in watched) / (len(others) + 1))
        if own_count - smallest_count >= 2:
            self._give_back(list(self._watched)[: (own_count - smallest_count) // 2])
        elif own_count <= smallest_count and share > own_count:
            wanted = {each.lease.cluster: each.wanted for each in watched}
            for lease in leases.take(self.holder, share - own_count):
                logger.info("cluster %s is watched by this worker", lease.cluster)
                self._start(lease, wanted.get(lease.cluster, ""))
                notify.notify(cluster=lease.cluster)

    def _update_watchers(self, leases_now: Mapping[Lease, Watched]) -> None:
        """Stop watchers that lost their lease or are paused; restart those whose configuration has changed."""
        for lease, (watcher, wanted) in list(self._watched.items()):
            each = leases_now.get(lease)
            if each is None:  # another worker has it, or the cluster was deleted
                watcher.stop()
                del self._watched[lease]
            elif each.paused:
                self._give_back([lease])
            elif each.wanted != wanted or not watcher.is_alive():
                watcher.stop()
                watcher.join(STOP_SECONDS)
                self._start(lease, each.wanted)

    def _start(self, lease: Lease, wanted: str) -> None:
        watcher = self._follow(lease)
        self._watched[lease] = WatchedCluster(watcher, wanted)
        watcher.start()

    def _give_back(self, leases_to_release: list[Lease]) -> None:
        """Stop watchers, and release their leases after their last commits.

        If the database cannot be reached, leases expire by themselves.
        """
        watchers = [self._watched.pop(lease).watcher for lease in leases_to_release]
        for watcher in watchers:
            watcher.stop()
        deadline = time.monotonic() + STOP_SECONDS
        for watcher in watchers:
            watcher.join(max(0.0, deadline - time.monotonic()))
        for lease in leases_to_release:
            try:
                leases.release(lease)
                notify.notify(cluster=lease.cluster)
            except (db.Error, psycopg.Error) as error:
                logger.warning(
                    "the lease of cluster %s could not be released and has to expire: %s", lease.cluster, error
                )
                db.connection.close()
