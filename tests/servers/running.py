"""This module runs Causeline: web and worker in processes of their own, on a database of their own. A test can kill
each."""

import os
import secrets
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import redis

from dashboard.environment import database
from dashboard.services.launcher import PERIODIC
from dashboard.services.program import guarded
from tests import ROOT, services
from tests.patience import eventually, patient
from tests.servers.processes import kill, stop
from tests.services import VALKEY_DATABASES, WORKER

START_SECONDS = 60
TOKEN = "the-start-up-token-of-the-tests-0123456789"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}
_PORTS = 1_000  # for each worker of pytest-xdist, from 10 000 on: below the ports of Valkey and of outgoing connections
_last_port = secrets.randbelow(_PORTS)
_brokers = set(range(1, VALKEY_DATABASES))


class Running:
    """This class is a running Causeline and its address, which stays the same when a part is started again."""

    def __init__(self, folder: Path, database: str, broker: str, settings: dict[str, str]) -> None:
        self.port = port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.door = f"{self.address}/?token={TOKEN}"
        self.data = folder / "data"
        self.database, self.broker = database, broker
        self._folder = folder
        self.environment = {
            **os.environ,
            "DATABASE_URL": database,
            "REDIS_URL": broker,
            "CAUSELINE_DATA_DIR": str(self.data),
            "CAUSELINE_LOGIN": "token",
            "CAUSELINE_TOKEN": TOKEN,
            "CAUSELINE_CLUSTER_HOSTS": "*:*,http://*:*,http://127.0.0.1:*",  # API servers of tests are on this machine
            "CAUSELINE_PORT": str(port),
            **settings,
        }
        worker = ("celery", "-A", "dashboard.celery", "--quiet", "worker", "--loglevel", "info")
        self._commands = {
            "web": ["dashboard.web", "--port", str(port)],
            "worker": [*worker, "--pool", "solo"],  # both queues
            "imports": [*worker, "--pool", "solo", "--queues", "imports"],
            "periodic": [*worker, *PERIODIC, "--hostname", "periodic@%h"],
            "beat": ["celery", "-A", "dashboard.celery", "--quiet", "beat", "--pidfile", ""],
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, part: str) -> None:
        with self.log(part).open("ab") as log:
            self.processes[part] = subprocess.Popen(
                guarded([sys.executable, "-m", *self._commands[part]], ROOT, None),  # ends with the tests
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        if part == "web":
            self._await_page()

    def kill(self, part: str) -> None:
        """Kill a part at once, as `kill -9` does."""
        kill(self.processes.pop(part))

    def stop(self) -> None:
        stop(*self.processes.values())

    def manage(self, *command: str, **environment: str) -> None:
        """Run a management command of Django."""
        python = [sys.executable, "manage.py", *command]
        subprocess.run(python, cwd=ROOT, env={**self.environment, **environment}, check=True, capture_output=True)

    def beside(self, module: str) -> "subprocess.Popen[str]":
        """Run a Python module on the same servers and database, with pipes to its standard input and output."""
        command = [sys.executable, "-m", module]
        options = {"cwd": ROOT, "env": {**self.environment, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}}
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload,no-any-return]

    def log(self, part: str) -> Path:
        return self._folder / f"{part}.log"

    def _await_page(self) -> None:
        asked = urllib.request.Request(f"{self.address}/healthz", headers={"X-Forwarded-Proto": "https"})

        def answers() -> bool:
            assert self.processes["web"].poll() is None
            with suppress(OSError), urllib.request.urlopen(asked, timeout=patient(5)):
                return True
            return False

        try:
            eventually(answers, START_SECONDS)
        except AssertionError:
            pytest.fail(f"The server did not answer at {self.address}:\n{self.log('web').read_text()[-4000:]}")


@contextmanager
def running(folder: Path, *parts: str, **settings: str) -> Iterator[Running]:
    """Run web and worker, or the named parts, with these settings in their environment."""
    server, number = os.environ["DATABASE_URL"], _brokers.pop()
    name, broker = f"causeline_running_{os.getpid()}_{number}", _broker(number)
    _create_database(name, template=migrated())
    started = Running(folder, _database_named(server, name), broker, settings)
    try:
        with redis.Redis.from_url(broker) as client:
            client.flushdb()  # tasks of an earlier test that used this number
        for part in parts or ("web", "worker"):
            started.start(part)
        yield started
    finally:
        started.stop()
        _drop_database(name)
        _brokers.add(number)


@contextmanager
def migrated_database() -> Iterator[str]:
    """Yield the address of a database of its own that is migrated and has no rows, on the server that the tests use."""
    name = f"causeline_copy_{secrets.token_hex(8)}"
    _create_database(name, template=migrated())
    try:
        yield _database_named(os.environ["DATABASE_URL"], name)
    finally:
        _drop_database(name)


@contextmanager
def empty_database() -> Iterator[str]:
    """Yield the address of a database without tables, on the server that the tests use."""
    name = f"causeline_empty_{secrets.token_hex(8)}"
    _create_database(name)
    try:
        yield _database_named(os.environ["DATABASE_URL"], name)
    finally:
        _drop_database(name)


@cache
def migrated() -> str:
    """Return the name of a migrated database without rows, from which the others are copied."""
    name = f"causeline_migrated_{WORKER}"
    _drop_database(name)
    if services.started_here():
        _create_database(name, template=str(database(os.environ["DATABASE_URL"])["NAME"]))
    else:
        _create_database(name)
        services.migrate({"DATABASE_URL": _database_named(os.environ["DATABASE_URL"], name)})
    return name


def _create_database(name: str, template: str = "template1") -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


def _drop_database(name: str) -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _broker(number: int) -> str:
    """Return the address of a Valkey database for a running Causeline. The first one belongs to the tests
    themselves."""
    own = urlsplit(os.environ["REDIS_URL"])
    return urlunsplit(own._replace(path=f"/{int(own.path.strip('/') or 0) + number}"))


def _database_named(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def free_port() -> int:
    """Return a port that nobody listens on. No other test is given it, so it stays free until it is used."""
    global _last_port
    while True:
        _last_port = (_last_port + 1) % _PORTS
        port = 10_000 + _PORTS * int(WORKER.removeprefix("gw") or 9) + _last_port
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
