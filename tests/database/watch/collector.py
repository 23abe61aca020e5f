"""This module sends what a collector sends, in this process, and is the worker that takes it."""

from collections.abc import Callable, Sequence
from typing import Any

import httpx

from collectors.watch.storing import batches
from collectors.watch.storing.dividing import Dividing
from collectors.watch.storing.feeds import Collected
from collectors.watch.storing.ingester import Ingester
from collectors.watch.streams.resources import Resource, Target
from collectors.watch.streams.threads import StreamStatus
from dashboard.web.collecting import Collecting
from tests import ENGINE
from tests.database.watch.asgi import answer_of
from tests.inputs.live import observations
from tests.servers.collecting import token_of
from timeline.core.entries import Entry, Mark, Observation
from timeline.models import Cluster, Source
from timeline.storage import leases, live

PODS = Target(Resource("", "v1", "Pod", "pods", True))
MOST = 40  # attempts after which the cluster has to be well


def observed() -> list[Observation]:
    """Return what a collector observes of Pods."""
    return [
        each
        for each in observations(ENGINE / "jobs-watch")
        if (each.kind if isinstance(each, Mark) else each.ref.kind if isinstance(each, Entry) else "") == "Pod"
    ]


ITEMS: list[batches.Item] = [StreamStatus(PODS, "watching", ""), *observed()]


class Sent:
    """This class sends requests as a collector of a cluster does."""

    def __init__(self, cluster: Cluster, token: str | None = None) -> None:
        self.cluster = cluster
        self._token = token if token is not None else token_of(cluster)

    def ask(self, what: str, method: str = "POST", *, named: str = "", **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._token}", **options.pop("headers", {})}
        path = f"/api/collect/{named or self.cluster.pk}/{what}"
        return answer_of(Collecting, method, path, headers=headers, **options)

    def lease(self, holder: str = "one", epoch: int | None = None, **more: Any) -> httpx.Response:
        return self.ask("lease", json={"holder": holder, "epoch": epoch, **more})

    def batch(self, number: int, items: Sequence[batches.Item] | bytes = (), epoch: int = 1, restored: str = "") -> int:
        body = items if isinstance(items, bytes) else batches.written(items)
        sent = {"Causeline-Epoch": str(epoch), "Causeline-Number": str(number), "Causeline-Restored": restored}
        return self.ask("batches", content=body, headers=sent).status_code


class Worker:
    """This class is the worker of a cluster whose state in memory is loaded again after each failure."""

    def __init__(self, sent: Sent) -> None:
        self.sent = sent
        (self.lease,) = leases.take("here", 1)
        self.dividing = Dividing()
        self.shown = ""
        self.failures = 0
        self.open()

    def open(self) -> None:
        self.sent.cluster.refresh_from_db()
        self.live = live.open_again(self.sent.cluster.source or live.begin(self.sent.cluster))
        self.feed = Collected(self.sent.cluster)
        self.ingester = Ingester(self.lease, self.live, self.feed, self._show, self.dividing)

    def _show(self, state: str, error: str) -> None:
        self.shown = state

    def commit(self) -> None:
        self.feed._looked = 0
        self.ingester.commit_batch()

    def work(self, done: Callable[[], bool] | None = None) -> None:
        """Commit until everything is done, as ClusterWatcher does: without a condition, until no batch waits."""
        for _ in range(MOST):
            try:
                self.commit()
            except Exception:
                self.failures += 1
                self.open()
            if (done or self.is_done)() and not self.dividing.divides and not self.dividing.aside:
                return
        raise AssertionError("it does not end")

    def is_done(self) -> bool:
        return not self.sent.cluster.collectedbatch_set.filter(settled=False).exists()

    @property
    def source(self) -> Source:
        return Source.objects.get(current_of=self.sent.cluster)
