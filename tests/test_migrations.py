"""These tests migrate databases of older versions with data in them."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from dashboard.environment import database
from tests.patience import patient
from tests.variables import ROOT


@pytest.fixture
def empty_database() -> Iterator[str]:
    """Yield the address of a database without tables, on the server that the tests use."""
    name = f"migrations_{uuid.uuid4().hex}"
    server = os.environ["DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.replace(f"/{database(server)['NAME']}?", f"/{name}?")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def migrate(url: str, *target: str) -> None:
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", *target]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"DATABASE_URL": url}, check=True, timeout=patient(120))


def test_recordings_of_the_first_version_go_and_their_uploads_stay(empty_database: str) -> None:
    migrate(empty_database, "timeline", "0001")
    with psycopg.connect(empty_database) as connection:
        connection.execute(
            "INSERT INTO timeline_source (id, name, ready, created, entries, skipped, histogram)"
            " VALUES (7, 'old', true, now(), 1, 0, '[]')"
        )
        connection.execute("CREATE TABLE timeline_entry_7 PARTITION OF timeline_entry FOR VALUES IN (7)")
        connection.execute(
            'INSERT INTO timeline_track (id, source_id, key, lane, root, "group", version, kind, namespace, name, uid,'
            " family, number, lane_number, root_rank, life, lifeline)"
            " VALUES (1, 7, 1, 1, 1, '', 'v1', 'Pod', 'n', 'p', 'u', 'Pods', 1, 1, 1, '[2026-01-01,)', '[]')"
        )
        connection.execute(
            "INSERT INTO timeline_finding (source_id, identity, rule, severity, namespace, subject_id, first, last,"
            " document, occurrences) VALUES (7, 'x', 'r', 'error', 'n', 1, now(), now(), '{}', '[]')"
        )
        connection.execute(
            "INSERT INTO timeline_upload (name, state, attempt, created, seen, bytes_total, bytes_read, entries,"
            " skipped, skipped_examples, error, source_id)"
            " VALUES ('u', 'done', 1, now(), now(), 1, 1, 1, 0, '[]', '', 7)"
        )
    migrate(empty_database)
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT count(*) FROM timeline_source").fetchone() == (0,)
        assert connection.execute("SELECT name, source_id FROM timeline_upload").fetchall() == [("u", None)]
        old = connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'timeline_entry%'").fetchall()
        assert old == []


def test_clusters_that_kept_nothing_or_for_ever_keep_as_is_usual_or_as_long_as_can_be(empty_database: str) -> None:
    migrate(empty_database, "timeline", "0011")
    rows = [("a", 0, 0), ("b", -5, -1), ("c", 10**9, 2 * 10**18), ("d", 30, 10**9)]
    with psycopg.connect(empty_database) as connection:
        for name, days, size in rows:
            connection.execute(
                "INSERT INTO timeline_cluster (name, created, reference, include, exclude, keep_days, keep_bytes,"
                " paused, holder, epoch, state, error)"
                " VALUES (%s, now(), '{}', '[]', '[]', %s, %s, false, '', 0, 'waiting', '')",
                [name, days, size],
            )
    migrate(empty_database)
    with psycopg.connect(empty_database) as connection:
        kept = connection.execute("SELECT name, keep_days, keep_bytes FROM timeline_cluster ORDER BY name").fetchall()
    assert kept == [("a", None, None), ("b", None, None), ("c", 36_500, 10**18), ("d", 30, 10**9)]


def test_rows_of_the_list_of_findings_name_their_findings_in_order(empty_database: str) -> None:
    """Earlier versions stored copies of the findings in these rows; now the rows are derived from the findings."""
    migrate(empty_database, "timeline", "0017")
    payload = {"key": "k", "findings": [{"id": "second"}, {"id": "first"}, {"id": "second"}]}
    with psycopg.connect(empty_database) as connection:
        connection.execute(
            'INSERT INTO timeline_source (id, name, ready, created, inputs, entries, stored, "table", redacted,'
            " skipped, skips, told, histogram, census, own_counters, tide, ended, sequence, judged, judging,"
            " attempts, mostly_skipped) VALUES (7, 'old', true, now(), '[]', 1, 0, 0, '{}', 0, '[]', '{}', '[]',"
            " '[]', '[]', '{}', '', 0, 0, 0, 0, '{}')"
        )
        connection.execute(
            "INSERT INTO timeline_occurrence (source_id, key, rank, rule, namespace, families, words, tracks, first,"
            " last, payload, drawn) VALUES (7, 'k', 1, 'r', 'n', '{}', 'w', '{}', now(), now(), %s, '[]')",
            [json.dumps(payload)],
        )
    migrate(empty_database)
    with psycopg.connect(empty_database) as connection:
        rows = connection.execute("SELECT key, words, findings FROM timeline_occurrence").fetchall()
    assert rows == [("k", "w", ["second", "first"])]
