"""The Celery application: workers import recordings and watch clusters, beat sends periodic tasks."""

import logging
import os
import warnings
from typing import Any

from celery import Celery, signals
from celery.beat import Scheduler
from celery.exceptions import SecurityWarning
from django.conf import settings
from django.utils.log import configure_logging
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from dashboard import worker_health

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
os.environ.setdefault("CELERY_SKIP_CHECKS", "yes")  # Django's checks import all pages, which no worker serves
app = Celery("causeline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["collectors", "dashboard"])
app.steps["worker"].update({"collectors.watch.worker_step:WatchStep", "dashboard.worker_health:HeartbeatStep"})
app.steps["consumer"].add("dashboard.worker_health:MainLoopStep")
if os.geteuid():
    # Celery warns of root's group if the group has no name, as that of the account has which root changes to.
    warnings.filterwarnings("ignore", category=SecurityWarning)


_WORKER = os.getpid()  # the process that loads this module; a pool may fork others from it
_REQUEST_ID = "causeline_request_id"  # the header of a message that names the request which sent it


@signals.setup_logging.connect  # type: ignore[untyped-decorator]
def _log_as_web_does(**_: Any) -> None:
    """Keep Celery from setting up a log of its own: with this signal connected, it leaves that to us."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    logging.captureWarnings(True)


@signals.before_task_publish.connect  # type: ignore[untyped-decorator]
def _send_request_id(headers: dict[str, Any], **_: Any) -> None:
    if request_id := get_contextvars().get("request_id"):
        headers[_REQUEST_ID] = request_id


@signals.task_prerun.connect  # type: ignore[untyped-decorator]
def _bind_task(task_id: str, task: Any, **_: Any) -> None:
    """Add the task, and the request that sent it, to every line that is logged while the task runs."""
    clear_contextvars()
    bind_contextvars(task=task.name, task_id=task_id)
    if isinstance(request_id := task.request.get(_REQUEST_ID), str):
        bind_contextvars(request_id=request_id[:64])


@signals.worker_ready.connect  # type: ignore[untyped-decorator]
def _report_figures(**_: Any) -> None:
    from dashboard.metrics import processes  # here, since it needs Django's applications

    processes.start("worker")


@signals.worker_process_init.connect  # type: ignore[untyped-decorator]
def _report_figures_of_child(**_: Any) -> None:
    """Report also from each process that a pool forks. The pool `solo` sends this signal, too, and forks none."""
    if os.getpid() == _WORKER:
        return
    from dashboard.metrics import processes

    processes.start("import", forked=True)


class MemoryScheduler(Scheduler):  # type: ignore[misc]  # Celery carries no types
    """Keep beat's schedule in memory. Celery's usual scheduler writes a file of pickles, which run when read.

    All intervals are short, so nothing is lost when beat restarts. Each tick touches the heartbeat file, for the probe.
    """

    def tick(self, *arguments: object, **options: object) -> float:
        worker_health.touch()
        seconds: float = super().tick(*arguments, **options)
        return seconds
