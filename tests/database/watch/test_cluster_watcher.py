"""These tests watch one cluster in this process: everything that its streams deliver is stored once, whatever breaks
off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from collectors.replay import Replay, serve
from collectors.watch.cluster_watcher import ClusterWatcher
from collectors.watch.server import connections
from collectors.watch.streams.discovery import Discovery
from collectors.watch.streams.reflector import Reflector
from tests.database.storage.test_leases import let_run_out
from tests.followed import by_path, changes_of, connected, expected, taped, watched
from tests.load import busy
from tests.patience import eventually
from tests.recordings import SAMPLE
from timeline.core.entries import Entry
from timeline.models import Cluster, Finding, Gap, Source, Stream
from timeline.storage import leases
from timeline.storage.entries import chunks

pytestmark = pytest.mark.django_db(transaction=True)
TAPE = taped(SAMPLE)
INCLUDE = {"pods", "services", "jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "deployments.apps"}


@pytest.fixture
def replay() -> Iterator[Replay]:
    with serve(TAPE, speed=100_000, paused=True, bookmark_seconds=0.5) as served:
        yield served


@pytest.fixture
def followers() -> Iterator[list[ClusterWatcher]]:
    started: list[ClusterWatcher] = []
    yield started
    for follower in started:
        follower.stop()
        follower.join(10)
        assert not follower.is_alive()


def follow(followers: list[ClusterWatcher]) -> ClusterWatcher:
    (lease,) = leases.take("here", 1)
    follower = ClusterWatcher(lease, by_path)
    followers.append(follower)
    follower.start()
    eventually(lambda: Cluster.objects.get().state == "live" and watched(Cluster.objects.get()) >= INCLUDE)
    return follower


def blind() -> set[str]:
    """Return the resources that have a gap."""
    kinds = Gap.objects.filter(source=current()).values("kind")
    rows = Stream.objects.filter(source=current(), kind__in=kinds).values_list("resource", "group")
    return {f"{resource}.{group}".rstrip(".") for resource, group in rows}


def current() -> Source:
    source = Cluster.objects.get().source
    assert source
    return source


def play(replay: Replay, commits: int) -> int:
    """Play more commits, and return how many have been played in all."""
    replay.control(step=commits)
    eventually(lambda: replay.status()["playing"] is False or replay.status()["ended"])
    return int(replay.status()["place"])


def eventually_stored(begin: int, end: int) -> None:
    wanted = expected(TAPE, INCLUDE, begin, end)

    try:
        eventually(lambda: wanted <= changes_of(current()), 10)
    except AssertionError:
        missing = wanted - changes_of(current())
        message = f"{missing.total()} of {wanted.total()} changes are missing, such as {list(missing)[:5]}"
        raise AssertionError(message) from None


def test_what_the_streams_tell_is_stored_once_and_the_streams_say_how_far(
    replay: Replay, followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    connected(replay, tmp_path)
    follow(followers)
    end = play(replay, 10_000)
    eventually_stored(0, end)
    stored = changes_of(current())
    assert set(stored.values()) == {1}
    assert current().entries >= end / 2
    eventually(lambda: Stream.objects.get(resource="pods").watermark is not None)
    pods = Stream.objects.get(resource="pods")
    assert pods.entries == sum(commit.resource.name == "pods" for commit in TAPE.commits)
    assert pods.listed_at
    assert not Stream.objects.filter(state="watching", listed_at=None).exists()


def test_a_worker_that_takes_over_goes_on_where_the_last_commit_was(
    replay: Replay, followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    connected(replay, tmp_path)
    first = follow(followers)
    eventually_stored(0, play(replay, 200))
    first.stop()
    first.join(10)
    play(replay, 300)
    leases.release(first.lease)
    follow(followers)
    end = play(replay, 10_000)
    eventually_stored(0, end)
    assert set(changes_of(current()).values()) == {1}
    assert Source.objects.count() == 1
    assert not Gap.objects.exists()


def test_what_nobody_watched_and_the_server_has_forgotten_is_a_gap(
    replay: Replay, followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    connected(replay, tmp_path)
    first = follow(followers)
    before = play(replay, 200)
    eventually_stored(0, before)
    first.stop()
    first.join(10)
    after = play(replay, 300)
    replay.control(compact=True)
    leases.release(first.lease)
    follow(followers)
    eventually(lambda: blind() >= INCLUDE and watched(Cluster.objects.get()) >= INCLUDE)
    end = play(replay, 10_000)
    eventually_stored(0, before)
    eventually_stored(after, end)
    assert all(gap.since < gap.until and gap.reason for gap in Gap.objects.all())


def test_revisions_that_went_back_begin_a_new_source(
    replay: Replay, followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    connected(replay, tmp_path)
    follow(followers)
    played = play(replay, 400)
    eventually_stored(0, played)
    before = current()
    replay.control(restore=100)
    eventually(lambda: current() != before)
    before.refresh_from_db()
    assert "restored" in before.ended
    eventually(lambda: watched(Cluster.objects.get()) >= INCLUDE)
    end = play(replay, 10_000)
    eventually_stored(100, end)
    assert expected(TAPE, INCLUDE, 0, played) <= changes_of(before)


def test_a_lost_lease_ends_it_and_nothing_is_written_any_more(
    replay: Replay, followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    connected(replay, tmp_path)
    follower = follow(followers)
    eventually_stored(0, play(replay, 400))
    let_run_out(follower.lease)
    eventually(lambda: bool(leases.take("another", 1)))  # waits while a commit is being made
    stored = changes_of(current())
    play(replay, 100)
    follower.join(10)
    assert not follower.is_alive()
    assert changes_of(current()) == stored


def test_a_database_that_breaks_off_costs_nothing(
    replay: Replay, followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    connected(replay, tmp_path)
    follow(followers)
    end = 0
    for _ in range(3):
        end = play(replay, 200)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name LIKE 'causeline follower%'"
            )
    eventually_stored(0, end)
    assert set(changes_of(current()).values()) == {1}


def test_what_cannot_be_reached_is_said(replay: Replay, followers: list[ClusterWatcher], tmp_path: Path) -> None:
    cluster = connected(replay, tmp_path)
    cluster.reference["path"] = str(tmp_path / "nowhere")
    cluster.save()
    (lease,) = leases.take("here", 1)
    followers.append(follower := ClusterWatcher(lease, by_path))
    follower.start()
    eventually(lambda: Cluster.objects.get().state == "failing")
    assert Cluster.objects.get().error


@pytest.mark.parametrize("ends", [Reflector, Discovery])
def test_a_thread_that_ends_is_missed_and_everything_is_opened_again(
    ends: type[Reflector | Discovery],
    replay: Replay,
    followers: list[ClusterWatcher],
    tmp_path: Path,
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
    connected(replay, tmp_path)
    follow(followers)
    assert ended and "continues from its last commit" in caplog.text and "thread" in caplog.text
    eventually_stored(0, play(replay, 10_000))


def test_what_was_watched_takes_in_the_audit_log_of_the_same_time_once_it_is_a_recording(
    replay: Replay, followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    cluster = connected(replay, tmp_path)
    follower = follow(followers)
    eventually_stored(0, play(replay, 10_000))
    source = current()
    connections.disconnect(cluster)
    follower.join(10)
    assert not follower.is_alive()
    watched_entries = changes_of(source).total()
    call_command("import_recording", str(SAMPLE), name=source.name)
    source.refresh_from_db()
    assert source.ended.startswith("The cluster was disconnected")
    assert changes_of(source).total() > watched_entries
    assert Finding.objects.filter(source=source, rule="service-gap").exists()
    actors = [each.actor for each in chunks.observations(source.pk) if isinstance(each, Entry)]
    assert "" in actors and any(actors)


def test_a_list_of_many_that_is_slow_loses_none_of_the_changes_meanwhile(
    followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    """A list of 5000 objects arrives in slow pages, with changes from before the first page until after the last."""
    tape = busy(5000, 600, a_second=200)
    with serve(tape, paused=True, bookmark_seconds=0.5) as replay:
        replay.control(faults=[{"kind": "slow-list", "resource": "pods", "seconds": 0.2, "count": 20}])
        connected(replay, tmp_path)
        (lease,) = leases.take("here", 1)
        followers.append(follower := ClusterWatcher(lease, by_path))
        follower.start()
        eventually(lambda: "list pods" in replay.status()["requests"])
        replay.control(play=True)
        last = {commit.uid: commit.revision for commit in (*tape.existing, *tape.commits)}
        eventually(lambda: bool(replay.status()["ended"]), 30)
        eventually(lambda: stored_last() == last)
        assert max(changes_of(current()).values()) == 1
        assert not Gap.objects.exists()


def stored_last() -> dict[str, int]:
    """Return the last stored revision of each object."""
    if not (source := Cluster.objects.get().source):
        return {}
    last: dict[str, int] = {}
    for each in chunks.observations(source.pk):
        if isinstance(each, Entry) and each.resource_version:
            last[each.ref.uid] = max(each.resource_version, last.get(each.ref.uid, 0))
    return last


def test_some_namespaces_are_watched_by_an_account_that_may_read_nothing_else(
    followers: list[ClusterWatcher], tmp_path: Path
) -> None:
    """What is found in them is what a watch of the whole cluster finds there."""
    namespaces = sorted({each.namespace for each in TAPE.commits if each.namespace})
    one = namespaces[0]
    with serve(TAPE, speed=100_000, paused=True, bookmark_seconds=0.5) as replay:
        replay.control(namespaces=[one])
        cluster = connected(replay, tmp_path)
        Cluster.objects.filter(pk=cluster.pk).update(namespaces=[one])
        follow(followers)
        end = play(replay, 10_000)
        wanted = {
            (commit.uid, commit.revision)
            for commit in TAPE.commits[:end]
            if commit.namespace == one and commit.resource.name in INCLUDE
        }
        eventually(lambda: wanted <= {key[:2] for key in changes_of(current())}, 10)
        assert set(changes_of(current()).values()) == {1}
        entries = [each for each in chunks.observations(current().pk) if isinstance(each, Entry)]
        assert {each.ref.namespace for each in entries} == {one}
        assert set(Stream.objects.filter(state="watching").values_list("namespace", flat=True)) == {one}
        assert current().namespaces == [one] and not Gap.objects.exists()
        followers[0].stop()
        followers[0].join(10)
        leases.release(followers[0].lease)
        before = current()
        replay.control(namespaces=[])
        Cluster.objects.update(namespaces=[])
        follow(followers)
        assert current() != before and "other namespaces" in Source.objects.get(pk=before.pk).ended
