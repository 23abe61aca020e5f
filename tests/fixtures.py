"""This pytest plugin has the fixtures of tests that need Django: the sample recording in the database, and people.

`tests/services.py` loads it once Django is set up.
"""

import gc
import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker

from dashboard.access.trail import trail
from dashboard.web import downloads
from tests.inputs.recordings import SAMPLE, observations_of
from tests.rows.people import member
from tests.servers.running import migrated
from timeline.history.world.world import World
from timeline.models import Source
from timeline.pipeline import ingest
from timeline.storage import store


def pytest_runtest_teardown() -> None:
    """Leave no traces of a test in the process.

    A download that a test asks for and does not read takes one of few places until its response is collected as
    garbage, because Django's test client makes reference cycles of responses. A process remembers what it has recorded
    in the audit trail, but the records end with their test: what it costs to write them must not depend on the tests
    before.
    """
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
