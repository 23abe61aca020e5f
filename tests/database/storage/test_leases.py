"""These tests check the leases of clusters: one worker at a time watches, and only the holder of the lease can
write."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone
from pytest_django import Settings

from tests.patience import eventually
from timeline.models import Cluster
from timeline.storage import leases
from timeline.storage.leases import Lease, Lost

pytestmark = pytest.mark.django_db(transaction=True)


def cluster(name: str = "prod", **fields: Any) -> Cluster:
    return Cluster.objects.create(name=name, **fields)


def taken(**fields: Any) -> Lease:
    """Return the lease of a new cluster, which the worker a has taken."""
    cluster(**fields)
    (lease,) = leases.take("a", 1)
    return lease


def let_run_out(lease: Lease) -> None:
    Cluster.objects.filter(pk=lease.cluster).update(expires_at=timezone.now() - timedelta(seconds=1))


@contextmanager
def elsewhere(does: Callable[[threading.Event, Callable[[], None]], None]) -> Iterator[None]:
    """Run a function in a thread with a database session of its own, until the context ends.

    The context begins when the function has said so, by calling its second argument.
    """
    over, begun = threading.Event(), threading.Event()

    def run() -> None:
        try:
            does(over, begun.set)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert begun.wait(10)
        yield
    finally:
        over.set()
        thread.join()


def test_a_lease_is_taken_once_and_again_after_it_has_run_out() -> None:
    one = cluster()
    (lease,) = leases.take("a", 5)
    assert lease == Lease(one.pk, 1)
    assert leases.take("b", 5) == []
    let_run_out(lease)
    (other,) = leases.take("b", 5)
    assert other == Lease(one.pk, 2)
    with pytest.raises(Lost):
        leases.hold(lease)
    leases.hold(other)
    Cluster.objects.all().delete()
    with pytest.raises(Lost):
        leases.hold(other)


def test_at_most_so_many_are_taken_and_none_that_is_paused() -> None:
    for number in range(3):
        cluster(str(number))
    cluster("paused", paused=True)
    assert len(leases.take("a", 2)) == 2
    assert len(leases.take("b", 2)) == 1


def test_a_lease_is_kept_by_the_databases_clock_as_long_as_it_is_held() -> None:
    lease = taken()
    let_run_out(lease)
    leases.keep([lease])
    assert leases.take("b", 1) == []
    let_run_out(lease)
    (other,) = leases.take("b", 1)
    until = Cluster.objects.get().expires_at
    leases.keep([lease])
    assert Cluster.objects.get().expires_at == until
    assert [(each.lease, each.holder) for each in leases.overview()] == [(other, "b")]


def test_what_is_given_back_is_free_at_once_and_the_late_write_of_its_holder_is_refused() -> None:
    lease = taken()
    leases.release(lease)
    with pytest.raises(Lost):
        leases.hold(lease)
    row = Cluster.objects.get()
    assert (row.holder, row.state, row.expires_at) == ("", "waiting", None)
    assert leases.take("b", 1) == [Lease(lease.cluster, lease.epoch + 2)]
    leases.release(lease)  # another worker holds it by now
    assert Cluster.objects.get().holder == "b"


def test_while_a_transaction_works_under_a_lease_it_is_kept_and_nobody_takes_it() -> None:
    lease = taken()

    def work(over: threading.Event, begun: Callable[[], None]) -> None:
        leases.mark(lease)
        with transaction.atomic():
            leases.hold(lease)
            begun()
            while not over.is_set():
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_sleep(0.05)")

    let_run_out(lease)
    with elsewhere(work):
        assert leases.take("b", 1) == []
        leases.keep([lease])
        assert [each.holder for each in leases.overview()] == ["a"]
        leases.release(lease)
        assert leases.take("b", 1) == []
    assert leases.take("b", 1) == [Lease(lease.cluster, lease.epoch + 2)]


@pytest.mark.parametrize("copying", [False, True], ids=["between statements", "within a COPY"])
def test_who_froze_in_a_transaction_is_ended_and_commits_nothing(settings: Settings, copying: bool) -> None:
    settings.LEASE_SECONDS = 1
    lease = taken(error="before")
    failures: list[Exception] = []

    def freeze(over: threading.Event, begun: Callable[[], None]) -> None:
        leases.mark(lease)
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                leases.hold(lease)
                cursor.execute("UPDATE timeline_cluster SET error = 'after'")
                cursor.execute("CREATE TEMPORARY TABLE written (line text) ON COMMIT DROP")
                if copying:
                    with connection.wrap_database_errors, cursor.copy("COPY written FROM STDIN") as copy:
                        copy.write_row(["one"])
                        begun()
                        over.wait()
                else:
                    begun()
                    over.wait()
        except OperationalError as error:
            failures.append(error)

    with elsewhere(freeze):
        eventually(lambda: bool(leases.take("b", 1)), 10)
    assert failures
    row = Cluster.objects.get()
    assert (row.holder, row.epoch, row.error) == ("b", lease.epoch + 1, "before")


def test_a_worker_is_listed_as_long_as_it_asks(settings: Settings) -> None:
    settings.LEASE_SECONDS = 1

    def show(over: threading.Event, begun: Callable[[], None]) -> None:
        leases.announce("other")
        begun()
        over.wait()

    leases.announce("this")
    with elsewhere(show):
        assert leases.workers() == {"this", "other"}
        eventually(lambda: leases.workers() == {"this"}, 5)


def test_what_is_wanted_differs_once_the_way_or_the_choice_does() -> None:
    one = cluster(include=["pods"])
    (before,) = leases.overview()
    for fields in ({"include": ["jobs"]}, {"secret": b"x"}, {"reference": {"server": "https://other"}}):
        Cluster.objects.filter(pk=one.pk).update(**fields)
        (after,) = leases.overview()
        assert after.wanted != before.wanted
        before = after
    Cluster.objects.update(error="something", keep_days=3)
    assert leases.overview() == [before]
