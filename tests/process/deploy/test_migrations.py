"""These tests migrate databases that versions before the first migrations of now have left."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

from dashboard.management.commands.migrate import OLDEST
from tests import ROOT, released
from tests.patience import patient
from tests.servers.running import migrated_database

_APPLIED = "SELECT app, name FROM django_migrations ORDER BY 1, 2"
_FORGET_FIRST = "DELETE FROM django_migrations WHERE name LIKE '0001_squashed%'"


@pytest.fixture
def database() -> Iterator[str]:
    """Yield the address of a database in which all migrations are recorded that the first ones of now replace."""
    with migrated_database() as url:
        with psycopg.connect(url) as connection:
            connection.execute(_FORGET_FIRST)
        yield url


def manage(url: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments, "--skip-checks"],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=patient(120),
    )


def test_a_database_with_all_that_was_replaced_goes_on_and_keeps_its_rows(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO auth_group (name) VALUES ('kept')")
        before = released.tables(connection)
    answer = manage(database, "migrate")
    assert answer.returncode == 0, answer.stderr
    assert "No migrations to apply" in answer.stdout
    with psycopg.connect(database) as connection:
        assert released.tables(connection) == before
        assert connection.execute("SELECT name FROM auth_group").fetchall() == [("kept",)]
        applied = connection.execute(_APPLIED).fetchall()
    assert {("timeline", "0001_squashed_0054"), ("dashboard", "0001_squashed_0013")} <= set(applied)


@pytest.mark.parametrize("app", ["timeline", "dashboard"])
def test_a_database_without_some_of_what_was_replaced_is_refused_and_not_changed(database: str, app: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("DELETE FROM django_migrations WHERE app = %s AND name > '0010'", [app])
        before = connection.execute(_APPLIED).fetchall()
    answer = manage(database, "migrate")
    assert answer.returncode == 1
    assert f"{app}.0010_" in answer.stderr and OLDEST[:12] in answer.stderr, answer.stderr
    assert "Traceback" not in answer.stderr
    with psycopg.connect(database) as connection:
        assert connection.execute(_APPLIED).fetchall() == before


def test_the_tables_are_those_of_the_models(database: str) -> None:
    answer = manage(database, "makemigrations", "--check", "--dry-run", "timeline", "dashboard")
    assert answer.returncode == 0, answer.stdout
