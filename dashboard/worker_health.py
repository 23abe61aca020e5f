"""Workers and beat touch a file (`CAUSELINE_HEARTBEAT_FILE`) every few seconds while they do their work, and a probe
looks at the time of its last modification.

Nothing is asked over Valkey: a worker watches clusters also while Valkey is away, and must not be restarted for that.
The file is not touched while the main loop of the worker or its lease manager hangs.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from celery import bootsteps
from django.conf import settings

logger = logging.getLogger(__name__)
EVERY = 5.0  # seconds between two touches
PATIENCE = 60.0  # seconds without a round of the main loop, or of the lease manager, after which it counts as hanging


def touch() -> None:
    """Set the modification time of the file to now. If it cannot be written, the log says so, and the probe fails."""
    if not settings.HEARTBEAT_FILE:
        return
    try:
        settings.HEARTBEAT_FILE.touch()
    except OSError as error:
        logger.warning("the heartbeat file could not be written: %s", error)


class MainLoopStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery carries no types
    """Note each round of the main loop, from when the worker is connected to Valkey until it has lost it."""

    requires = ("celery.worker.consumer.connection:Connection",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        parent.controller.main_loop = self
        self._last_round: float | None = None
        self._timer: Any = None

    def start(self, parent: Any) -> None:
        self._note()
        self._timer = parent.timer.call_repeatedly(EVERY, self._note)

    def stop(self, parent: Any) -> None:
        self._last_round = None
        if self._timer:
            self._timer.cancel()

    def hangs(self) -> bool:
        """Return whether the loop stands still. While the worker tries to connect, no rounds are expected."""
        last = self._last_round
        return last is not None and time.monotonic() - last > PATIENCE

    def _note(self) -> None:
        self._last_round = time.monotonic()


class HeartbeatStep(bootsteps.StartStopStep):  # type: ignore[misc]
    """Start a thread that touches the file unless something hangs. The thread begins after the pool has forked its
    processes."""

    requires = ("celery.worker.components:Pool",)

    def include_if(self, parent: Any) -> bool:
        return bool(settings.HEARTBEAT_FILE)

    def start(self, parent: Any) -> None:
        threading.Thread(target=_beat, args=(parent,), name="heartbeat", daemon=True).start()


def _beat(worker: Any) -> None:
    from collectors.watch.worker_step import WatchStep  # here, since it needs Django's applications

    while True:
        main_loop: MainLoopStep | None = getattr(worker, "main_loop", None)
        watching = [step for step in worker.steps if isinstance(step, WatchStep)]
        if not (main_loop and main_loop.hangs()) and not any(step.hangs(PATIENCE) for step in watching):
            touch()
        time.sleep(EVERY)
