"""This module reads which tables a version of Causeline expects of its database.

`python -m tests.released FOLDER` migrates a new database with the code of a checkout, and prints its tables as JSON.
After a release, write them to `tests/released.json`: `tests/database/storage/test_rolling_upgrade.py` compares them
with the present tables.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypedDict

import psycopg

from tests import ROOT, services

FILE = ROOT / "tests" / "released.json"
_COLUMNS = """
SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, atthasdef OR attidentity <> ''
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
AND attnum > 0 AND NOT attisdropped ORDER BY relname, attname
"""
_KEYS = """
SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid),
    ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY(conkey) ORDER BY attname)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u', 'c', 'f') AND conparentid = 0
ORDER BY 1, 3
"""


class Column(TypedDict):
    type: str
    required: bool  # whether it refuses NULL
    default: bool  # whether a row may leave it out


class Rule(TypedDict):
    """This is a constraint: a primary key, a unique key, a check or a foreign key."""

    sort: str
    text: str
    columns: list[str]


class Table(TypedDict):
    columns: dict[str, Column]
    rules: list[Rule]


def tables(connection: Any) -> dict[str, Table]:
    """Return the tables of a database, without partitions. The connection is one of psycopg, or a cursor of Django."""
    found: dict[str, Table] = {}
    for table, name, kind, required, default in _rows(connection, _COLUMNS):
        described = found.setdefault(table, {"columns": {}, "rules": []})
        described["columns"][name] = {"type": kind, "required": required, "default": default}
    for table, sort, text, columns in _rows(connection, _KEYS):
        if table in found:
            found[table]["rules"].append({"sort": sort, "text": text, "columns": columns})
    return found


def _rows(connection: Any, query: str) -> list[tuple[Any, ...]]:
    answer = connection.execute(query)
    rows: list[tuple[Any, ...]] = (answer or connection).fetchall()
    return rows


def main() -> None:
    folder = Path(sys.argv[1])
    process, served = services.start()
    try:
        environment = {
            **os.environ,
            **services.VARIABLES,
            "DATABASE_URL": served["database_url"],
            "REDIS_URL": served["redis_url"],
            "CAUSELINE_DATA_DIR": served["data_dir"],
        }
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--skip-checks"]
        subprocess.run(command, cwd=folder, env=environment, check=True)
        with psycopg.connect(served["database_url"]) as connection:
            print(json.dumps(tables(connection), indent=1, sort_keys=True))
    finally:
        services.stop(process)


if __name__ == "__main__":
    main()
