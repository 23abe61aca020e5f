"""This module has the fixtures that hold for all tests, and the sample recording in the database for those that only
read it."""

import gc
import os
import shutil
import signal
from collections import deque
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import TransactionTestCase
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from dashboard.access import trail
from dashboard.web import downloads
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
    "test_sending_kills.py": 85, "test_kills.py": 70, "test_collecting.py": 60, "test_watch.py": 50,
    "test_services.py": 50, "test_launcher.py": 50, "test_high_availability.py": 45, "test_workers.py": 45,
    "test_demo.py": 40, "test_mcp.py": 40, "test_backups.py": 35, "test_commands.py": 35, "test_faults.py": 35,
    "test_portions.py": 30, "test_apprise.py": 30, "test_tasks.py": 25, "test_alertmanager.py": 25, "test_root.py": 25,
    "test_record.py": 20, "test_slow_requests.py": 20, "test_replay_faults.py": 20, "test_pull_stores.py": 20,
    "test_probes.py": 20, "test_share_links.py": 20, "test_migrations.py": 15, "test_tutorial.py": 15,
    "test_audit_faults.py": 10, "test_alert_kills.py": 10,
}  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the workers of pytest-xdist begin with the tests that take long, so that none still runs one at the end.

    Each worker begins with its part of the list. One half of them begins with the tests that wait long. The other half
    begins with those of the browser: these use the processors meanwhile, and the fewer workers run such tests, the
    fewer start a browser and the Causeline that it looks at.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waiting = {file: LONGEST[file.name] for file in files if file.name in LONGEST}
    looking = {file: len(files[file]) for file in files if file.parent.name == "browser"}
    half = workers // 2
    shares = [*_shares(waiting, max(1, half)), *_shares(looking, max(1, workers - half))][:workers]
    first = {file for share in shares for file in share}
    others = deque(item for item in items if item.path not in first)
    ordered: list[pytest.Item] = []
    for number, share in enumerate(shares):
        end = len(ordered) + (len(items) - len(ordered)) // (workers - number)
        ordered += [item for file in share for item in files[file]]
        while len(ordered) < end and others:
            ordered.append(others.popleft())
    items[:] = ordered


def _shares(costs: dict[Path, int], count: int) -> list[list[Path]]:
    """Distribute files evenly, the most expensive ones first."""
    shares: list[list[Path]] = [[] for _ in range(count)]
    sums = [0] * count
    for file, cost in sorted(costs.items(), key=lambda each: -each[1]):
        least = sums.index(min(sums))
        shares[least].append(file)
        sums[least] += cost
    return shares


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


def pytest_runtest_teardown() -> None:
    """Leave no traces of a test in the process.

    Commands that a test calls disable garbage collection, because their own process would end. A download that a test
    asks for and does not read takes one of few places until its response is collected as garbage, because Django's test
    client makes reference cycles of responses. A process remembers what it has recorded in the audit trail, but the
    records end with their test: what it costs to write them must not depend on the tests before.
    """
    gc.enable()
    trail.recent = trail._Recent()
    if downloads._slots._value < downloads.AT_ONCE:
        gc.collect()


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
def empty_uploads() -> None:
    """Remove the files of uploads that earlier tests have left."""
    for folder in django_settings.UPLOAD_DIR.glob("*"):
        shutil.rmtree(folder)


@pytest.fixture
def recorded_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the audit trail have the readings of a test already. Only the first of ten minutes costs three queries."""
    monkeypatch.setattr(trail.recent, "is_new", lambda _key: False)


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
