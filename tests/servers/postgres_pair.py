"""This module runs two real PostgreSQL servers, of which one is the primary and the other one may be its stand-by.

Beside each server, an agent answers `GET /primary` with 200 or 503, as Patroni does; nothing is promoted by itself.
"""

import os
import secrets
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg

from dashboard.services import binaries
from dashboard.services.accounts import give, server_account
from dashboard.services.program import guarded
from tests.patience import eventually
from tests.servers.processes import descendants
from tests.servers.running import free_port

HOST = "127.0.0.1"
HERE = "/proc/self/cwd"  # the data folder of each server, which its account need not be able to reach from /
DATABASE = "causeline"
_HBA = """host all postgres 127.0.0.1/32 trust
host replication postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
"""
_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "fsync": "off",  # processes are killed here, not machines
    "shared_buffers": "32MB",
    "dynamic_shared_memory_type": "mmap",
    "jit": "off",
    "wal_keep_size": "256MB",
    "wal_retrieve_retry_interval": "200ms",
    "log_checkpoints": "off",
}


class Server:
    """This class is one of the two servers, with its agent."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.log = folder / name, folder / f"{name}.log"
        self.port = free_port()
        self.account = server_account(self.folder)
        self.programs = binaries.find(self.account).postgres.parent
        self.process: subprocess.Popen[bytes] | None = None
        server = self

        class Agent(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if server.is_primary() else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self.agent = ThreadingHTTPServer((HOST, 0), Agent)
        threading.Thread(target=self.agent.serve_forever, name=f"agent of {name}", daemon=True).start()

    @property
    def agent_port(self) -> int:
        return int(self.agent.server_address[1])

    def run(self, program: str, *options: str) -> None:
        """Run a program of PostgreSQL in the data folder until it ends."""
        command = guarded([str(self.programs / program), *options], self.folder, self.account)
        with self.log.open("ab") as log:
            subprocess.run(command, stdout=log, stderr=log, env={"LC_ALL": "C", "TZ": "UTC"}, check=True)

    def new_folder(self) -> None:
        self.folder.mkdir(mode=0o700)
        give(self.folder, self.account)

    def start(self) -> None:
        settings = {**_SETTINGS, "port": str(self.port)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(self.programs / "postgres"), "-D", HERE, *options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                guarded(command, self.folder, self.account, signal.SIGQUIT),
                stdout=log,
                stderr=log,
                env={"LC_ALL": "C", "TZ": "UTC"},
            )
        eventually(self.answers, 30)

    def kill(self) -> None:
        """Kill all processes of the server at once, as `kill -9` does."""
        assert self.process
        for pid in [*descendants(self.process.pid), self.process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        if self.process:
            for pid in descendants(self.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            self.kill()
        self.agent.shutdown()
        self.agent.server_close()

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute statements as superuser, and return the rows of the last one."""
        address = f"postgresql://postgres@{HOST}:{self.port}/postgres?connect_timeout=2"
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def answers(self) -> bool:
        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def is_primary(self) -> bool:
        try:
            return self.process is not None and self.ask("SELECT pg_is_in_recovery()") == [(False,)]
        except psycopg.OperationalError:
            return False


class Pair:
    """This class is both servers. `primary` is the one that was promoted last."""

    def __init__(self, folder: Path) -> None:
        self.servers = Server(folder, "postgres-1"), Server(folder, "postgres-2")
        self.primary, self.standby = self.servers
        self.password = secrets.token_urlsafe(16)
        self.primary.new_folder()
        self.primary.run("initdb", "-D", HERE, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        (self.primary.folder / "pg_hba.conf").write_text(_HBA)
        self.primary.start()
        self.primary.ask(
            f"CREATE ROLE causeline LOGIN PASSWORD '{self.password}'", f"CREATE DATABASE {DATABASE} OWNER causeline"
        )

    def url(self, *ports: int) -> str:
        """Return the address of the database by these ports, or by those of both servers."""
        hosts = ",".join(f"{HOST}:{port}" for port in ports or (each.port for each in self.servers))
        return f"postgresql://causeline:{self.password}@{hosts}/{DATABASE}"

    def add_standby(self, *, synchronous: bool) -> None:
        """Copy the primary to the other server, and let it follow."""
        standby = self.standby
        if standby.folder.exists():
            shutil.rmtree(standby.folder)
        standby.new_folder()
        origin = f"host={HOST} port={self.primary.port} user=postgres application_name=standby"
        standby.run("pg_basebackup", "-D", HERE, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", origin)
        standby.start()
        eventually(lambda: self.primary.ask("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"), 30)
        names = "*" if synchronous else ""
        self.primary.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'", "SELECT pg_reload_conf()")
        wanted = "sync" if synchronous else "async"
        eventually(lambda: self.primary.ask("SELECT sync_state FROM pg_stat_replication") == [(wanted,)], 10)

    def cut_replication(self) -> None:
        """Let the stand-by receive nothing more."""
        self.standby.ask("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
        eventually(lambda: not self.primary.ask("SELECT 1 FROM pg_stat_replication"), 10)

    def fail_over(self) -> None:
        """Kill the primary, and promote the other server."""
        self.primary.kill()
        self.standby.ask("SELECT pg_promote(wait => true)")
        self.primary, self.standby = self.standby, self.primary

    def stop(self) -> None:
        for server in self.servers:
            server.stop()


@contextmanager
def pair(folder: Path) -> Iterator[Pair]:
    """Run the two servers, the second of which is empty until `add_standby`."""
    started = Pair(folder)
    try:
        yield started
    finally:
        started.stop()
