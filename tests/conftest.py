"""This module has the fixtures that hold for all tests, and the sample recording in the database for those that only
read it."""

import gc
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import TransactionTestCase
from hypothesis import settings
from pytest_django import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware

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


# Their tests wait long for processes. They start first, so that no worker still runs one when the others are done.
LONGEST = (
    "test_audit_faults.py",
    "test_kills.py",
    "test_demo.py",
    "test_commands.py",
    "test_workers.py",
    "test_high_availability.py",
    "test_tutorial.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


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

_list_static_files = WhiteNoiseMiddleware.add_files_from_finders
_static_files: dict[str, Any] = {}


def _reuse_static_files(middleware: WhiteNoiseMiddleware) -> None:
    """List the static files only once in a process. Each client of Django has its own middleware."""
    if not _static_files:
        _list_static_files(middleware)
        _static_files.update(middleware.files)
    middleware.files = _static_files


WhiteNoiseMiddleware.add_files_from_finders = _reuse_static_files
