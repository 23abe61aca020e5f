"""Measure what a worker that watches costs: memory with many objects, and processor time if nothing happens.

    python -m bench.watching [--objects 20000] [--seconds 60]

A real Celery worker first watches one cluster of 50 resources with so many objects; the bench measures its memory when
all are listed, and after a tenth of them has changed. Then the worker watches ten clusters without change, with a
bookmark a minute on each watch; the bench measures the fraction of one processor that the worker takes in so many
seconds. PostgreSQL, Valkey and the replay are other processes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.importing import servers

_ROOT = Path(__file__).resolve().parent.parent
_TICK = os.sysconf("SC_CLK_TCK")
_KINDS = 50
_IDLE = 10  # clusters
_SERVE = """
import json, sys
from pathlib import Path
from collectors.replay import serve
from collectors.replay.commits import Commit, Tape, tape
from collectors.replay.resources import Resource
from bench.analysing import SAMPLE
kinds, objects = int(sys.argv[1]), int(sys.argv[2])
sample = tape([(SAMPLE, SAMPLE.name)])
bodies = [each.body for each in sample.commits if each.resource.name == "pods"]
resources = [Resource("", "v1", "Pod", "pods", True)]
for number in range(1, kinds):
    resources.append(Resource("example.com", "v1", f"Kind{number:02}", f"kind{number:02}s", True))
def commit(number, revision, change):
    resource, name = resources[number % kinds], f"object-{number:06}"
    body = json.loads(bodies[number % len(bodies)])
    body |= {"apiVersion": resource.api_version, "kind": resource.kind}
    body["metadata"] |= {"name": name, "uid": f"00000000-0000-4000-8000-{number:012}", "resourceVersion": str(revision)}
    body["metadata"].pop("ownerReferences", None)
    namespace, uid = body["metadata"]["namespace"], body["metadata"]["uid"]
    return Commit(resource, namespace, name, uid, change, revision, sample.begins, json.dumps(body).encode())
standing = [commit(number, number + 1, "ADDED") for number in range(objects)]
changes = [commit(number, objects + number + 1, "MODIFIED") for number in range(objects // 10)]
played = Tape(sorted(resources), dict.fromkeys(resources, ""), standing, changes, sample.begins, sample.ends)
with serve(played, speed="max", paused=True) as replay:
    print(json.dumps({"url": replay.url, "kubeconfig": replay.kubeconfig}), flush=True)
    sys.stdin.read()
"""
_CONNECT = """
import json, sys
import django
django.setup()
from timeline.models import Cluster
for number in range(int(sys.argv[2])):
    reference = {"how": "path", "path": sys.argv[1], "context": ""}
    Cluster.objects.create(name=f"bench-{number}", reference=reference, include=["*.example.com"])
"""
_LISTED = "SELECT count(*) FROM timeline_stream WHERE listed_at IS NOT NULL AND state = 'watching'"
_TAKEN = "SELECT coalesce(sum(entries), 0) FROM timeline_stream"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder,
        servers(Path(folder, "data")) as variables,
    ):
        variables["CAUSELINE_KUBECONFIG_DIRS"] = folder
        with _watching(Path(folder), variables, _KINDS, options.objects, 1) as (worker, url, connection):
            _await(connection, _TAKEN, options.objects)
            _await(connection, _LISTED, _KINDS)
            listed = _memory(worker)
            _play(url)
            _await(connection, _TAKEN, options.objects + options.objects // 10)
            print(f"{_KINDS} watches, {options.objects} objects: {listed:.0f} MiB, {_memory(worker):.0f} after changes")
        with _watching(Path(folder), variables, 30, 300, _IDLE) as (worker, _, connection):
            _await(connection, _LISTED, 30 * _IDLE)
            time.sleep(15)  # until kinds have been compared
            before = _cpu(worker)
            time.sleep(options.seconds)
            part = (_cpu(worker) - before) / options.seconds
            print(f"{_IDLE} clusters of 30 watches without change: {100 * part:.1f} % of a processor")


@contextmanager
def _watching(
    folder: Path, variables: dict[str, str], kinds: int, objects: int, clusters: int
) -> Iterator[tuple[int, str, "psycopg.Connection[tuple[int]]"]]:
    """Yield a worker's pid, the address of the replay that it watches, and a connection to its database."""
    connection: psycopg.Connection[tuple[int]]
    command = [sys.executable, "-c", _SERVE, str(kinds), str(objects)]
    with (
        psycopg.connect(variables["DATABASE_URL"], autocommit=True) as connection,
        subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as replay,
    ):
        assert replay.stdin and replay.stdout
        replayed = json.loads(replay.stdout.readline())
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(replayed["kubeconfig"]))
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=_ROOT, env=variables, check=True)
        connect = [sys.executable, "-c", _CONNECT, str(kubeconfig), str(clusters)]
        subprocess.run(connect, cwd=_ROOT, env=variables, check=True)
        celery = [sys.executable, "-m", "celery", "-A", "dashboard.celery", "worker", "--pool", "solo"]
        with subprocess.Popen(
            celery, cwd=_ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as worker:
            try:
                yield worker.pid, replayed["url"], connection
            finally:
                worker.terminate()
                worker.wait()
                replay.stdin.close()


def _await(connection: "psycopg.Connection[tuple[int]]", query: str, number: int) -> None:
    while (row := connection.execute(query).fetchone()) is None or row[0] < number:
        time.sleep(0.2)


def _play(url: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(f"{url}/replay/control", b'{"play": true}')) as answer:
        answer.read()


def _memory(pid: int) -> float:
    """Return the memory that a process takes now, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _cpu(pid: int) -> float:
    """Return the processor time that a process has taken, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


if __name__ == "__main__":
    main()
