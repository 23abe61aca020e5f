"""This test kills each process of a running `causeline up` while alerts arrive, recordings are imported and incidents
are sent on: what was answered is stored, an import ends with the same rows, and nothing is lost or sent with another
key."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import psycopg
import zstandard
from psycopg.rows import dict_row

from bench.larger import repeated
from dashboard.services.servers import addresses_of
from tests import ROOT, services
from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually, patient
from tests.process.cli.commands import OWN_SERVERS, causeline
from tests.servers.alertmanager import token_for_alerts
from tests.servers.answering import LOCALHOST, Receiver, receiving
from tests.servers.processes import descendants, processes
from tests.servers.running import free_port

SECONDS = 120  # machines may be busy
EVERY = 0.25  # seconds between two questions, each of which costs PostgreSQL a process
SILENCE = 5  # seconds without a sign of life after which a worker is taken to be gone; 20 is the default
IMPORTING, POSTGRES = "--queues imports", "/bin/postgres"
KILLED = (IMPORTING, "--queues periodic", "dashboard.web", POSTGRES, "valkey-server")
ROUNDS = 4  # repetitions of the sample, so that an import takes some seconds
JSON = {"Content_Type": "application/json"}
FIRST = "0" * 16
PREPARED = """
import django
django.setup()
from tests.rows import routed
routed.incident(routed.live_source(), %r, name=%r, open=True)
"""
ANOTHER = """
    WITH made AS (
        INSERT INTO timeline_incident SELECT (jsonb_populate_record(old, %s::jsonb)).* FROM timeline_incident AS old
        WHERE identity = %s RETURNING source_id, identity)
    INSERT INTO timeline_noticed_incident (source_id, identity, at) SELECT source_id, identity, now() FROM made"""


class Up:
    """This is a running `causeline up`, and what is known of its database."""

    def __init__(self, pid: int, url: str, data_dir: Path) -> None:
        self.url, self._pid = url, pid
        self.visitor = Visitor(url)
        addresses = addresses_of(data_dir)
        assert addresses
        self.database = addresses.database_url

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Return rows of the database; none while PostgreSQL is starting again."""
        with suppress(psycopg.OperationalError), psycopg.connect(self.database, row_factory=dict_row) as connection:
            found = connection.execute(query.encode(), values)
            return found.fetchall() if found.description else []
        return []

    def kill(self, program: str) -> None:
        """Kill all processes of a program at once, as `kill -9` does."""
        table = processes()
        found = [pid for pid in descendants(self._pid) if program in table.get(pid, (0, ""))[1]]
        assert found, program
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def running_up(data_dir: Path) -> Iterator[Up]:
    services.prepare(data_dir)
    silence = str(min(20, round(patient(SILENCE))))
    settings = {"CAUSELINE_IMPORT_SILENCE_SECONDS": silence, "CAUSELINE_DESTINATION_HOSTS": LOCALHOST}
    arguments = ("--port", str(free_port()), "--data-dir", str(data_dir), "--workers", "1", "--no-token")
    with causeline("up", *arguments, **OWN_SERVERS | settings) as process:
        assert process.stdout and process.stderr
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), process.stderr.read()
        yield Up(process.pid, url, data_dir)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(patient(60)) == 0


class Alerts(threading.Thread):
    """This thread sends alerts one after another, each until it is answered with 200, as Alertmanager tries again."""

    def __init__(self, up: Up) -> None:
        super().__init__(daemon=True)
        self._address = f"{up.url.rstrip('/')}/api/receivers/alertmanager"
        self._headers = {"Authorization": f"Bearer {token_for_alerts(up.visitor)}"}
        self._over = threading.Event()
        self.failed = threading.Event()
        self.answered: list[str] = []

    def run(self) -> None:
        number = 0
        with httpx.Client(headers=self._headers, timeout=patient(10)) as client:
            while not self._over.wait(0.05):
                labels = {"alertname": "PodDown", "pod": f"train-{number}"}
                alert = {"status": "firing", "labels": labels, "startsAt": "2026-11-18T07:00:00Z"}
                with suppress(httpx.TransportError):
                    if client.post(self._address, json={"version": "4", "alerts": [alert]}).status_code == 200:
                        self.answered.append(labels["pod"])
                        number += 1
                        continue
                self.failed.set()

    def go_on(self) -> None:
        """Wait until further alerts are answered."""
        before = len(self.answered)
        eventually(lambda: len(self.answered) > before + 5, SECONDS)

    def end(self) -> None:
        self._over.set()
        self.join()


def test_whatever_is_killed_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    with receiving() as receiver, running_up(tmp_path / "data") as up:
        route_to(receiver, up)
        imported = [begin_import(up)]
        eventually(lambda: sent(up) == 1 and row_of(up, imported[0])["state"] == "done", SECONDS, EVERY)
        alerts = Alerts(up)
        alerts.start()
        for number, program in enumerate(KILLED, 1):
            alerts.go_on()
            receiver.answers = ["hang"]  # the first attempt is on its way when the process dies
            identity = str(number) * 16
            up.rows(ANOTHER, json.dumps({"identity": identity, "name": identity}), FIRST)
            eventually(lambda identity=identity: identity in reported(receiver), SECONDS)  # type: ignore[misc]
            alerts.failed.clear()
            if program in (IMPORTING, POSTGRES):
                imported.append(begin_import(up))
                eventually(lambda: row_of(up, imported[-1])["entries"] > 300, SECONDS)
            up.kill(program)
            receiver.release.set()
            receiver.release.clear()
            if program in ("dashboard.web", POSTGRES):
                eventually(alerts.failed.is_set, SECONDS)
            eventually(lambda number=number: sent(up) == number + 1, SECONDS, EVERY)  # type: ignore[misc]
            eventually(lambda: row_of(up, imported[-1])["state"] not in ("", "waiting", "importing"), SECONDS, EVERY)
        alerts.go_on()
        alerts.end()

        stored = up.rows("SELECT labels ->> 'pod' AS pod, count(*) AS times FROM timeline_alert GROUP BY 1")
        assert set(alerts.answered) <= {row["pod"] for row in stored}
        assert {row["times"] for row in stored} == {1}
        keys = reported(receiver)
        assert sorted(keys) == [str(number) * 16 for number in range(len(KILLED) + 1)]
        assert {len(set(each)) for each in keys.values()} == {1}, keys
        assert len(keys["2" * 16]) == 2  # the process that died had sent it
        uploads = [row_of(up, each) for each in imported]
        assert [(row["state"], row["attempt"], row["error"]) for row in uploads] == [
            ("done", 1, ""), ("done", 2, ""), ("done", 2, ""),
        ]  # fmt: skip
        whole, *others = (exports_of(up.visitor, row) for row in uploads)
        assert others == [whole, whole]
        shown = {row["source_id"] for row in uploads}
        eventually(lambda: sources_with_tables(up) == shown, SECONDS, EVERY)


def route_to(receiver: Receiver, up: Up) -> None:
    """Let all incidents be sent to the receiver, and store a connected cluster with the first one."""
    values = {"url": f"{receiver.url}/hook", "secret": "s" * 32}
    made = {"name": "hook", "kind": "webhook", "values": values}
    status, to = up.visitor.ask("POST", "/api/destinations", json.dumps(made).encode(), **JSON)
    assert status == 201, to
    route = {"name": "all", "destinations": [to["id"]], "grouping": ["owner"], "wait_seconds": 0}
    assert up.visitor.ask("POST", "/api/routes", json.dumps(route).encode(), **JSON)[0] == 201
    environment = os.environ | {"DATABASE_URL": up.database, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    command = [sys.executable, "-c", PREPARED % (FIRST, FIRST)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=patient(60))


def reported(receiver: Receiver) -> dict[str, list[str]]:
    """Return the keys of all requests about each incident."""
    found = defaultdict(list)
    for request in list(receiver.requests):
        for incident in json.loads(request.body)["data"]["incidents"]:
            found[incident["incident_id"]].append(request.headers["webhook-id"])
    return dict(found)


def sent(up: Up) -> int:
    return sum(row["count"] for row in up.rows("SELECT count(*) FROM dashboard_delivery WHERE state = 'sent'"))


def begin_import(up: Up) -> int:
    log = b"\n".join(repeated(SAMPLE, ROUNDS))
    status, answer = up.visitor.ask("POST", "/api/uploads?name=audit.jsonl", log)
    assert status == 201, answer
    return int(answer["id"])


def row_of(up: Up, upload: int) -> dict[str, Any]:
    """Return the row of an upload, or one of no state while PostgreSQL is starting again."""
    return next(iter(up.rows("SELECT * FROM timeline_upload WHERE id = %s", upload)), {"state": "", "entries": 0})


def sources_with_tables(up: Up) -> set[int]:
    """Return the sources that have tables of their own. Those of killed imports go after 15 s."""
    tables = up.rows("SELECT relname FROM pg_class WHERE relname ~ '^timeline_(chunk|track)_[0-9]+' AND relkind = 'r'")
    return {int(row["relname"].split("_")[2]) for row in tables}


def exports_of(visitor: Visitor, row: dict[str, Any]) -> list[str]:
    """Return digests of the exported findings, and of all exported entries in sorted order."""
    _, document = visitor.ask("GET", f"/api/sources/{row['source_id']}/document")
    _, recording = visitor.ask("GET", f"/api/sources/{row['source_id']}/recording")
    lines = zstandard.ZstdDecompressor().stream_reader(recording).read().splitlines()
    assert len(lines) > 2_500
    return [sha256(json.dumps(document).encode()).hexdigest(), sha256(b"".join(sorted(lines))).hexdigest()]
