"""The Celery application: finite work (imports) and the watching of clusters in workers, the clock in beat."""

import os
import warnings
from contextlib import suppress

from celery import Celery
from celery.beat import Scheduler
from celery.exceptions import SecurityWarning
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
app = Celery("causeline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["collectors", "dashboard"])
app.steps["worker"].add("collectors.watch.worker_step:Watching")
if os.geteuid():
    # Celery takes any group without a name for root's group. The account that root becomes has no name.
    warnings.filterwarnings("ignore", category=SecurityWarning)


class MemoryScheduler(Scheduler):  # type: ignore[misc]  # Celery carries no types
    """Beat's schedule, in memory alone: Celery's usual one is a file of pickles, and who reads one runs what is in it.

    All its intervals are short, so nothing is lost when beat starts anew. A file without content has the time of the
    last tick, for the health check.
    """

    def tick(self, *arguments: object, **options: object) -> float:
        with suppress(OSError):  # a health check that fails says so
            (settings.DATA_DIR / "beat-ticked").touch()
        seconds: float = super().tick(*arguments, **options)
        return seconds
