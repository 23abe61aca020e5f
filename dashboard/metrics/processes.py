"""Share the figures of each process through PostgreSQL, and add those of all processes up."""

import logging
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta

from django.db import DatabaseError, connections, transaction
from django.utils import timezone
from prometheus_client import disable_created_metrics
from prometheus_client.core import Metric

import dashboard.metrics.requests  # noqa: F401 (it declares metrics)
from dashboard.models import ProcessFigures
from timeline.metrics import REGISTRY

logger = logging.getLogger(__name__)
EVERY = 5.0  # seconds between two reports of a process
ALIVE = timedelta(seconds=30)  # after its last report a process is taken to have ended
FOLDED = timedelta(days=1)  # the time after which the row of an ended process is added to the row PAST
PAST = "past"
_PROCESSES = "causeline_processes"
Labels = tuple[tuple[str, str], ...]

disable_created_metrics()  # type: ignore[no-untyped-call]


class Reporter(threading.Thread):
    """Write the figures of this process every few seconds, as long as the process lives."""

    def __init__(self, kind: str) -> None:
        super().__init__(name="metrics", daemon=True)
        self._kind = kind

    def run(self) -> None:
        failed = False
        while True:
            try:
                report(self._kind)
                failed = False
            except DatabaseError as error:
                if not failed:
                    logger.warning("the figures of this process could not be written: %s", error)
                failed = True
            finally:
                connections.close_all()
            threading.Event().wait(EVERY)


_process = uuid.uuid4().hex


def start(kind: str, *, forked: bool = False) -> None:
    """Report the figures of this process from now on. A process that was forked begins to count anew."""
    global _process
    if forked:
        _process = uuid.uuid4().hex
        for each in list(REGISTRY._collector_to_names):
            each.clear()  # type: ignore[attr-defined]  # all of ours have labels, so they can be cleared
    Reporter(kind).start()


def report(kind: str) -> None:
    """Write the figures of this process. Raises DatabaseError."""
    figures = [
        [sample.name, sorted(sample.labels.items()), sample.value]
        for metric in REGISTRY.collect()
        for sample in metric.samples
    ]
    ProcessFigures.objects.update_or_create(
        process=_process, defaults={"kind": kind, "reported": timezone.now(), "figures": figures}
    )


def fold() -> None:
    """Add the rows of processes that ended long ago to one row, so that no counter ever goes back."""
    old = ProcessFigures.objects.exclude(process=PAST).filter(reported__lt=timezone.now() - FOLDED)
    with transaction.atomic():
        rows = list(old.select_for_update(skip_locked=True))
        if not rows:
            return
        past, _ = ProcessFigures.objects.select_for_update().get_or_create(
            process=PAST, defaults={"kind": PAST, "reported": timezone.now(), "figures": []}
        )
        gauges = {metric.name for metric in REGISTRY.collect() if metric.type == "gauge"}
        total = _sums([row.figures for row in [past, *rows]])
        past.figures = [[name, list(labels), value] for (name, labels), value in total.items() if name not in gauges]
        past.save()
        ProcessFigures.objects.filter(pk__in=[row.pk for row in rows]).delete()


def collect() -> Iterator[Metric]:
    """Return what all processes have measured. Gauges are those of living processes; a counter never goes back."""
    rows = list(ProcessFigures.objects.all())
    living = [row for row in rows if row.reported > timezone.now() - ALIVE and row.process != PAST]
    counted, current = _sums([row.figures for row in rows]), _sums([row.figures for row in living])
    for declared in REGISTRY.collect():
        metric = Metric(declared.name, declared.documentation, declared.type)
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(declared.type, ("",))
        names = [declared.name + ending for ending in endings]
        values = current if declared.type == "gauge" else counted
        for (name, labels), value in sorted(values.items(), key=lambda each: _order(*each[0])):
            if name in names:
                metric.add_sample(name, dict(labels), value)
        yield metric
    metric = Metric(_PROCESSES, "Processes that reported within half a minute, by kind.", "gauge")
    kinds = [row.kind for row in living]
    for kind in sorted(set(kinds)):
        metric.add_sample(_PROCESSES, {"kind": kind}, kinds.count(kind))
    yield metric


def _sums(all_figures: list[list[tuple[str, list[tuple[str, str]], float]]]) -> dict[tuple[str, Labels], float]:
    total: dict[tuple[str, Labels], float] = defaultdict(float)
    for figures in all_figures:
        for name, labels, value in figures:
            total[name, tuple((key, text) for key, text in labels)] += value
    return total


def _order(name: str, labels: Labels) -> tuple[object, ...]:
    """Sort the buckets of one histogram by their bound."""
    others = tuple(each for each in labels if each[0] != "le")
    bound = next((float(text) for key, text in labels if key == "le"), 0.0)
    return others, name, bound
