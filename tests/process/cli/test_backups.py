"""These tests move a database with `causeline backup` and `restore`: everything arrives, and nothing is overwritten."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests import ROOT
from tests.inputs.recordings import SAMPLE
from tests.patience import patient
from tests.servers.running import empty_database, migrated_database

REPORTED = (
    "SELECT name, entries, ready FROM timeline_source",
    "SELECT id, uid, name, lifeline FROM timeline_track ORDER BY id",
    "SELECT identity, document FROM timeline_finding ORDER BY identity",
    "SELECT identity, note FROM timeline_acknowledgement",
    "SELECT sequence, lines FROM timeline_chunk ORDER BY sequence",
    "SELECT username, password FROM auth_user",
)


def causeline(url: str, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "dashboard.cli", *arguments]
    environment = os.environ | {"DATABASE_URL": url}
    return subprocess.run(command, cwd=ROOT, env=environment, input=given, capture_output=True, timeout=patient(120))


def contents(url: str) -> list[list[tuple[object, ...]]]:
    with psycopg.connect(url) as connection:
        return [connection.execute(statement).fetchall() for statement in REPORTED]


@pytest.fixture(scope="module")
def filled() -> Iterator[str]:
    """Yield the address of a database with a recording, an acknowledged finding, a user, an upload and a session."""
    ingest = (
        "from tests.inputs.recordings import SAMPLE, entries_of; from timeline.models import *;"
        "from timeline.storage import store;"
        "from timeline.pipeline import ingest; from timeline.history.world.world import World;"
        "source = store.open_source('sample'); ingest(source, World(), entries_of(SAMPLE)); store.show_source(source);"
        "from timeline.storage.people import acknowledgements;"
        "acknowledgements.acknowledge(source.pk, Finding.objects.first().identity, 'ada', 'seen');"
        "Upload.objects.create(name='half');"
        "from django.contrib.auth.models import User; User.objects.create_user('ada', password='difference engine');"
        "from django.contrib.sessions.backends.db import SessionStore; SessionStore().save()"
    )
    with migrated_database() as url:
        done = causeline(url, "manage", "shell", "--verbosity", "0", "--command", ingest)
        assert done.returncode == 0, done.stderr.decode()
        yield url


@pytest.fixture(scope="module")
def file(filled: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a back-up of the database."""
    file = tmp_path_factory.mktemp("backup") / "causeline.dump"
    done = causeline(filled, "backup", str(file))
    assert done.returncode == 0, done.stderr.decode()
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert file.stat().st_mode & 0o777 == 0o600
    return file


def test_what_was_backed_up_is_there_again_and_nothing_is_overwritten(filled: str, file: Path) -> None:
    with empty_database() as other:
        done = causeline(other, "restore", str(file))
        assert done.returncode == 0, done.stderr.decode()
        assert all(rows for rows in contents(filled))
        assert contents(other) == contents(filled)
        with psycopg.connect(other) as connection:
            for table in ("timeline_upload", "django_session"):
                assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        again = causeline(other, "restore", str(file))
        assert (again.returncode, b"an empty one only" in again.stderr) == (1, True)


def test_a_pipe_does_as_well_and_tables_without_rows_or_of_others_are_no_hindrance(filled: str, file: Path) -> None:
    """`test_root.py` backs up into a pipe."""
    with migrated_database() as other:
        with psycopg.connect(other) as connection:
            connection.execute("CREATE TABLE strangers AS SELECT 1")
        done = causeline(other, "restore", "-", given=file.read_bytes())
        assert done.returncode == 0, done.stderr.decode()
        assert contents(other) == contents(filled)
        with psycopg.connect(other) as connection:
            assert connection.execute("SELECT * FROM strangers").fetchall() == [(1,)]


def test_what_is_no_back_up_and_what_cannot_be_written_are_said(filled: str, tmp_path: Path) -> None:
    done = causeline(filled, "backup", str(tmp_path / "none/causeline.dump"))
    assert (done.returncode, b"none/causeline.dump" in done.stderr) == (1, True)
    with empty_database() as other:
        done = causeline(other, "restore", str(SAMPLE))
        assert done.returncode == 1
        assert re.search(rb"pg_restore ended with 1; .* empty now", done.stderr)
