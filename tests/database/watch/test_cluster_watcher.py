"""These tests watch one cluster in this process: everything that its streams deliver is stored once, whatever breaks
off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from collectors.replay import Replay, serve
from collectors.replay.commits import Tape
from collectors.watch.cluster_watcher import ClusterWatcher
from collectors.watch.server import connections
from collectors.watch.streams.discovery import Discovery
from collectors.watch.streams.reflector import Reflector
from tests.database.storage.test_leases import let_run_out
from tests.inputs.load import busy
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually
from tests.rows.followed import by_path, changes_of, connected, expected, taped, watched
from timeline.core.entries import Entry
from timeline.models import Cluster, Finding, Gap, Source, Stream
from timeline.storage import leases
from timeline.storage.entries import chunks

pytestmark = pytest.mark.django_db(transaction=True)
TAPE = taped(SAMPLE)
INCLUDE = {"pods", "services", "jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "deployments.apps"}


class Scene:
    """This is a replayed cluster that watchers follow, one after another."""

    def __init__(self, folder: Path, tape: Tape, speed: int = 100_000) -> None:
        self._serving = serve(tape, speed=speed, paused=True, bookmark_seconds=0.5)
        self.replay: Replay = self._serving.__enter__()
        self.cluster = connected(self.replay, folder)
        self.watchers: list[ClusterWatcher] = []

    def start(self) -> ClusterWatcher:
        (lease,) = leases.take("here", 1)
        self.watchers.append(watcher := ClusterWatcher(lease, by_path))
        watcher.start()
        return watcher

    def follow(self) -> None:
        self.start()
        eventually(lambda: Cluster.objects.get().state == "live" and self.is_watched())

    def is_watched(self) -> bool:
        return watched(Cluster.objects.get()) >= INCLUDE

    def leave(self) -> None:
        """Stop the watcher, and give the cluster back."""
        self.watchers[-1].stop()
        self.ends()
        leases.release(self.watchers[-1].lease)

    def ends(self) -> None:
        self.watchers[-1].join(10)
        assert not self.watchers[-1].is_alive()

    def play(self, commits: int = 10_000) -> int:
        """Play more commits, and return how many have been played in all."""
        self.replay.control(step=commits)
        eventually(lambda: self.replay.status()["playing"] is False or self.replay.status()["ended"])
        return int(self.replay.status()["place"])

    def close(self) -> None:
        for watcher in self.watchers:
            watcher.stop()
        for _ in self.watchers:
            self.ends()
        self._serving.__exit__(None, None, None)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    opened = Scene(tmp_path, TAPE)
    yield opened
    opened.close()


def blind() -> set[str]:
    """Return the resources that have a gap."""
    kinds = Gap.objects.filter(source=current()).values("kind")
    rows = Stream.objects.filter(source=current(), kind__in=kinds).values_list("resource", "group")
    return {f"{resource}.{group}".rstrip(".") for resource, group in rows}


def current() -> Source:
    source = Cluster.objects.get().source
    assert source
    return source


def eventually_stored(begin: int, end: int) -> None:
    wanted = expected(TAPE, INCLUDE, begin, end)
    try:
        eventually(lambda: wanted <= changes_of(current()), 10, every=0.2)
    except AssertionError:
        missing = wanted - changes_of(current())
        message = f"{missing.total()} of {wanted.total()} changes are missing, such as {list(missing)[:5]}"
        raise AssertionError(message) from None


def each_is_stored_once() -> bool:
    return set(changes_of(current()).values()) == {1}


def test_what_the_streams_tell_is_stored_once_and_the_streams_say_how_far(scene: Scene) -> None:
    scene.follow()
    end = scene.play()
    eventually_stored(0, end)
    assert each_is_stored_once()
    assert current().entries >= end / 2
    eventually(lambda: Stream.objects.get(resource="pods").watermark is not None)
    pods = Stream.objects.get(resource="pods")
    assert pods.entries == sum(commit.resource.name == "pods" for commit in TAPE.commits)
    assert pods.listed_at
    assert not Stream.objects.filter(state="watching", listed_at=None).exists()


def test_a_worker_that_takes_over_goes_on_where_the_last_commit_was(scene: Scene) -> None:
    scene.follow()
    eventually_stored(0, scene.play(200))
    scene.leave()
    scene.play(300)
    scene.follow()
    eventually_stored(0, scene.play())
    assert each_is_stored_once()
    assert Source.objects.count() == 1
    assert not Gap.objects.exists()


def test_what_nobody_watched_and_the_server_has_forgotten_is_a_gap(scene: Scene) -> None:
    scene.follow()
    before = scene.play(200)
    eventually_stored(0, before)
    scene.leave()
    after = scene.play(300)
    scene.replay.control(compact=True)
    scene.follow()
    eventually(lambda: blind() >= INCLUDE and scene.is_watched())
    end = scene.play()
    eventually_stored(0, before)
    eventually_stored(after, end)
    assert all(gap.since < gap.until and gap.reason for gap in Gap.objects.all())


def test_revisions_that_went_back_begin_a_new_source(scene: Scene) -> None:
    scene.follow()
    played = scene.play(400)
    eventually_stored(0, played)
    before = current()
    scene.replay.control(restore=100)
    eventually(lambda: current() != before)
    before.refresh_from_db()
    assert "restored" in before.ended
    eventually(scene.is_watched)
    eventually_stored(100, scene.play())
    assert expected(TAPE, INCLUDE, 0, played) <= changes_of(before)


def test_a_lost_lease_ends_it_and_nothing_is_written_any_more(scene: Scene) -> None:
    scene.follow()
    eventually_stored(0, scene.play(400))
    let_run_out(scene.watchers[0].lease)
    eventually(lambda: bool(leases.take("another", 1)))  # waits while a commit is being made
    stored = changes_of(current())
    scene.play(100)
    scene.ends()
    assert changes_of(current()) == stored


def test_a_database_that_breaks_off_costs_nothing(scene: Scene) -> None:
    scene.follow()
    end = 0
    for _ in range(3):
        end = scene.play(200)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name LIKE 'causeline follower%'"
            )
    eventually_stored(0, end)
    assert each_is_stored_once()


def test_what_cannot_be_reached_is_said(scene: Scene, tmp_path: Path) -> None:
    scene.cluster.reference["path"] = str(tmp_path / "nowhere")
    scene.cluster.save()
    scene.start()
    eventually(lambda: Cluster.objects.get().state == "failing")
    assert Cluster.objects.get().error


@pytest.mark.parametrize("ends", [Reflector, Discovery])
def test_a_thread_that_ends_is_missed_and_everything_is_opened_again(
    ends: type[Reflector | Discovery],
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = ends.run
    ended: list[Any] = []

    def once(self: Any, *args: Any) -> None:
        if not ended:
            ended.append(self)
            return
        run(self, *args)

    monkeypatch.setattr(ends, "run", once)
    scene.follow()
    assert ended and "continues from its last commit" in caplog.text and "thread" in caplog.text
    eventually_stored(0, scene.play())


def test_what_was_watched_takes_in_the_audit_log_of_the_same_time_once_it_is_a_recording(scene: Scene) -> None:
    scene.follow()
    eventually_stored(0, scene.play())
    source = current()
    connections.disconnect(scene.cluster)
    scene.ends()
    watched_entries = changes_of(source).total()
    call_command("causeline", "import", str(SAMPLE), f"--name={source.name}")
    source.refresh_from_db()
    assert source.ended.startswith("The cluster was disconnected")
    assert changes_of(source).total() > watched_entries
    assert Finding.objects.filter(source=source, rule="service-gap").exists()
    actors = [each.actor for each in chunks.observations(source.pk) if isinstance(each, Entry)]
    assert "" in actors and any(actors)


def test_a_list_of_many_that_is_slow_loses_none_of_the_changes_meanwhile(tmp_path: Path) -> None:
    """A list of 1500 objects arrives in slow pages, with changes from before the first page until after the last."""
    tape = busy(1500, 600, a_second=200)
    scene = Scene(tmp_path, tape, speed=1)
    scene.replay.control(faults=[{"kind": "slow-list", "resource": "pods", "seconds": 0.6, "count": 20}])
    scene.start()
    eventually(lambda: "list pods" in scene.replay.status()["requests"])
    scene.replay.control(play=True)
    last = {commit.uid: commit.revision for commit in (*tape.existing, *tape.commits)}
    eventually(lambda: bool(scene.replay.status()["ended"]), 30)
    eventually(lambda: stored_last() == last, every=0.2)
    assert max(changes_of(current()).values()) == 1
    assert not Gap.objects.exists()
    scene.close()


def stored_last() -> dict[str, int]:
    """Return the last stored revision of each object."""
    if not (source := Cluster.objects.get().source):
        return {}
    last: dict[str, int] = {}
    for each in chunks.observations(source.pk):
        if isinstance(each, Entry) and each.resource_version:
            last[each.ref.uid] = max(each.resource_version, last.get(each.ref.uid, 0))
    return last


def test_some_namespaces_are_watched_by_an_account_that_may_read_nothing_else(scene: Scene) -> None:
    """What is found in them is what a watch of the whole cluster finds there."""
    one = min(each.namespace for each in TAPE.commits if each.namespace)
    scene.replay.control(namespaces=[one])
    Cluster.objects.update(namespaces=[one])
    scene.follow()
    end = scene.play()
    wanted = {
        (commit.uid, commit.revision)
        for commit in TAPE.commits[:end]
        if commit.namespace == one and commit.resource.name in INCLUDE
    }
    eventually(lambda: wanted <= {key[:2] for key in changes_of(current())}, 10)
    assert each_is_stored_once()
    entries = [each for each in chunks.observations(current().pk) if isinstance(each, Entry)]
    assert {each.ref.namespace for each in entries} == {one}
    assert set(Stream.objects.filter(state="watching").values_list("namespace", flat=True)) == {one}
    assert current().namespaces == [one] and not Gap.objects.exists()
    scene.leave()
    before = current()
    scene.replay.control(namespaces=[])
    Cluster.objects.update(namespaces=[])
    scene.follow()
    assert current() != before and "other namespaces" in Source.objects.get(pk=before.pk).ended
