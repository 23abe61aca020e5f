"""These tests check how workers share clusters, while workers start, end and freeze and clusters change. They use real
PostgreSQL."""

import threading
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from collectors.watch.lease_manager import LeaseManager
from tests.patience import eventually
from timeline.models import Cluster
from timeline.storage.leases import Lease

pytestmark = pytest.mark.django_db(transaction=True)


class Idle(threading.Thread):
    """This thread is a watcher that only waits to be stopped."""

    running: set["Idle"]

    def __init__(self, lease: Lease) -> None:
        super().__init__(daemon=True)
        self.lease = lease
        self._over = threading.Event()

    def stop(self) -> None:
        self._over.set()

    def run(self) -> None:
        Idle.running.add(self)
        self._over.wait()
        Idle.running.discard(self)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.LEASE_SECONDS = 3
    monkeypatch.setattr("collectors.watch.lease_manager.BALANCE_SECONDS", 0.1)
    Idle.running = set()


@pytest.fixture
def keepers() -> Iterator[list[LeaseManager]]:
    started: list[LeaseManager] = []
    yield started
    for keeper in started:
        keeper.stop()
        keeper.join(10)
    assert not Idle.running


def begin(keepers: list[LeaseManager], name: str) -> LeaseManager:
    keeper = LeaseManager(name, Idle)
    keepers.append(keeper)
    keeper.start()
    return keeper


def shares() -> dict[str, int]:
    counts: dict[str, int] = {}
    for holder in Cluster.objects.values_list("holder", flat=True):
        counts[holder] = counts.get(holder, 0) + 1
    return counts


def clusters(number: int) -> None:
    Cluster.objects.bulk_create(Cluster(name=str(each)) for each in range(number))


def test_clusters_are_spread_over_the_workers_that_live(keepers: list[LeaseManager]) -> None:
    clusters(5)
    first = begin(keepers, "a")
    eventually(lambda: shares() == {"a": 5})
    begin(keepers, "b")
    eventually(lambda: sorted(shares().values()) == [2, 3] and "" not in shares())
    begin(keepers, "c")
    eventually(lambda: sorted(shares().values()) == [1, 2, 2] and "" not in shares())
    first.stop()
    eventually(lambda: sorted(shares().values()) == [2, 3] and "a" not in shares(), 3)
    eventually(
        lambda: {each.lease.cluster for each in Idle.running} == set(Cluster.objects.values_list("pk", flat=True))
    )


def test_what_a_worker_that_is_gone_held_is_taken_over(keepers: list[LeaseManager]) -> None:
    clusters(2)
    Cluster.objects.update(holder="gone", epoch=4, expires_at="2000-01-01T00:00:00Z")
    begin(keepers, "a")
    eventually(lambda: shares() == {"a": 2})
    assert set(Cluster.objects.values_list("epoch", flat=True)) == {5}


def test_a_cluster_is_kept_followed_anew_after_changes_and_failures_and_let_go_when_it_is_lost(
    keepers: list[LeaseManager],
) -> None:
    def anew(before: Idle | None = None) -> Idle:
        """Return the only watcher that runs, once it is another one than before."""
        eventually(lambda: len(Idle.running) == 1 and before not in Idle.running)
        return next(iter(Idle.running))

    clusters(1)
    begin(keepers, "a")
    first = anew()
    kept = Cluster.objects.get()
    eventually(lambda: bool((now := Cluster.objects.get().expires_at) and kept.expires_at and now > kept.expires_at))
    assert Cluster.objects.get().epoch == kept.epoch and Idle.running == {first}
    Cluster.objects.update(include=["pods"])
    changed = anew(first)
    assert changed.lease == first.lease
    changed.stop()  # as if it had died
    anew(changed)
    Cluster.objects.update(paused=True)
    eventually(lambda: Cluster.objects.get().state == "paused" and not Idle.running)
    assert shares() == {"": 1}
    Cluster.objects.update(paused=False)
    eventually(lambda: shares() == {"a": 1})
    anew()
    Cluster.objects.update(epoch=99, holder="b", expires_at="2200-01-01T00:00:00Z")
    eventually(lambda: not Idle.running)


def test_a_cluster_that_is_deleted_is_let_go(keepers: list[LeaseManager]) -> None:
    clusters(1)
    begin(keepers, "a")
    eventually(lambda: len(Idle.running) == 1)
    Cluster.objects.all().delete()
    eventually(lambda: not Idle.running)
