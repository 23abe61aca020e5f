"""Measure how fast live collection is: how much one worker processes, and what an entry costs.

    python -m bench.live [FILE] [--rounds 20] [--runs 3]

A replay of FILE (an audit log with objects; without it, one made of the sample) serves its watched resources as fast as
they are read, in a process of its own. Each run watches it and stores its entries in an empty database on a PostgreSQL
of its own, next to a bare loop of `orjson.loads` over the same bytes. The bench prints the medians of the entries a
second from HTTP to commit, and of that as a fraction of the bare loop's lines a second. Then only the Pods are watched,
by Causeline and by the typed `Watch` of the package kubernetes, and the total processor time of an event is compared.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import LiteralString, NamedTuple

import psycopg

from bench.analysing import BARE, run
from bench.figures import Figure, show
from bench.importing import prepared

_ROOT = Path(__file__).resolve().parent.parent
_SERVE = """
import json, sys
from pathlib import Path
from collectors.replay import serve
from collectors.replay.commits import tape
path, lines, only = sys.argv[1:]
played = tape([(Path(path), path)])
if only:
    resources = [each for each in played.resources if each.name == only]
    played = played._replace(
        resources=resources,
        existing=[each for each in played.existing if each.resource.name == only],
        commits=[each for each in played.commits if each.resource.name == only],
    )
with serve(played, speed="max", paused=True) as replay:
    print(json.dumps({"url": replay.url, "kubeconfig": replay.kubeconfig}), flush=True)
    if watched := sys.stdin.readline():
        names = set(json.loads(watched))
        commits = [each for each in played.commits if each.resource.name in names]
        with open(lines, "wb") as file:
            for each in commits:
                file.write(b'{"type":"%s","object":%s}\\n' % (each.change.encode(), each.body))
        print(len(commits), flush=True)
    sys.stdin.read()
"""
_FOLLOW = """
import resource, sys, threading, time
from pathlib import Path
import django
django.setup()
from collectors.watch.server.api import Api
from collectors.watch.server.files import Allowed
from collectors.watch.server.kubeconfig import own
from collectors.watch.cluster_watcher import ClusterWatcher
from collectors.watch.worker_step import prepare_process
from timeline.storage import leases
from timeline.models import Cluster
prepare_process()
Cluster.objects.create(name="bench")
(lease,) = leases.take("bench", 1)
threading.Thread(target=lambda: [leases.keep([lease]) or time.sleep(1) for _ in iter(int, 1)], daemon=True).start()
follower = ClusterWatcher(lease, lambda cluster: Api.from_kubeconfig(own([Path(sys.argv[1])], Allowed(None)).reduced))
follower.start()
for line in sys.stdin:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss, flush=True)
"""
_COLLECT = """
import resource, sys, threading, time
from pathlib import Path
from collectors.watch.storing import batches
from collectors.watch.server.api import Api
from collectors.watch.streams.event_queue import EventQueue
from collectors.watch.server.files import Allowed
from collectors.watch.server.kubeconfig import own
from collectors.watch.streams.reflector import Reflector
from collectors.watch.streams.resources import Resource
from timeline.core.entries import Change, Entry
def report(_, state, error):
    if state == "watching":
        print("ready", flush=True)
queue = EventQueue(lambda item: 1000)
reflector = Reflector(
    Api.from_kubeconfig(own([Path(sys.argv[1])], Allowed(None)).reduced), Resource("", "v1", "Pod", "pods", True),
    queue.put, known_objects={}, resume_from=None, report_state=report,
)
threading.Thread(target=reflector.run, args=[threading.Event()], daemon=True).start()
entries, number, before, since = int(sys.argv[2]), 0, 0.0, 0
while number < entries:
    taken = queue.take(1000, 1.0, time.monotonic() + 0.25)
    batches.written(taken)
    number += sum(isinstance(each, Entry) and each.change is not Change.OBSERVED for each in taken)
    used = resource.getrusage(resource.RUSAGE_SELF)
    if not since and number >= entries / 4:
        before, since = used.ru_utime + used.ru_stime, number
print((used.ru_utime + used.ru_stime - before) / (number - since), flush=True)
"""
_TYPED = """
import resource, sys
from kubernetes import client, config, watch
config.load_kube_config(sys.argv[1])
pods = client.CoreV1Api().list_pod_for_all_namespaces
since = pods().metadata.resource_version
print("ready", flush=True)
before, first, last = 0, int(sys.argv[2]) // 4, int(sys.argv[2]) - 1
for number, event in enumerate(watch.Watch().stream(pods, resource_version=since)):
    if number in (first, last):
        used = resource.getrusage(resource.RUSAGE_SELF)
        if number == last:
            print((used.ru_utime + used.ru_stime - before) / (last - first), flush=True)
            break
        before = used.ru_utime + used.ru_stime
"""
_WATCHING = "SELECT concat_ws('.', resource, nullif(\"group\", '')) FROM timeline_stream WHERE state = 'watching'"
_SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()"
)
_TAKEN = "SELECT coalesce(sum(entries), 0) FROM timeline_stream"
Process = subprocess.Popen[str]


class Cost(NamedTuple):
    """What it took to follow a replay."""

    entries: int
    seconds: float  # from the first event to the last commit
    cpu: float  # seconds of a processor, of the worker
    peak: float  # MiB
    idle: float  # MiB, of a worker that watches and has received nothing
    sessions: int  # of PostgreSQL, that the worker has open at the end
    database: float  # seconds of a processor, of PostgreSQL


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=20, help="of the sample")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    of = f" of {options.file.name}" if options.file else ""
    with prepared(options.file, options.rounds) as (path, variables):
        show(ingest(path, options.runs, variables, of))
        show(compare(path, options.runs, variables, of))


def ingest(path: Path, runs: int, variables: dict[str, str], of: str) -> Iterator[Figure]:
    """Yield the figures of a worker that follows a replay; `of` names the recording if it is not the sample."""
    lines = path.with_suffix(".watch")
    rows = [(followed(path, lines, variables), run(BARE, [str(lines)], 1).seconds) for _ in range(runs)]
    size = lines.stat().st_size / rows[0][0].entries
    ratios = tuple(bare / taken.seconds for taken, bare in rows)
    yield Figure(f"live{of}, one worker ÷ loop, {rows[0][0].entries} entries of {size:.0f} bytes", ratios, asked=0.10)
    rates = tuple(taken.entries / taken.seconds for taken, _ in rows)
    yield Figure(f"live{of}, entries a second", rates, asked=5000, loops=tuple(1 / bare for _, bare in rows))
    yield Figure(f"live{of}, memory", tuple(taken.peak for taken, _ in rows), "MiB", asked=300, at_most=True)


def compare(path: Path, runs: int, variables: dict[str, str], of: str) -> Iterator[Figure]:
    """Yield the processor time of an event of a Pod beside that of the typed `Watch`: from HTTP to the packed batch of
    a collector, and from HTTP to the commit of a worker."""
    lines = path.with_suffix(".pods")
    rows = []
    for _ in range(runs):
        taken = followed(path, lines, variables, "pods")
        other = watched(_TYPED, path, taken.entries, variables)
        rows.append((watched(_COLLECT, path, taken.entries, variables) / other, taken.cpu / taken.entries / other))
    what = "processor time an entry ÷ typed Watch"
    yield Figure(f"collector{of}, {what}", tuple(collector for collector, _ in rows), asked=0.3, at_most=True)
    yield Figure(f"worker{of}, {what}", tuple(worker for _, worker in rows), at_most=True)


@contextmanager
def _replay(path: Path, lines: Path, only: str) -> Iterator[tuple[Process, str, Path]]:
    """Start a replay, and yield its process, its address, and a kubeconfig for it."""
    command = [sys.executable, "-c", _SERVE, str(path), str(lines), only]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        replayed = json.loads(process.stdout.readline())
        kubeconfig = lines.with_suffix(".kubeconfig")
        kubeconfig.write_text(json.dumps(replayed["kubeconfig"]))
        try:
            yield process, replayed["url"], kubeconfig
        finally:
            process.stdin.close()


def _ask(process: Process, what: str) -> str:
    assert process.stdin and process.stdout
    process.stdin.write(what + "\n")
    process.stdin.flush()
    return process.stdout.readline()


def _play(url: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(f"{url}/replay/control", b'{"play": true}')) as answer:
        answer.read()


def followed(path: Path, lines: Path, variables: dict[str, str], only: str = "") -> Cost:
    """Follow a replay of a recording, or of one resource of it, from its beginning to its end. The events that were
    watched are written to the file `lines`."""
    with (
        psycopg.connect(variables["DATABASE_URL"], autocommit=True) as connection,
        _replay(path, lines, only) as (replay, url, kubeconfig),
    ):
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=_ROOT, env=variables, check=True)
        command = [sys.executable, "-c", _FOLLOW, str(kubeconfig)]
        with subprocess.Popen(
            command, cwd=_ROOT, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as worker:
            watched = _settled(connection)
            count = int(_ask(replay, json.dumps(watched)))
            before, idle = map(float, _ask(worker, "").split())
            database = _database_cpu(connection)
            began = time.perf_counter()
            _play(url)
            while _number(connection) < count:
                time.sleep(0.02)
            seconds = time.perf_counter() - began
            cpu, peak = map(float, _ask(worker, "").split())
            sessions = _number(connection, _SESSIONS)
            database = _database_cpu(connection) - database
            worker.kill()
    return Cost(count, seconds, cpu - before, peak / 1024, idle / 1024, sessions, database)


def _database_cpu(connection: "psycopg.Connection[tuple[str]]") -> float:
    """Return the seconds of a processor that the processes of PostgreSQL have taken, as far as they have not ended."""
    ticks = 0
    for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity").fetchall():
        with suppress(FileNotFoundError):  # it has just ended
            fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def watched(program: str, path: Path, entries: int, variables: dict[str, str]) -> float:
    """Return the processor time in seconds that a program takes for each event of a Pod, after a quarter of them."""
    lines = path.with_suffix(".watched")
    with _replay(path, lines, "pods") as (_, url, kubeconfig):
        command = [sys.executable, "-c", program, str(kubeconfig), str(entries)]
        with subprocess.Popen(command, cwd=_ROOT, env=variables, stdout=subprocess.PIPE, text=True) as reader:
            assert reader.stdout
            reader.stdout.readline()
            time.sleep(0.5)  # until its watch is open
            _play(url)
            seconds = float(reader.stdout.readline())
            reader.kill()
            return seconds


def _settled(connection: "psycopg.Connection[tuple[str]]") -> list[str]:
    """Return the resources that are watched, once there are no new ones."""
    watched: list[str] = []
    since = time.perf_counter()
    while time.perf_counter() - since < 3 or not watched:
        time.sleep(0.2)
        now = [name for (name,) in connection.execute(_WATCHING).fetchall()]
        if now != watched:
            watched, since = now, time.perf_counter()
    return watched


def _number(connection: "psycopg.Connection[tuple[str]]", query: LiteralString = _TAKEN) -> int:
    row = connection.execute(query).fetchone()
    assert row
    return int(row[0])


if __name__ == "__main__":
    main()
