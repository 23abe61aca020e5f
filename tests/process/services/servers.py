"""This module runs the embedded servers in processes of their own, as different users."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis

from dashboard.services.program import GUARD
from tests import ROOT
from tests.patience import eventually, patient
from tests.servers.processes import descendants, processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
# The interpreter may be below /root, so the account nobody keeps the right to read everything in these tests.
AS_READING_NOBODY = (*AS_NOBODY, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def users() -> list[object]:
    """Return the user who runs the tests and, if that is root, an ordinary user too."""
    if os.geteuid() != 0:
        return [pytest.param((), id="ordinary user")]
    shell = [*AS_NOBODY, "/bin/sh", "-c", f"'{sys.executable}' -c ''"]  # setpriv's own exec keeps more rights
    works = subprocess.run(shell, capture_output=True, check=False).returncode == 0
    return [pytest.param((), id="root"), pytest.param(AS_NOBODY if works else AS_READING_NOBODY, id="ordinary user")]


def watchers_of(supervisor: int) -> list[str]:
    return [line for _, line in processes().values() if str(GUARD) in line and f" {supervisor} " in line]


@dataclass
class Served:
    """This class is a running `python -m dashboard.services`."""

    process: subprocess.Popen[str]
    database_url: str
    redis_url: str

    def pid_of(self, program: str) -> int:
        table = processes()
        return next(pid for pid in descendants(self.process.pid) if program in table[pid][1])

    def write(self, text: str) -> None:
        with psycopg.connect(self.database_url) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS note (line text)")
            connection.execute("INSERT INTO note VALUES (%s)", [text])
        with redis.Redis.from_url(self.redis_url) as client:
            client.rpush("note", text)

    def read(self) -> tuple[list[str], list[str]]:
        with psycopg.connect(self.database_url) as connection:
            lines = [row[0] for row in connection.execute("SELECT line FROM note ORDER BY line")]
        with redis.Redis.from_url(self.redis_url, decode_responses=True) as client:
            items: Any = client.lrange("note", 0, -1)
        return lines, items

    def reads(self, *lines: str) -> bool:
        try:
            return self.read() == (list(lines), list(lines))
        except (psycopg.OperationalError, redis.ConnectionError):
            return False


def launch(data_dir: Path, user: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*user, sys.executable, "-m", "dashboard.services", "--data-dir", str(data_dir)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextlib.contextmanager
def serve(data_dir: Path, user: tuple[str, ...] = ()) -> Iterator[Served]:
    """Run the servers during the context, then close their standard input and assert that nothing is left."""
    with launch(data_dir, user) as process:
        assert process.stdin and process.stdout and process.stderr
        line = process.stdout.readline()
        assert line, process.stderr.read()
        state = json.loads(line)
        everything = descendants(process.pid)
        yield Served(process, state["database_url"], state["redis_url"])
        process.stdin.close()
        assert process.wait(patient(15)) in (0, -signal.SIGKILL)
    eventually(lambda: not everything & processes().keys() and not watchers_of(process.pid), 8)
