"""This module runs Celery workers that watch clusters, in processes of their own, on the tests' database and broker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.db import connection

from dashboard.environment import database
from dashboard.services.program import guarded
from tests import ROOT, services
from tests.patience import patient
from tests.servers.processes import descendants, kill, processes, stop


class Workers:
    """This class holds the running workers by name, and stops them."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        address = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}"))
        folders = {"CAUSELINE_KUBECONFIG_DIRS": str(folder)}
        self._environment = {**os.environ, "DATABASE_URL": address, **folders, **settings}

    def start(self, name: str) -> None:
        celery = f"celery -A dashboard.celery worker --pool solo -n {name}@%h --loglevel INFO".split()
        with self.log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                guarded([sys.executable, "-m", *celery], ROOT, None),
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def send(self, name: str, number: signal.Signals) -> None:
        self._running[name].send_signal(number)

    def kill(self, name: str) -> None:
        kill(self._running.pop(name))

    def stop(self, name: str) -> float:
        """Stop a worker as an operator does, and return the seconds that it took."""
        began = time.monotonic()
        process = self._running.pop(name)
        process.terminate()
        process.wait(patient(30))
        return time.monotonic() - began

    def stop_all(self) -> None:
        stop(*self._running.values())


class Servers:
    """This class runs a PostgreSQL and a Valkey for one test, which may kill them."""

    def __init__(self) -> None:
        self._process, self._served = services.start_prepared()

    def kill(self, name: str) -> None:
        """Kill all processes of one server, as `kill -9` does. The supervisor starts it again."""
        table = processes()
        for pid in descendants(self._process.pid):
            if name in table.get(pid, (0, ""))[1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Make this process and its children use these servers during the context, instead of those of the tests."""
        before, own = os.environ.copy(), database(self._served["database_url"])
        described = dict(connection.settings_dict)
        environment = {"DATABASE_URL": self._served["database_url"], "REDIS_URL": self._served["redis_url"]}
        connection.close()
        try:
            os.environ |= environment
            connection.settings_dict |= own
            yield
        finally:
            connection.close()
            connection.settings_dict |= described
            os.environ |= {name: before[name] for name in environment}

    def stop(self) -> None:
        services.stop(self._process)
