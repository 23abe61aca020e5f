"""The sample recording in the database, for the tests that only read it, and what holds for all tests."""

import gc
import signal
from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from django.test import TransactionTestCase
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from tests.properties import SUITE
from tests.recordings import SAMPLE, entries_of
from timeline.history.world import World
from timeline.models import Source
from timeline.pipeline import ingest
from timeline.storage import store

# Who starts this in the background of a script has it ignore Ctrl-C, and all that it starts; tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.load_profile(SUITE)


# Their tests wait long for processes, so they are begun first, and no process is left alone with one at the end.
LONGEST = ("test_kills.py", "test_demo.py", "test_commands.py", "test_workers.py", "test_tutorial.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    """Thousands of tests stay in memory; a collection of garbage need not look at them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def sample(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    with django_db_blocker.unblock():
        source = store.open_source("sample")
        ingest(source, World(), entries_of(SAMPLE))
        store.show_source(source)
    yield source
    with django_db_blocker.unblock():
        store.discard_source(source)


def _empty_the_tables(case: TransactionTestCase) -> None:
    """Delete the rows that a test has committed, after it; Django would truncate all tables and fill some anew.

    All foreign keys are deferred, so the order of the tables does not matter.
    """
    made_by_migrations = {"django_content_type", "auth_permission"}
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    with transaction.atomic(), connection.cursor() as cursor:
        asked = (f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in tables - made_by_migrations)
        cursor.execute(" UNION ALL ".join(asked))
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {table}")


TransactionTestCase._fixture_teardown = _empty_the_tables  # type: ignore[attr-defined]
