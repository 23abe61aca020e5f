"""These tests kill, freeze and stop workers, PostgreSQL and Valkey while clusters are watched: nothing is lost."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, InterfaceError, connection

from collectors.replay import Replay, serve
from tests.followed import changes_of, connected, expected, found, found_anew, taped, watched
from tests.patience import eventually, patient
from tests.recordings import SAMPLE
from tests.watching import Servers, Workers
from timeline.models import Cluster, Gap, Source
from timeline.storage import store

pytestmark = pytest.mark.django_db(transaction=True)
TAPE = taped(SAMPLE)
RESOURCES = {
    "pods", "services", "endpoints", "events", "deployments.apps", "replicasets.apps", "jobs.batch.volcano.sh",
    "podgroups.scheduling.volcano.sh", "endpointslices.discovery.k8s.io", "queues.scheduling.volcano.sh",
}  # fmt: skip
AGAIN = 15  # seconds after which everything must have recovered
STEP = 40  # commits that are played at once
LEASE = 4  # seconds without a sign of life after which another worker takes over; 8 is the default


class Scene:
    """This class runs two workers and two clusters, on servers that no test of another module uses."""

    def __init__(self, servers: Servers, workers: Workers, replays: list[Replay], clusters: list[Cluster]) -> None:
        self.servers, self.workers, self.replays, self.clusters = servers, workers, replays, clusters
        self.played = 0

    def play(self, commits: int = STEP) -> None:
        self.played = min(self.played + commits, len(TAPE.commits))
        for replay in self.replays:
            replay.control(step=commits)

    def holders(self) -> list[str]:
        """Return the name of each cluster's worker, "" if no lease is valid."""
        return [
            name.partition("@")[0] if until and until.timestamp() > time.time() else ""
            for name, until in Cluster.objects.order_by("pk").values_list("holder", "expires_at")
        ]

    def stored(self) -> bool:
        """Return whether everything that was played is stored for both clusters."""
        wanted = expected(TAPE, RESOURCES, 0, self.played)
        return all(wanted <= changes_of(source) for source in self.sources())

    def sources(self) -> list[Source]:
        return list(Source.objects.filter(current_of__isnull=False))

    def eventually(self, happens: Callable[[], bool], seconds: float = AGAIN) -> None:
        """Wait until the condition holds, and ignore errors of the database meanwhile."""

        def happened() -> bool:
            try:
                return happens()
            except (DatabaseError, InterfaceError):
                connection.close()
                return False

        eventually(happened, seconds)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    servers.stop()


@pytest.fixture
def scene(servers: Servers, tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        stack.enter_context(servers.used())
        stack.callback(_clear)
        workers = Workers(tmp_path, CAUSELINE_LEASE_SECONDS=str(min(8, round(patient(LEASE)))))
        stack.callback(workers.stop_all)
        workers.start("a")
        workers.start("b")
        options: dict[str, Any] = {"speed": 100_000, "paused": True, "bookmark_seconds": 1}
        replays = [stack.enter_context(serve(TAPE, **options)) for _ in range(2)]
        clusters = [connected(replay, tmp_path, f"cluster-{number}") for number, replay in enumerate(replays)]
        began = Scene(servers, workers, replays, clusters)
        eventually(lambda: sorted(began.holders()) == ["a", "b"], 60)
        eventually(lambda: all(watched(cluster) >= RESOURCES for cluster in clusters), 30)
        yield began


def _clear() -> None:
    Cluster.objects.all().delete()
    for source in Source.objects.all():
        store.discard_source(source)


def test_workers_that_stop_die_and_freeze_hand_over_what_they_watch(scene: Scene) -> None:
    workers = scene.workers
    scene.play(200)
    scene.eventually(scene.stored)

    assert workers.stop("a") < patient(3)
    scene.eventually(lambda: scene.holders() == ["b", "b"], 3)
    scene.play()
    scene.eventually(scene.stored, 5)

    workers.start("a")
    scene.eventually(lambda: sorted(scene.holders()) == ["a", "b"], 30)
    scene.play()
    workers.kill("b")
    scene.play()
    scene.eventually(lambda: scene.holders() == ["a", "a"])
    scene.eventually(scene.stored)

    workers.start("b")
    scene.eventually(lambda: sorted(scene.holders()) == ["a", "b"], 30)
    scene.play()
    workers.send("a", signal.SIGSTOP)
    scene.play()
    scene.eventually(lambda: scene.holders() == ["b", "b"])
    scene.eventually(scene.stored)
    epochs = list(Cluster.objects.order_by("pk").values_list("epoch", flat=True))
    workers.send("a", signal.SIGCONT)
    scene.eventually(lambda: sorted(scene.holders()) == ["a", "b"])
    assert sum(Cluster.objects.values_list("epoch", flat=True)) > sum(epochs)
    everything_is_there(scene)


def test_a_postgresql_that_is_killed_costs_nothing(scene: Scene) -> None:
    """`test_high_availability.py` kills Valkey while clusters are watched."""
    scene.play(200)
    scene.eventually(scene.stored)
    scene.play()
    scene.servers.kill("postgres")
    scene.play()
    scene.eventually(scene.stored)
    everything_is_there(scene)


def everything_is_there(scene: Scene) -> None:
    scene.play(len(TAPE.commits) - scene.played)
    scene.eventually(scene.stored)
    assert not Gap.objects.exists()
    for source in scene.sources():
        assert set(changes_of(source).values()) == {1}
    for source in scene.sources():
        scene.eventually(lambda source=source: found(source) == found_anew(source) != set())  # type: ignore[misc]
