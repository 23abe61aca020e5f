"""Make a Celery worker watch clusters: in a step of the worker itself, beside the pool that runs tasks.

It needs no broker, so it continues while Valkey is not available.
"""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from typing import Any

from celery import bootsteps, signals

from collectors.watch.lease_manager import STOP_SECONDS, LeaseManager

_ARENA_MAX, _ARENAS = -8, 2  # M_ARENA_MAX and its value for glibc's mallopt


def prepare_process() -> None:
    """Set the memory allocator of this process as one that watches clusters needs it, and keep the garbage collector
    from what was imported since Django was set up."""
    with suppress(OSError, AttributeError):  # glibc keeps an arena for each thread, which took a third more memory
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)
    gc.freeze()


class WatchStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery carries no types
    """Watch clusters from when the pool has forked its processes until the worker shall stop.

    A worker that only runs periodic tasks watches nothing.
    """

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._lease_manager: LeaseManager | None = None

    def include_if(self, parent: Any) -> bool:
        """Return whether this worker consumes the queue of imports; only such workers watch."""
        return "imports" in parent.app.amqp.queues.consume_from

    def start(self, parent: Any) -> None:
        """Start the lease manager."""
        from collectors.watch.cluster_watcher import ClusterWatcher  # late: workers for periodic tasks need none of it
        from collectors.watch.server.credentials import api_of

        prepare_process()
        self._lease_manager = LeaseManager(
            f"{parent.hostname}/{os.getpid()}", lambda lease: ClusterWatcher(lease, api_of)
        )
        self._lease_manager.start()
        signals.worker_shutting_down.connect(self._stop_watching)  # sent long before `stop` while tasks still run

    def hangs(self, patience: float) -> bool:
        """Return whether the lease manager has not ended a round for this many seconds. Once stopped, it needs not."""
        return self._lease_manager is not None and self._lease_manager.hangs(patience)

    def stop(self, parent: Any) -> None:
        """Stop the lease manager, and wait until the leases are given back."""
        self._stop_watching()
        if self._lease_manager:
            self._lease_manager.join(2 * STOP_SECONDS)

    close = terminate = stop

    def _stop_watching(self, **_: Any) -> None:
        if self._lease_manager:
            self._lease_manager.stop()
