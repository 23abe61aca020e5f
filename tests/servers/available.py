"""This module runs a highly available Causeline with real processes, each of which can be killed, frozen and restarted:
two web processes behind HAProxy, three workers and beat, PgBouncer, two PostgreSQL servers and Valkey."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from django.db import DatabaseError, InterfaceError, connection

from dashboard.environment import database
from dashboard.services import binaries
from dashboard.services.accounts import give, server_account
from dashboard.services.program import guarded
from tests import ROOT
from tests.clients.visitor import Visitor
from tests.patience import eventually
from tests.servers.postgres_pair import HOST, Pair, pair
from tests.servers.processes import kill
from tests.servers.running import TOKEN, free_port

WORKERS = ("worker-a", "worker-b", "worker-c")
WEB = ("web-1", "web-2")


class Available:
    """This class holds the processes by name: those of WEB and WORKERS, beat, haproxy, pgbouncer and valkey."""

    def __init__(self, folder: Path, postgres: Pair, settings: dict[str, str]) -> None:
        self.folder, self.postgres = folder, postgres
        self.port, self._pgbouncer_port, self._pooled_port, self._valkey_port = (free_port() for _ in range(4))
        self.address = f"http://{HOST}:{self.port}"
        self.web_ports = {name: free_port() for name in WEB}
        self._valkey_password = secrets.token_urlsafe(16)
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
            "WEB_1": f"{HOST}:{self.web_ports['web-1']}",
            "WEB_2": f"{HOST}:{self.web_ports['web-2']}",
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
            **{
                name: (sys.executable, "-m", "dashboard.web", "--port", str(port))
                for name, port in self.web_ports.items()
            },
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

    def start(self, *names: str, code: Path = ROOT, **settings: str) -> None:
        """Start parts with the code of a checkout, and with more settings."""
        for name in names:
            place, account = code, None
            if name in {"pgbouncer", "valkey"}:
                place = self.folder / "pgbouncer"
                account = server_account(place)
            with self.log(name).open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    guarded(self._commands[name], place, account),
                    env=self._environment | _libraries(name) | settings,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def kill(self, name: str) -> None:
        kill(self.processes.pop(name))

    def send(self, name: str, number: signal.Signals) -> None:
        self.processes[name].send_signal(number)

    def manage(self, *command: str, code: Path = ROOT, **settings: str) -> None:
        """Run a management command with the code of a checkout."""
        python = [sys.executable, "manage.py", *command]
        subprocess.run(python, cwd=code, env=self._environment | settings, check=True, capture_output=True)

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
        kill(*self.processes.values())


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
    with proxied(folder, **settings) as started:
        started.manage("migrate", "--verbosity", "0", "--skip-checks")
        started.start(*WEB, *WORKERS, "beat")
        started.postgres.add_standby(synchronous=True)
        eventually(started.answers, 60)
        yield started


@contextmanager
def proxied(folder: Path, **settings: str) -> Iterator[Available]:
    """Run only the proxies, Valkey and one PostgreSQL with an empty database, which Django in this process uses."""
    described = dict(connection.settings_dict)
    with pair(folder) as postgres:
        started = Available(folder, postgres, settings)
        try:
            started.start("valkey", "pgbouncer", "haproxy")
            connection.close()
            connection.settings_dict |= database(started.direct_url)
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
