"""This module has the fixtures that hold for all tests, and the sample recording in the database for those that only
read it."""

import gc
import os
import signal
from collections import deque
from collections.abc import Generator, Iterator

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import TransactionTestCase
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from tests.people import member
from tests.properties import SUITE
from tests.recordings import SAMPLE, observations_of
from tests.running import migrated
from timeline.history.world import World
from timeline.models import Source
from timeline.pipeline import ingest
from timeline.storage import store

# A shell makes its background processes ignore SIGINT, and their children inherit that. Tests send SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.load_profile(SUITE)


# Seconds that files take whose tests wait long for processes.
LONGEST = {
    "test_collecting.py": 120, "test_sending_kills.py": 90, "test_kills.py": 75, "test_planted_scripts.py": 60,
    "test_launcher.py": 60, "test_workers.py": 50, "test_commands.py": 50, "test_demo.py": 45, "test_services.py": 45,
    "test_tasks.py": 40, "test_portions.py": 35, "test_high_availability.py": 35, "test_faults.py": 30,
    "test_backups.py": 30, "test_migrations.py": 30, "test_alertmanager.py": 25, "test_tutorial.py": 20,
    "test_audit_faults.py": 20, "test_alert_kills.py": 15,
}  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the workers of pytest-xdist begin with the tests that wait long, so that none still runs one at the end.

    Each worker begins with its part of the list. The last one gets no such tests: it uses the processors meanwhile.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    shares: list[list[pytest.Item]] = [[] for _ in range(max(1, workers - 1))]
    seconds = [0] * len(shares)
    for name, wait in sorted(LONGEST.items(), key=lambda each: -each[1]):
        least = seconds.index(min(seconds))
        shares[least] += [item for item in items if item.path.name == name]
        seconds[least] += wait
    others = deque(item for item in items if item.path.name not in LONGEST)
    ordered: list[pytest.Item] = []
    for number in range(workers):
        end = len(ordered) + (len(items) - len(ordered)) // (workers - number)
        ordered += shares[number] if number < len(shares) else []
        while len(ordered) < end and others:
            ordered.append(others.popleft())
    items[:] = ordered


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection while pytest collects the tests, because hardly any of these objects are garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, because thousands of them stay in memory."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Let Django create the database of the tests as a copy of a migrated one."""
    connection.settings_dict["TEST"]["TEMPLATE"] = migrated()


@pytest.fixture(scope="module")
def sample(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    with django_db_blocker.unblock():
        source = store.open_source("sample")
        ingest(source, World(), observations_of(SAMPLE))
        store.show_source(source)
    yield source
    with django_db_blocker.unblock():
        store.discard_source(source)


@pytest.fixture
def admin_user(db: None) -> User:
    """Whoever `admin_client` signs in: an administrator of Causeline, which a superuser of Django is not by itself."""
    return member("admin", name="admin")


def _empty_the_tables(case: TransactionTestCase) -> None:
    """Delete the rows that a test has committed. Django would truncate all tables and fill some of them again.

    All foreign keys are deferred, so the order of the tables does not matter.
    """
    made_by_migrations = {"django_content_type", "auth_permission"}
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL causeline.forgetting = 'on'"
        )  # else the database keeps the records of the audit trail
        asked = (f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in tables - made_by_migrations)
        cursor.execute(" UNION ALL ".join(asked))
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {table}")


TransactionTestCase._fixture_teardown = _empty_the_tables  # type: ignore[attr-defined]

PBKDF2PasswordHasher.iterations = 1_000  # as many as in production would take half a second for each password
