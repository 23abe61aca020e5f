"""This test runs a collector, a web process and a worker, and kills each of them: what is stored in the end is what
direct watching stores, and nothing twice."""

from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from collectors.replay import serve
from dashboard.access.tokens import tokens
from tests.database.watch.test_audit_webhook import listed
from tests.inputs.recordings import SAMPLE, lines_of
from tests.patience import eventually
from tests.process.watch.scenes import TAPE, Web
from tests.rows.followed import changes_of, connected, expected, found, watched
from tests.servers.collecting import Collecting, awaited
from tests.servers.watching import Workers
from timeline.models import ActorFeed, AuditBatch, CollectedBatch, Collector, Gap, Source

pytestmark = pytest.mark.django_db(transaction=True)
INCLUDE = {"pods", "services", "jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "deployments.apps"}


class Scene:
    """This is a cluster that a collector watches, and the same one watched directly."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.workers = Workers(folder, CAUSELINE_LEASE_SECONDS="4")
        stack.callback(self.workers.stop_all)
        self.workers.start("a")
        self.web = Web(folder)
        stack.callback(self.web.kill)
        self.replays = [
            stack.enter_context(serve(TAPE, speed=100_000, paused=True, bookmark_seconds=0.5)) for _ in range(2)
        ]
        self.collected, self.direct = awaited(), connected(self.replays[1], folder, "direct")
        self.collector = self.collecting("one")

    def collecting(self, name: str, **settings: str) -> Collecting:
        made = Collecting(self.folder, name, self.web.port, self.collected, self.replays[0], **settings)
        self.stack.callback(made.kill)
        return made

    def play(self, commits: int) -> int:
        for replay in self.replays:
            replay.control(step=commits)
        return int(self.replays[0].status()["place"])

    @property
    def source(self) -> Source:
        return Source.objects.get(current_of=self.collected)

    def watches(self) -> bool:
        return all(watched(each) >= INCLUDE for each in (self.collected, self.direct))

    def has(self, end: int) -> bool:
        with suppress(Exception):
            wanted = expected(TAPE, INCLUDE, 0, end)
            return all(
                wanted <= changes_of(Source.objects.get(current_of=each)) for each in (self.collected, self.direct)
            )
        connection.close()
        return False


def test_whatever_is_killed_the_same_is_stored_as_by_direct_watching(tmp_path: Path) -> None:
    with ExitStack() as stack:
        scene = Scene(tmp_path, stack)
        eventually(scene.watches, 60)
        end = scene.play(150)
        eventually(lambda: scene.has(end), 30)
        assert Collector.objects.get().epoch == 1
        each_is_killed(scene)
        second = another_takes_its_turn(scene)
        end = scene.play(10_000)
        eventually(lambda: scene.has(end), 60)
        eventually(lambda: not CollectedBatch.objects.exists(), 20)
        assert set(changes_of(scene.source).values()) == {1}
        assert not Gap.objects.filter(source=scene.source).exists()
        direct = Source.objects.get(current_of=scene.direct)
        eventually(lambda: found(scene.source) == found(direct) != set(), 30)
        audit_events_are_merged(scene)
        assert scene.collector.stop() == second.stop() == 0
        assert Collector.objects.get().renewed_at is None
        another_scope_and_a_restored_etcd_begin_new_sources(scene)


def each_is_killed(scene: Scene) -> None:
    scene.collector.kill()
    end = scene.play(50)
    scene.collector.start()
    eventually(lambda: scene.has(end), 30)

    scene.web.kill()  # what is observed meanwhile waits on disk, and outlives the collector
    scene.play(50)
    eventually(lambda: scene.collector.buffered > 0, 20)
    scene.collector.kill()
    end = scene.play(30)
    scene.collector.start()
    scene.web.start()
    eventually(lambda: scene.has(end), 60)

    scene.workers.kill("a")
    end = scene.play(50)
    eventually(lambda: CollectedBatch.objects.exists(), 20)
    scene.workers.start("b")
    eventually(lambda: scene.has(end), 60)


def another_takes_its_turn(scene: Scene) -> Collecting:
    """One that was frozen while the other took over sends nothing more under its old epoch."""
    second, epoch = scene.collecting("two"), Collector.objects.get().epoch
    eventually(lambda: "is the active collector" in second.log, 20)
    scene.collector.freeze()
    Collector.objects.update(renewed_at=None)  # as if it had been silent for half a minute
    eventually(lambda: Collector.objects.get().epoch == epoch + 1, 30)
    end = scene.play(50)
    eventually(lambda: scene.has(end), 30)
    scene.collector.thaw()
    eventually(lambda: "begins anew" in scene.collector.log or "taken over" in scene.collector.log, 30)
    return second


def audit_events_are_merged(scene: Scene) -> None:
    later = timezone.now() + timedelta(days=1)
    text, _ = tokens.issue("API server", ["audit"], expires=later, cluster=scene.collected, by="tests")
    assert scene.web.posted(text, listed(*lines_of(SAMPLE)[:200]))
    eventually(lambda: not AuditBatch.objects.filter(lines__isnull=False).exists(), 30)
    assert ActorFeed.objects.get().added > 0


def another_scope_and_a_restored_etcd_begin_new_sources(scene: Scene) -> None:
    one = sorted({each.namespace for each in TAPE.commits if each.namespace})[0]
    before = scene.source.pk
    scene.replays[0].control(namespaces=[one])
    small = scene.collecting("small", CAUSELINE_COLLECT_NAMESPACES=one, CAUSELINE_COLLECT_BUFFER_BYTES="1048576")
    eventually(lambda: scene.source.pk != before and watched(scene.collected) >= INCLUDE, 30)
    assert scene.source.namespaces == [one]
    assert {each.namespace for each in scene.source.stream_set.filter(state="watching")} == {one}
    assert not Gap.objects.filter(source=scene.source).exists()
    before = scene.source.pk
    scene.replays[0].control(restore=100)
    eventually(lambda: scene.source.pk != before and watched(scene.collected) >= INCLUDE, 30)
    assert "restored" in Source.objects.get(pk=before).ended
    scene.replays[0].control(step=300)
    wanted = {each[:2] for each in expected(TAPE, INCLUDE, 100, 400)}
    wanted &= {(each.uid, each.revision) for each in TAPE.commits[100:400] if each.namespace == one}
    eventually(lambda: wanted <= {each[:2] for each in changes_of(scene.source)}, 30)
    assert small.stop() == 0
