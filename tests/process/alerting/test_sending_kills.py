"""This test kills each process of Causeline while incidents are sent on: nothing is lost, or sent with another key."""

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from dashboard.services.servers import addresses_of
from tests import ROOT, services
from tests.answering import LOCALHOST, Receiver, receiving
from tests.patience import eventually, patient
from tests.process.cli.test_launcher import OWN_SERVERS, causeline
from tests.processes import descendants, processes
from tests.running import free_port
from tests.visitor import Visitor

SECONDS = 90
EVERY = 0.25  # seconds between two questions, each of which costs PostgreSQL a process
JSON = {"Content_Type": "application/json"}
SENDING = "--queues periodic"
FIRST = "0" * 16
PREPARED = """
import django
django.setup()
from tests import routed
routed.incident(routed.live_source(), %r, name=%r, open=True)
"""
ANOTHER = """
    WITH made AS (
        INSERT INTO timeline_incident SELECT (jsonb_populate_record(old, %s::jsonb)).* FROM timeline_incident AS old
        WHERE identity = %s RETURNING source_id, identity)
    INSERT INTO timeline_noticed_incident (source_id, identity, at) SELECT source_id, identity, now() FROM made"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


def test_whatever_is_killed_each_incident_is_told_and_only_with_one_key(receiver: Receiver, tmp_path: Path) -> None:
    data_dir, port = tmp_path / "data", str(free_port())
    services.prepare(data_dir)
    settings = OWN_SERVERS | {"CAUSELINE_DESTINATION_HOSTS": LOCALHOST}
    arguments = ("--port", port, "--data-dir", str(data_dir), "--workers", "1", "--no-token")
    with causeline("up", *arguments, **settings) as up:
        assert up.stdout and up.stderr
        url = up.stdout.readline().strip()
        assert url.startswith("http://"), up.stderr.read()
        visitor = Visitor(url)
        values = {"url": f"{receiver.url}/hook", "secret": "s" * 32}
        made = {"name": "hook", "kind": "webhook", "values": values}
        status, to = visitor.ask("POST", "/api/destinations", json.dumps(made).encode(), **JSON)
        assert status == 201, to
        route = {"name": "all", "destinations": [to["id"]], "grouping": ["owner"], "wait_seconds": 0}
        assert visitor.ask("POST", "/api/routes", json.dumps(route).encode(), **JSON)[0] == 201
        prepare(data_dir)
        expected: list[str] = []
        for number, program in enumerate(("", SENDING, "dashboard.web", "/bin/postgres", "valkey-server")):
            identity = str(number) * 16
            expected.append(identity)
            if program:
                receiver.answers = ["hang"]  # the first attempt is on its way when the process dies
                happen(data_dir, identity)
                eventually(lambda identity=identity: identity in told(receiver), SECONDS)  # type: ignore[misc]
                kill(up.pid, program)
                receiver.release.set()
                receiver.release.clear()
            eventually(lambda: sent(data_dir) == len(expected), SECONDS, EVERY)
        keys = told(receiver)
        assert sorted(keys) == expected
        assert [len(set(each)) for each in keys.values()] == [1] * len(expected), keys
        assert len(keys["1" * 16]) == 2  # the process that died had sent it
        os.killpg(up.pid, signal.SIGINT)
        assert up.wait(patient(60)) == 0


def told(receiver: Receiver) -> dict[str, list[str]]:
    """Return the keys of all requests about each incident."""
    found = defaultdict(list)
    for request in list(receiver.requests):
        for incident in json.loads(request.body)["data"]["incidents"]:
            found[incident["incident_id"]].append(request.headers["webhook-id"])
    return dict(found)


def sent(data_dir: Path) -> int:
    addresses = addresses_of(data_dir)
    assert addresses
    with suppress(psycopg.OperationalError), psycopg.connect(addresses.database_url) as connection:
        row = connection.execute("SELECT count(*) FROM dashboard_delivery WHERE state = 'sent'").fetchone()
        return int(row[0]) if row else 0
    return 0  # PostgreSQL is starting again


def prepare(data_dir: Path) -> None:
    """Store a connected cluster with the first incident."""
    addresses = addresses_of(data_dir)
    assert addresses
    environment = os.environ | {"DATABASE_URL": addresses.database_url, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    command = [sys.executable, "-c", PREPARED % (FIRST, FIRST)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=patient(60))


def happen(data_dir: Path, identity: str) -> None:
    """Store another incident like the first, as a worker does: with the note that something has happened to it."""
    addresses = addresses_of(data_dir)
    assert addresses
    with psycopg.connect(addresses.database_url) as connection:
        connection.execute(ANOTHER, [json.dumps({"identity": identity, "name": identity}), FIRST])


def kill(supervisor: int, program: str) -> None:
    """Kill all processes of a program at once, as `kill -9` does."""
    table = processes()
    found = [pid for pid in descendants(supervisor) if program in table.get(pid, (0, ""))[1]]
    assert found, program
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
