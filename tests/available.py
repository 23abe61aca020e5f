"""This module runs a highly available Causeline with real processes, each of which can be killed, frozen and restarted:
two web processes behind HAProxy, three workers and beat, PgBouncer, two PostgreSQL servers and Valkey."""

import asyncio
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from django.db import DatabaseError, InterfaceError, connection
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from dashboard.environment import database
from dashboard.services import binaries
from dashboard.services.accounts import give, server_account
from dashboard.services.program import guarded
from tests.browser.conftest import context_of, launched
from tests.patience import eventually, patient
from tests.postgres_pair import HOST, Pair, pair
from tests.running import ROOT, TOKEN, free_port
from tests.visitor import Visitor

WORKERS = ("worker-a", "worker-b", "worker-c")
WEB = ("web-1", "web-2")
FIRST_PAUSE, LONGEST_PAUSE, SILENCE = 0.25, 5.0, 10.0  # seconds, as in js/live/socket.js


class Available:
    """This class holds the processes by name: those of WEB and WORKERS, beat, haproxy, pgbouncer and valkey."""

    def __init__(self, folder: Path, postgres: Pair, settings: dict[str, str]) -> None:
        self.folder, self.postgres = folder, postgres
        self.port, self._pgbouncer_port, self._pooled_port, self._valkey_port = (free_port() for _ in range(4))
        self.address = f"http://{HOST}:{self.port}"
        self._valkey_password = secrets.token_urlsafe(16)
        web_ports = {name: free_port() for name in WEB}
        first, second = postgres.servers
        self.direct_url = postgres.url()
        self._environment = {
            **os.environ,
            "DATABASE_URL": postgres.url(self._pgbouncer_port),
            "CAUSELINE_DATABASE_DIRECT_URL": self.direct_url,
            "REDIS_URL": f"redis://:{self._valkey_password}@{HOST}:{self._valkey_port}/0",
            "CAUSELINE_DATA_DIR": str(folder / "data"),
            "CAUSELINE_KUBECONFIG_DIRS": str(folder),
            "CAUSELINE_LOGIN": "token",
            "CAUSELINE_TOKEN": TOKEN,
            "CAUSELINE_PORT": str(self.port),
            "CAUSELINE_LEASE_SECONDS": "3",
            "CAUSELINE_IMPORT_SILENCE_SECONDS": "5",
            "WEB_BIND": f"{HOST}:{self.port}",
            "WEB_1": f"{HOST}:{web_ports['web-1']}",
            "WEB_2": f"{HOST}:{web_ports['web-2']}",
            "POSTGRES_BIND": f"{HOST}:{self._pooled_port}",
            "POSTGRES_1": f"{HOST}:{first.port}",
            "POSTGRES_2": f"{HOST}:{second.port}",
            "AGENT_1": str(first.agent_port),
            "AGENT_2": str(second.agent_port),
            **settings,
        }
        celery = (sys.executable, "-m", "celery", "-A", "dashboard.celery", "--quiet")
        worker = (*celery, "worker", "--pool", "solo", "--loglevel", "INFO", "--hostname")
        self._commands = {
            "haproxy": (_program("haproxy"), "-f", str(ROOT / "deploy/haproxy.cfg")),
            "pgbouncer": (_program("pgbouncer"), "ours.ini"),
            "valkey": self._valkey(),
            "beat": (*celery, "beat", "--pidfile", ""),
            **{name: (*worker, f"{name}@%h") for name in WORKERS},
            **{name: (sys.executable, "-m", "dashboard.web", "--port", str(port)) for name, port in web_ports.items()},
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._configure_pgbouncer()

    def _valkey(self) -> tuple[str, ...]:
        options = {"bind": HOST, "port": str(self._valkey_port), "requirepass": self._valkey_password, "save": ""}
        program = binaries.find(server_account(self.folder)).valkey
        return (str(program), *(word for name, value in options.items() for word in (f"--{name}", value)))

    def _configure_pgbouncer(self) -> None:
        """Include the file of `deploy/`, as its first lines say."""
        folder = self.folder / "pgbouncer"
        folder.mkdir()
        shutil.copy(ROOT / "deploy/pgbouncer.ini", folder / "causeline.ini")
        (folder / "userlist.txt").write_text(f'"causeline" "{self.postgres.password}"\n')
        (folder / "ours.ini").write_text(
            f"[databases]\ncauseline = host={HOST} port={self._pooled_port} dbname=causeline\n"
            f"[pgbouncer]\nlisten_addr = {HOST}\nlisten_port = {self._pgbouncer_port}\nauth_file = userlist.txt\n"
            "unix_socket_dir =\nadmin_users = causeline\n%include causeline.ini\n"
        )
        give(folder, server_account(folder))

    def start(self, *names: str) -> None:
        for name in names:
            place, account = ROOT, None
            if name in {"pgbouncer", "valkey"}:
                place = self.folder / "pgbouncer"
                account = server_account(place)
            with self.log(name).open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    guarded(self._commands[name], place, account),
                    env=self._environment | _libraries(name),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def send(self, name: str, number: signal.Signals) -> None:
        self.processes[name].send_signal(number)

    def manage(self, *command: str) -> None:
        python = [sys.executable, "manage.py", *command]
        subprocess.run(python, cwd=ROOT, env=self._environment, check=True, capture_output=True)

    def pooling(self) -> dict[str, str]:
        """Return how PgBouncer is configured."""
        address = self.postgres.url(self._pgbouncer_port).removesuffix("causeline") + "pgbouncer"
        with psycopg.connect(address, autocommit=True) as console:
            return {name: value for name, value, *_ in console.execute("SHOW CONFIG").fetchall()}

    def answers(self) -> bool:
        """Return whether pages are served, with the database, through all proxies."""
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} has ended:\n{self.log(name).read_text()[-2000:]}"
        with suppress(OSError):
            return Visitor(self.address).ask("GET", "/healthz")[0] == 200
        return False

    def stop(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
        for process in self.processes.values():
            process.wait()


def _program(name: str) -> str:
    for folder in (None, "/usr/sbin", str(ROOT / ".venv/proxies/usr/sbin")):
        if found := shutil.which(name, path=folder):
            return found
    raise FileNotFoundError(f"{name} is not installed; deploy/install-proxies.sh installs it for the tests.")


def _libraries(name: str) -> dict[str, str]:
    """Return where a program of Debian that was only unpacked finds its libraries."""
    if name not in {"haproxy", "pgbouncer"} or not _program(name).startswith(str(ROOT)):
        return {}
    folders = {str(file.parent) for file in (ROOT / ".venv/proxies").rglob("*.so*")}
    return {"LD_LIBRARY_PATH": ":".join(sorted(folders))}


@contextmanager
def available(folder: Path, **settings: str) -> Iterator[Available]:
    """Run all parts, with synchronous replication, and let Django in this process use their database."""
    described = dict(connection.settings_dict)
    with pair(folder) as postgres:
        started = Available(folder, postgres, settings)
        try:
            started.start("valkey", "pgbouncer", "haproxy")
            started.manage("migrate", "--verbosity", "0", "--skip-checks")
            started.start(*WEB, *WORKERS, "beat")
            postgres.add_standby(synchronous=True)
            connection.close()
            connection.settings_dict |= database(started.direct_url)
            eventually(started.answers, 60)
            yield started
        finally:
            connection.close()
            connection.settings_dict |= described
            started.stop()


def happened(happens: Callable[[], object]) -> bool:
    """Return whether something happened, as far as the database can be asked."""
    try:
        return bool(happens())
    except (DatabaseError, InterfaceError):
        connection.close()
        return False


class Told(NamedTuple):
    """This is a message about commits that a socket received."""

    at: float  # by the clock of `time.monotonic`
    sequence: int
    committed: float | None  # seconds since 1970, by the database's clock


class Listener:
    """This class is one socket that follows a source, and connects again as `js/live/socket.js` does."""

    def __init__(self, address: str, source: int, cookies: dict[str, str]) -> None:
        self.told: list[Told] = []
        self.connections = 0
        self.failures: list[str] = []
        self._host = address.removeprefix("http://")
        self._source, self._cursor = source, 0
        self._headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}

    async def listen(self) -> None:
        pause = FIRST_PAUSE
        while True:
            cursor = self._cursor or ""
            address = f"ws://{self._host}/ws/sources/{self._source}/?cursor={cursor}"
            own: dict[str, Any] = {"origin": f"http://{self._host}", "additional_headers": self._headers}
            try:
                async with connect(address, compression=None, max_size=None, open_timeout=SILENCE, **own) as socket:
                    self.connections += 1
                    while True:
                        message = json.loads(await asyncio.wait_for(socket.recv(), SILENCE))
                        pause = FIRST_PAUSE
                        self._take(message)
            except (OSError, WebSocketException, TimeoutError) as error:
                self.failures.append(repr(error))
            await asyncio.sleep(pause * random.uniform(0.7, 1.3))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] in {"delta", "refetch"}:
            at = message.get("at")
            self.told.append(Told(time.monotonic(), message["sequence"], at and at / 1e6))
            self._cursor = max(self._cursor, message["sequence"])

    @property
    def sequences(self) -> list[int]:
        return [each.sequence for each in self.told]


class Onlooker(threading.Thread):
    """This thread looks at the timeline of a source with a real browser until it is stopped."""

    def __init__(self, address: str, source: int) -> None:
        super().__init__(name="browser", daemon=True)
        self._address, self._source = address, source
        self._stopped = threading.Event()
        self.shown = 0  # the last commit that the page has drawn

    def run(self) -> None:
        with launched() as browser:
            page = context_of(browser, self._address).new_page()
            page.goto(f"/sources/{self._source}/")
            while not self._stopped.is_set():
                self.shown = int(page.locator("#figure").get_attribute("data-edge") or 0)
                page.wait_for_timeout(200)  # ms

    def stop(self) -> None:
        self._stopped.set()
        self.join()


@contextmanager
def listening(address: str, source: int, count: int) -> Iterator[list[Listener]]:
    """Keep so many sockets open, in a thread of their own."""
    listeners = [Listener(address, source, Visitor(address).cookies) for _ in range(count)]
    stop = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def all_of_them() -> None:
        loops.append(asyncio.get_running_loop())
        tasks = [asyncio.create_task(each.listen()) for each in listeners]
        await stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    thread = threading.Thread(target=lambda: asyncio.run(all_of_them()), name="sockets", daemon=True)
    thread.start()
    try:
        yield listeners
    finally:
        eventually(lambda: loops)
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(patient(10))
