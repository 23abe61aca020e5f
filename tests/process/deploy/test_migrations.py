"""These tests look at a database that went through all versions, with rows that were added while it had older ones."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import pytest

from tests import ROOT
from tests.patience import patient
from tests.servers.running import empty_database


class Migrated(NamedTuple):
    """This is a database of the newest version, and what its tables with sources held before their keys changed."""

    url: str
    rows: dict[str, list[dict[str, Any]]]
    files: dict[str, object]


@pytest.fixture(scope="module")
def new_database() -> Iterator[str]:
    with empty_database() as url:
        yield url


def migrate(url: str, *target: str) -> None:
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", *target]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"DATABASE_URL": url}, check=True, timeout=patient(120))


@pytest.fixture(scope="module")
def migrated(new_database: str) -> Migrated:
    """Return the database after all versions. At three of the versions, rows were added: migrating takes long."""
    migrate(new_database, "timeline", "0001")
    with psycopg.connect(new_database) as connection:
        _add_a_recording_of_the_first_version(connection)
    migrate(new_database, "timeline", "0011")
    with psycopg.connect(new_database) as connection:
        _add_clusters(connection)
    migrate(new_database, "timeline", "0017")
    rows, files = {}, {}
    with psycopg.connect(new_database) as connection:
        _add_rows_of_sources(connection)
        for table in _ROWS:
            rows[table], files[table] = _stored(connection, table)
    migrate(new_database)
    return Migrated(new_database, rows, files)


def _add_a_recording_of_the_first_version(connection: psycopg.Connection[Any]) -> None:
    connection.execute(
        "INSERT INTO timeline_source (id, name, ready, created, entries, skipped, histogram)"
        " VALUES (6, 'of the first version', true, now(), 1, 0, '[]')"
    )
    connection.execute("CREATE TABLE timeline_entry_6 PARTITION OF timeline_entry FOR VALUES IN (6)")
    connection.execute(
        'INSERT INTO timeline_track (id, source_id, key, lane, root, "group", version, kind, namespace, name, uid,'
        " family, number, lane_number, root_rank, life, lifeline)"
        " VALUES (1, 6, 1, 1, 1, '', 'v1', 'Pod', 'n', 'p', 'u', 'Pods', 1, 1, 1, '[2026-01-01,)', '[]')"
    )
    connection.execute(
        "INSERT INTO timeline_finding (source_id, identity, rule, severity, namespace, subject_id, first, last,"
        " document, occurrences) VALUES (6, 'x', 'r', 'error', 'n', 1, now(), now(), '{}', '[]')"
    )
    connection.execute(
        "INSERT INTO timeline_upload (name, state, attempt, created, seen, bytes_total, bytes_read, entries,"
        " skipped, skipped_examples, error, source_id)"
        " VALUES ('u', 'done', 1, now(), now(), 1, 1, 1, 0, '[]', '', 6)"
    )


def test_recordings_of_the_first_version_go_and_their_uploads_stay(migrated: Migrated) -> None:
    with psycopg.connect(migrated.url) as connection:
        assert connection.execute("SELECT id FROM timeline_source ORDER BY id").fetchall() == [(7,), (8,)]
        assert connection.execute("SELECT name, source_id FROM timeline_upload").fetchall() == [("u", None)]
        old = connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'timeline_entry%'").fetchall()
        assert old == []


def _add_clusters(connection: psycopg.Connection[Any]) -> None:
    for name, days, size in ("a", 0, 0), ("b", -5, -1), ("c", 10**9, 2 * 10**18), ("d", 30, 10**9):
        connection.execute(
            "INSERT INTO timeline_cluster (name, created, reference, include, exclude, keep_days, keep_bytes,"
            " paused, holder, epoch, state, error)"
            " VALUES (%s, now(), '{}', '[]', '[]', %s, %s, false, '', 0, 'waiting', '')",
            [name, days, size],
        )


def test_clusters_that_kept_nothing_or_for_ever_keep_as_is_usual_or_as_long_as_can_be(migrated: Migrated) -> None:
    with psycopg.connect(migrated.url) as connection:
        kept = connection.execute("SELECT name, keep_days, keep_bytes FROM timeline_cluster ORDER BY name").fetchall()
    assert kept == [("a", None, None), ("b", None, None), ("c", 36_500, 10**18), ("d", 30, 10**9)]


# A row of each table whose key begins with the source since migration 0022: its columns, and their values before.
_ROWS = {
    "stream": (
        '"group", version, kind, resource, namespaced, state, error, entries',
        "'', 'v1', 'Pod', 'pods', true, 'watching', '', 3",
    ),
    "gap": ('"group", kind, since, until, reason', "'', 'Pod', '2026-01-01', '2026-01-02', 'away'"),
    "delta": ("sequence, at, changed", "4, '2026-01-01', '{}'"),
    "memory": ("number, after, lines", "0, 5, 'x'"),
    "strip": (
        'place, root, family, "group", kind, namespace, name, members, span, changed',
        "6, 1, 'Pods', '', 'Pod', 'n', 'o', 30, '[2026-01-01,]', '2026-01-01'",
    ),
    "finding": (
        "identity, rule, severity, namespace, subject, root, tracks, first, last, document, occurrences, withdrawn",
        "'f', 'r', 'error', 'n', 1, 1, '{1}', '2026-01-01', '2026-01-02', '{}', '[]', false",
    ),
    "acknowledgement": ('identity, "by", at, note', "'f', 'ada', '2026-01-01', 'ticket 7'"),
    "occurrence": (
        "key, rank, rule, namespace, families, words, tracks, first, last, payload, drawn",
        """'k', 1, 'r', 'n', '{}', 'w', '{}', '2026-01-01', '2026-01-02',
        '{"key": "k", "findings": [{"id": "second"}, {"id": "first"}, {"id": "second"}]}', '[]'""",
    ),
}


def _add_rows_of_sources(connection: psycopg.Connection[Any]) -> None:
    for source in (7, 8):
        connection.execute(
            'INSERT INTO timeline_source (id, name, ready, created, inputs, entries, stored, "table", redacted,'
            " skipped, skips, told, histogram, census, own_counters, tide, ended, sequence, judged, judging,"
            " attempts, mostly_skipped) VALUES (%s, 'old', true, now(), '[]', 1, 0, 0, '{}', 0, '[]', '{}', '[]',"
            " '[]', '[]', '{}', '', 0, 0, 0, 0, '{}')",
            [source],
        )
    for table, (columns, values) in _ROWS.items():
        for source in (8, 7):
            connection.execute(f"INSERT INTO timeline_{table} (source_id, {columns}) VALUES ({source}, {values})")


def test_rows_of_sources_are_kept_and_their_keys_begin_with_the_source(migrated: Migrated) -> None:
    """Rows of the list of findings held copies of the findings; now they name them, and the rows derive from these."""
    with psycopg.connect(migrated.url) as connection:
        for table, rows in migrated.rows.items():
            now, file = _stored(connection, table)
            kept = rows[0].keys() & now[0].keys()
            assert len(kept) > 3
            assert [{name: row[name] for name in kept} for row in rows] == [
                {name: row[name] for name in kept} for row in now
            ]
            assert file == migrated.files[table], f"timeline_{table} was written anew"
            key = connection.execute(
                "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'p' AND conrelid = %s::regclass",
                [f"timeline_{table}"],
            ).fetchone()
            assert key and key[0].startswith("PRIMARY KEY (source_id, "), table
        findings = connection.execute("SELECT source_id, findings FROM timeline_occurrence ORDER BY 1").fetchall()
    assert findings == [(7, ["second", "first"]), (8, ["second", "first"])]


def _stored(connection: psycopg.Connection[Any], table: str) -> tuple[list[dict[str, Any]], object]:
    """Return the rows of a table without their surrogate keys, by source, and the number of the file that holds it."""
    found = connection.execute(f"SELECT to_jsonb(row) - 'id' FROM timeline_{table} AS row ORDER BY source_id")
    file = connection.execute(f"SELECT pg_relation_filenode('timeline_{table}')").fetchone()
    return [row for (row,) in found], file
