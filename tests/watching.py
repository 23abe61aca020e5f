"""Celery workers that watch clusters, in processes of their own, on the tests' own database and broker."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.db import connection

from tests.services import SERVERS
from tests.test_services import descendants, processes

ROOT = Path(__file__).resolve().parent.parent


class Workers:
    """Each under a name; to be stopped."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        database = urlunsplit(
            urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
        )
        folders = {"CAUSELINE_KUBECONFIG_DIRS": str(folder)}
        self._environment = {**os.environ, "DATABASE_URL": database, **folders, **settings}

    def start(self, name: str) -> None:
        celery = [
            "celery",
            "-A",
            "dashboard.celery",
            "worker",
            "--pool",
            "solo",
            "-n",
            f"{name}@%h",
            "--loglevel",
            "INFO",
        ]
        with self.log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", *celery], cwd=ROOT, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def send(self, name: str, number: signal.Signals) -> None:
        self._running[name].send_signal(number)

    def kill(self, name: str) -> None:
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def stop(self, name: str) -> float:
        """As an operator does; seconds that it took."""
        began = time.monotonic()
        process = self._running.pop(name)
        process.terminate()
        process.wait(30)
        return time.monotonic() - began

    def stop_all(self) -> None:
        for process in self._running.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def kill_server(name: str) -> None:
    """`kill -9` of all processes of PostgreSQL or Valkey that the tests have started; they come back by themselves."""
    assert SERVERS
    table = processes()
    for pid in descendants(SERVERS.pid):
        if name in table.get(pid, (0, ""))[1]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
