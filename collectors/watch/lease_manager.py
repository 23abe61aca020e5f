"""Keeps this worker's fair share of the clusters, and a follower for each, whatever comes and goes."""

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
EVERY = 1.0  # seconds between two looks at who has what
STOP_SECONDS = 5.0  # as long as followers may take to end their last commits


class ClusterWatcher(Protocol):
    """What follows one cluster, on a thread of its own."""

    def start(self) -> None: ...

    def stop(self) -> None:
        """Returns at once; it ends when its last commit has."""

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool: ...


class Followed(NamedTuple):
    """Who follows a cluster, and what was wanted of it when that began (`Watched.wanted`)."""

    follower: ClusterWatcher
    wanted: str


class LeaseManager(threading.Thread):
    """One a worker. `holder` names it to people and to other workers."""

    def __init__(self, holder: str, follow: Callable[[Lease], ClusterWatcher]) -> None:
        super().__init__(name="keeper of leases", daemon=True)
        self.holder = holder[: leases.NAME_LENGTH]
        self._follow = follow
        self._over = threading.Event()
        self._held: dict[Lease, Followed] = {}
        self._failed = False

    def stop(self) -> None:
        """Returns at once; the thread ends once all leases are given back."""
        self._over.set()

    def run(self) -> None:
        while not self._over.is_set():
            try:
                self.look()
                self._failed = False
            except (db.Error, psycopg.Error) as error:
                if not self._failed:
                    logger.warning("it cannot be seen who watches what: %s", error)
                self._failed = True
                db.connection.close()
            except Exception:
                logger.exception("it could not be settled who watches what")
                db.connection.close()
            self._over.wait(EVERY)
        self._give_back(list(self._held))
        db.connection.close()

    def look(self) -> None:
        """Renew what is held, take what nobody has, give back what others should have."""
        leases.present(self.holder)
        leases.keep(self._held)
        watched = leases.overview()
        self._mind({each.lease: each for each in watched})
        mine, counts = len(self._held), Counter(each.holder for each in watched)
        others = [counts[name] for name in leases.workers() - {self.holder}]
        least = min(others, default=mine)
        share = math.ceil(sum(not each.paused for each in watched) / (len(others) + 1))
        if mine - least >= 2:
            self._give_back(list(self._held)[: (mine - least) // 2])
        elif mine <= least and share > mine:
            wanted = {each.lease.cluster: each.wanted for each in watched}
            for lease in leases.take(self.holder, share - mine):
                logger.info("cluster %s is watched by this worker", lease.cluster)
                self._start(lease, wanted.get(lease.cluster, ""))
                notify.notify(cluster=lease.cluster)

    def _mind(self, standing: Mapping[Lease, Watched]) -> None:
        """Let go of what was lost or is to pause; follow anew what has changed."""
        for lease, (follower, wanted) in list(self._held.items()):
            each = standing.get(lease)
            if each is None:  # another's, or deleted
                follower.stop()
                del self._held[lease]
            elif each.paused:
                self._give_back([lease])
            elif each.wanted != wanted or not follower.is_alive():
                follower.stop()
                follower.join(STOP_SECONDS)
                self._start(lease, each.wanted)

    def _start(self, lease: Lease, wanted: str) -> None:
        follower = self._follow(lease)
        self._held[lease] = Followed(follower, wanted)
        follower.start()

    def _give_back(self, given: list[Lease]) -> None:
        """Once their last commits are done. Where the database cannot be reached, leases run out by themselves."""
        followers = [self._held.pop(lease).follower for lease in given]
        for follower in followers:
            follower.stop()
        deadline = time.monotonic() + STOP_SECONDS
        for follower in followers:
            follower.join(max(0.0, deadline - time.monotonic()))
        for lease in given:
            try:
                leases.release(lease)
                notify.notify(cluster=lease.cluster)
            except (db.Error, psycopg.Error) as error:
                logger.warning("the lease of cluster %s has to run out: %s", lease.cluster, error)
                db.connection.close()
