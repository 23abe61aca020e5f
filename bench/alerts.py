"""Measure how many alerts a web process receives and stores in a minute.

    python -m bench.alerts [--alerts 10000] [--single 10000] [--batch 100] [--senders 4]

The bench starts a Causeline of its own. It sends alerts as Alertmanager groups them, so many in a batch, and then
others one by one; it counts the rows, and compares the time with that of a bare INSERT of the same rows in the same
batches, each in a transaction of its own, in one session.
"""

import argparse
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import orjson
import psycopg

from bench.pushing import PORT, beside, spent
from dashboard.cli.terminal import say
from dashboard.services import Supervisor
from dashboard.services.launcher import served

ADDRESS = f"http://127.0.0.1:{PORT}"
_TABLE = "CREATE TABLE bare (identity text PRIMARY KEY, labels jsonb, annotations jsonb, started timestamptz)"
_BARE = """
    INSERT INTO bare SELECT * FROM jsonb_to_recordset(%s::jsonb)
    AS sent (identity text, labels jsonb, annotations jsonb, started timestamptz)"""


def alert(name: str, number: int) -> dict[str, Any]:
    """Return an alert of the usual length, about 700 bytes, as Alertmanager writes it."""
    pod = f"train-{number}"
    labels = {"namespace": "team-a", "pod": pod, "container": "train", "severity": "warning", "cluster": "prod"}
    return {
        "status": "firing",
        "labels": {"alertname": name, "job": "kube-state-metrics", "prometheus": "monitoring/k8s", **labels},
        "annotations": {
            "summary": "Pod has been in a non-ready state for more than 15 minutes.",
            "description": f"Pod team-a/{pod} has been in a non-ready state for longer than 15 minutes on prod.",
            "runbook_url": "https://runbooks.example/runbooks/kubernetes/kubepodnotready",
        },
        "startsAt": (datetime.now(UTC) - timedelta(minutes=1)).isoformat(),
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example:9090/graph?g0.expr=sum+by+%28namespace%2C+pod%29&g0.tab=1",
        "fingerprint": secrets.token_hex(8),
    }


def batches(alerts: Sequence[dict[str, Any]], size: int) -> Iterator[Sequence[dict[str, Any]]]:
    return (alerts[at : at + size] for at in range(0, len(alerts), size))


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def send(token: str, alerts: Sequence[dict[str, Any]], size: int, senders: int) -> None:
    """Send all alerts in batches, over as many connections as there are senders. Raises if one is not answered 200."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with httpx.Client(headers=headers, timeout=60) as client, ThreadPoolExecutor(senders) as threads:

        def post(batch: Sequence[dict[str, Any]]) -> None:
            body = orjson.dumps({"version": "4", "alerts": batch})
            client.post(f"{ADDRESS}/api/receivers/alertmanager", content=body).raise_for_status()

        list(threads.map(post, batches(alerts, size)))


def insert(connection: "psycopg.Connection[Any]", alerts: Sequence[dict[str, Any]], size: int) -> None:
    """Insert the same rows into a table with a primary key and nothing else."""
    for batch in batches(alerts, size):
        rows = [
            {
                "identity": each["fingerprint"],
                "labels": each["labels"],
                "annotations": each["annotations"],
                "started": each["startsAt"],
            }
            for each in batch
        ]
        with connection.transaction():
            connection.execute(_BARE, [orjson.dumps(rows).decode()])


def measure(options: argparse.Namespace) -> None:
    manage = [sys.executable, "-m", "dashboard.cli", "manage"]
    subprocess.run([*manage, "migrate", "-v0"], check=True)
    made = subprocess.run(
        [sys.executable, "-m", "dashboard.cli", "tokens", "create", "bench", "--scope", "alerts"],
        check=True,
        capture_output=True,
        text=True,
    )
    token = next(word for word in made.stdout.split() if word.startswith("causeline_"))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        beside("dashboard.web", "--port", str(PORT), **quiet) as web,
        psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection,
    ):
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{ADDRESS}/healthz").is_success:
                    break
            time.sleep(0.2)
        connection.execute(_TABLE)
        for name, size, count in (("grouped", options.batch, options.alerts), ("single", 1, options.single)):
            alerts = [alert(name, number) for number in range(count)]
            before = spent(web)
            took = timed(lambda alerts=alerts, size=size: send(token, alerts, size, options.senders))  # type: ignore[misc]
            cost = spent(web) - before
            row = connection.execute("SELECT count(*) FROM timeline_alert WHERE name = %s", [name]).fetchone()
            assert row == (count,), f"{row} of {count} alerts are stored"
            bare = timed(lambda alerts=alerts, size=size: insert(connection, alerts, size))  # type: ignore[misc]
            rate = count / took * 60
            print(
                f"{count:,} alerts, {size} in a batch: {took:.1f} s, {rate:,.0f} a minute, all stored; "
                f"{cost:.1f} s of the web process; a bare insert takes {bare:.2f} s, so the ratio is {took / bare:.1f}"
            )
            again = timed(lambda alerts=alerts, size=size: send(token, alerts, size, options.senders))  # type: ignore[misc]
            row = connection.execute("SELECT count(*) FROM timeline_alert WHERE name = %s", [name]).fetchone()
            assert row == (count,), f"{row}: an alert that was sent again became another one"
            print(f"  the same again: {again:.1f} s, and no row more")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alerts", type=int, default=10_000)
    parser.add_argument("--single", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--senders", type=int, default=4)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder,
        Supervisor(say) as supervisor,
        served(Path(folder, "data").absolute(), supervisor, join=True) as variables,
    ):
        os.environ.update(variables, CAUSELINE_LOGIN="on", DJANGO_SETTINGS_MODULE="dashboard.settings")
        measure(options)


if __name__ == "__main__":
    main()
