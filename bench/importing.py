"""Measure how fast an import into PostgreSQL is, and how much space it takes there.

    python -m bench.importing [FILE] [--runs 3]

Each run imports FILE (an unpacked audit log; without it, one made of the sample) into an empty database on a PostgreSQL
of its own, next to a bare loop of `orjson.loads` over the same lines in another process. The bench prints the median of
the ratios of neighbouring runs, where greater than 1 is faster than the bare loop; lines a second; and, after VACUUM,
the bytes for each entry by which all tables with their indexes have grown.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from bench.analysing import BARE, run
from bench.figures import SAMPLE, Figure, show
from bench.larger import write_rounds

_ROUNDS = 60  # repetitions of the sample, which make about 100 000 lines
ROOT = Path(__file__).resolve().parent.parent
IMPORT = """
import resource, sys, time
from pathlib import Path
import django
django.setup()
from collectors.formats import Limits
from collectors.uploads.recordings import Count, import_into
from timeline.storage import store
source = store.open_source("bench")
start = time.perf_counter()
import_into(source, [(Path(sys.argv[1]), "audit.log")], Limits(), Count())
print(time.perf_counter() - start, source.entries, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
_SIZE = """
SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE 'timeline\\_%' AND relkind IN ('r', 'm')
"""
_LARGEST = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relname LIKE 'timeline\\_%' AND relkind = 'r' ORDER BY 2 DESC LIMIT 4
"""


class Import(NamedTuple):
    """What one import took."""

    seconds: float
    entries: int
    peak: float  # MiB
    size: int  # bytes that the tables have grown by
    largest: list[tuple[str, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with prepared(options.file, _ROUNDS) as (path, variables):
        show(measure(path, options.runs, variables))


@contextmanager
def prepared(file: Path | None, rounds: int) -> Iterator[tuple[Path, dict[str, str]]]:
    """Run servers during the context, and yield the file, or else one that has the sample so many times, with the
    environment variables for them."""
    with (
        tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder,
        servers(Path(folder, "data")) as variables,
    ):
        path = file or Path(folder, "sample.jsonl")
        if not file:
            write_rounds(SAMPLE, rounds, path)
        yield path, variables


@contextmanager
def servers(data_dir: Path) -> Iterator[dict[str, str]]:
    """Run PostgreSQL and Valkey during the context, and yield the environment variables that Django needs for them."""
    command = [sys.executable, "-m", "dashboard.services", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as services:
        assert services.stdin and services.stdout
        addresses = json.loads(services.stdout.readline())
        yield os.environ | {
            "CAUSELINE_SECRET_KEY": "only for this bench, which signs nothing",
            "CAUSELINE_DATA_DIR": addresses["data_dir"],
            "DATABASE_URL": addresses["database_url"],
            "REDIS_URL": addresses["redis_url"],
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        }
        services.stdin.close()


def measure(path: Path, runs: int, variables: dict[str, str]) -> Iterator[Figure]:
    """Yield the figures of imports of a file of lines."""
    with path.open("rb") as file:
        lines = sum(1 for _ in file)
    rows = [(run(BARE, [str(path)], 1).seconds, imported(path, variables)) for _ in range(runs)]
    ratios = tuple(bare / one.seconds for bare, one in rows)
    yield Figure(f"import ÷ loop, {lines} lines", ratios, asked=0.25)
    yield Figure("import, memory", tuple(one.peak for _, one in rows), "MiB", asked=1024, at_most=True)
    last = rows[-1][1]
    yield Figure("import, bytes an entry", (last.size / last.entries,), at_most=True)
    for name, size in last.largest:
        yield Figure(f"import, bytes an entry in {name}", (size / last.entries,), at_most=True)


def imported(path: Path, variables: dict[str, str]) -> Import:
    with psycopg.connect(variables["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env=variables, check=True)
        before = _size(connection)
        command = [sys.executable, "-c", IMPORT, str(path)]
        done = subprocess.run(command, cwd=ROOT, env=variables, check=True, stdout=subprocess.PIPE, text=True)
        seconds, entries, peak = done.stdout.split()
        connection.execute("VACUUM")
        time.sleep(1)
        largest = connection.execute(_LARGEST).fetchall()
        return Import(float(seconds), int(entries), int(peak) / 1024, _size(connection) - before, largest)


def _size(connection: "psycopg.Connection[tuple[int]]") -> int:
    row = connection.execute(_SIZE).fetchone()
    assert row
    return int(row[0] or 0)


if __name__ == "__main__":
    main()
