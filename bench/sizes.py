"""Compute what many clusters need, from what one cluster takes in this run.

    python -m bench.sizes [FILE] [--rounds 40] [--clusters 300] [--entries 1e9] [--days 14] [--busy 10]

A worker follows a replay of FILE (an audit log with objects; without it, one made of the sample) as fast as it can, as
in `bench.live`. Then the table of its entries is closed and packed again, as happens a day later, and the tables are
measured. At last, entries that the watches have shown are committed one by one, because a quiet cluster has one entry
in each commit. The bench prints what that took, and what follows for many clusters that keep so many entries for so
many days. In the busiest minutes they change `--busy` times as much as on average.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import psycopg

from bench.importing import prepared
from bench.live import Cost, followed

_ROOT = Path(__file__).resolve().parent.parent
_BEFORE, _COMMITS = 2_000, 300  # entries that are committed at once, and then one by one
_PACK = """
import django
django.setup()
from timeline.models import Source
from timeline.storage.entries import repacking, tables
source = Source.objects.get()
tables.open_table(source)
tables.attach(source, always=True)
source.save(update_fields=["table"])
repacking.repack(source)
"""
_COMMIT = f"""
import json, os, time
from pathlib import Path
import django
django.setup()
from django.db import connection
from timeline.core.entries import Entry, Mark, MarkType
from timeline.models import Cluster, Source
from timeline.pipeline import follow
from timeline.storage import live
from timeline.storage.entries import chunks
def used():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        fields = Path("/proc", str(cursor.fetchone()[0]), "stat").read_text().rpartition(")")[2].split()
    return time.process_time(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
observed = list(chunks.observations(Source.objects.get().pk))
begun = [each for each in observed if isinstance(each, Mark) and each.what is not MarkType.BOOKMARK]
entries = sorted((each for each in observed if isinstance(each, Entry)), key=lambda each: each.arrived)
held = live.open_again(live.begin(Cluster.objects.create(name="commits")))
follow(held, begun + entries[:{_BEFORE}])
before = used()
for entry in entries[{_BEFORE} : {_BEFORE + _COMMITS}]:
    follow(held, [entry])
print(json.dumps([(now - then) / {_COMMITS} for now, then in zip(used(), before)]))
"""
_SIZES = r"""
SELECT coalesce(substring(relname FROM '^timeline_(chunk|track)_\d'), 'other') AS part, sum(pg_total_relation_size(oid))
FROM pg_class WHERE relname LIKE 'timeline\_%' AND relkind = 'r' GROUP BY part"""
_TRACKS = "SELECT count(*) FROM timeline_track"
_COMMITS_A_SECOND = 10  # the most for one cluster


class Measured(NamedTuple):
    """What following one cluster took."""

    cost: Cost
    sizes: dict[str, int]  # bytes of the tables of chunks ("chunk") and tracks ("track"), and of the "other" ones
    tracks: int
    commit: tuple[float, float]  # seconds of a processor for a commit of one entry: of the worker, and of PostgreSQL


class Wanted(NamedTuple):
    """What the sizes are for."""

    clusters: int
    entries: float  # that are kept
    days: float  # for which they are kept
    busy: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=40, help="of the sample")
    parser.add_argument("--clusters", type=int, default=300)
    parser.add_argument("--entries", type=float, default=1e9)
    parser.add_argument("--days", type=float, default=14)
    parser.add_argument("--busy", type=float, default=10)
    options = parser.parse_args()
    with prepared(options.file, options.rounds) as (path, variables):
        measured = measure(path, variables)
    print(*described(measured, Wanted(options.clusters, options.entries, options.days, options.busy)), sep="\n")


def measure(path: Path, variables: dict[str, str]) -> Measured:
    cost = followed(path, path.with_suffix(".watch"), variables)
    _run(_PACK, path, variables)
    with psycopg.connect(variables["DATABASE_URL"]) as connection:
        sizes = {str(part): int(size) for part, size in connection.execute(_SIZES).fetchall()}
        row = connection.execute(_TRACKS).fetchone()
    assert row
    worker, database = json.loads(_run(_COMMIT, path, variables))
    return Measured(cost, sizes, int(row[0]), (worker, database))


def _run(program: str, path: Path, variables: dict[str, str]) -> str:
    command = [sys.executable, "-c", program, str(path)]
    return subprocess.run(command, cwd=_ROOT, env=variables, check=True, stdout=subprocess.PIPE, text=True).stdout


def described(measured: Measured, wanted: Wanted) -> list[str]:
    """Return the lines that say what was measured, and what follows from it."""
    cost, sizes, tracks, commit = measured
    entry = cost.cpu / cost.entries, cost.database / cost.entries
    rate = wanted.entries / (wanted.days * 86_400)
    whole = sum(sizes.values()) / cost.entries * wanted.entries
    lines = [
        f"measured: {cost.entries:,} entries of {tracks:,} objects, {cost.entries / cost.seconds:,.0f} a second",
        *(f"  {size / cost.entries:,.0f} bytes an entry: {_NAMES[part]}" for part, size in sorted(sizes.items())),
        f"  {cost.sessions} sessions of PostgreSQL and {cost.peak:,.0f} MiB in a worker that watches this cluster",
        f"  an entry among many: {entry[0] * 1e3:.2f} ms of a processor in the worker, {entry[1] * 1e3:.2f} ms in"
        " PostgreSQL",
        f"  a commit of one entry: {commit[0] * 1e3:.0f} ms in the worker, {commit[1] * 1e3:.0f} ms in PostgreSQL",
        f"computed: {wanted.clusters} clusters, {wanted.entries:,.0f} entries kept for {wanted.days:g} days",
        f"  {whole / 2**30:,.0f} GiB in the database, {whole / wanted.days / 2**30:,.0f} GiB a day",
        f"  {wanted.clusters} sessions of PostgreSQL for watching, and a few for each process besides",
    ]
    for when, entries in (("on average", rate), ("in the busiest minutes", rate * wanted.busy)):
        commits = min(entries, _COMMITS_A_SECOND * wanted.clusters)
        (worker, database), (least_worker, least_database) = (
            [commits * one + (entries - commits) * more for one, more in zip(commit, entry, strict=True)],
            [entries * more for more in entry],
        )
        lines.append(
            f"  {when}, {entries:,.0f} entries a second: {worker:,.0f} processors for workers and {database:,.0f} for"
            f" PostgreSQL; at least {least_worker:,.1f} and {least_database:,.1f}, if commits grow and come later"
        )
    return lines


_NAMES = {"chunk": "entries, packed", "track": "objects, with indexes", "other": "findings, incidents and all else"}


if __name__ == "__main__":
    main()
