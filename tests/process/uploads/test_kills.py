"""These tests kill the worker or the PostgreSQL of an import: it is repeated, and ends with the same rows."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
import zstandard

from bench.larger import repeated
from dashboard.services.servers import addresses_of
from tests import services
from tests.patience import eventually, patient
from tests.process.cli.test_launcher import OWN_SERVERS, causeline
from tests.processes import descendants, processes
from tests.recordings import SAMPLE
from tests.running import free_port
from tests.visitor import Visitor

ROUNDS = 8  # repetitions of the sample, so that an import takes some seconds
SECONDS = 120  # machines may be busy
EVERY = 0.25  # seconds between two questions, each of which costs PostgreSQL a process
SILENCE = 5  # seconds without a sign of life after which a worker is taken to be gone; 20 is the default


class Up(NamedTuple):
    pid: int
    url: str


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    port = str(free_port())
    services.prepare(data_dir := tmp_path / "data")
    silence = {"CAUSELINE_IMPORT_SILENCE_SECONDS": str(min(20, round(patient(SILENCE))))}
    arguments = ("--port", port, "--data-dir", str(data_dir), "--workers", "1")
    with causeline("up", *arguments, **OWN_SERVERS | silence) as process:
        assert process.stdout and process.stderr
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), process.stderr.read()
        yield Up(process.pid, url)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(patient(60)) == 0


def row_of(data_dir: Path, upload: int) -> dict[str, Any]:
    addresses = addresses_of(data_dir)
    assert addresses
    with psycopg.connect(addresses.database_url, row_factory=psycopg.rows.dict_row) as connection:
        row = connection.execute("SELECT * FROM timeline_upload WHERE id = %s", [upload]).fetchone()
    assert row
    return row


def imported(data_dir: Path, visitor: Visitor, log: bytes, disturb: Callable[[], None] | None = None) -> dict[str, Any]:
    """Return the row of an upload that has ended. `disturb` is called once the upload is being read."""
    status, answer = visitor.ask("POST", "/api/uploads?name=audit.jsonl", log)
    assert status == 201, answer
    upload = answer["id"]

    def reads() -> bool:
        row = row_of(data_dir, upload)
        assert row["state"] in ("waiting", "importing"), row
        return bool(row["entries"] > 500)

    def ended() -> bool:
        try:
            return row_of(data_dir, upload)["state"] not in ("waiting", "importing")
        except psycopg.OperationalError:  # the server is restarting
            return False

    if disturb:
        eventually(reads, SECONDS)
        disturb()
    eventually(ended, SECONDS, EVERY)
    return row_of(data_dir, upload)


def test_a_killed_worker_and_a_killed_postgresql_change_nothing(up: Up, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    log = b"\n".join(repeated(SAMPLE, ROUNDS))
    visitor = Visitor(up.url)

    def kill(name: str) -> None:
        table = processes()
        for pid in descendants(up.pid):
            if name in table.get(pid, (0, ""))[1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    whole = imported(data_dir, visitor, log)
    assert (whole["state"], whole["attempt"]) == ("done", 1), whole
    uploads = {}
    for name in ("celery -A dashboard.celery --quiet worker", "/bin/postgres"):
        row = imported(data_dir, visitor, log, lambda name=name: kill(name))  # type: ignore[misc]
        assert (row["state"], row["attempt"], row["error"]) == ("done", 2, ""), (name, row)
        uploads[name] = row
    expected = exports_of(visitor, whole)
    for name, row in uploads.items():
        assert exports_of(visitor, row) == expected, name
    shown = {whole["source_id"], *(row["source_id"] for row in uploads.values())}
    eventually(lambda: sources_with_tables(data_dir) == shown, SECONDS, EVERY)  # killed imports' tables go after 15 s


def sources_with_tables(data_dir: Path) -> set[int]:
    addresses = addresses_of(data_dir)
    assert addresses
    with psycopg.connect(addresses.database_url) as connection:
        tables = connection.execute("SELECT relname FROM pg_class WHERE relname ~ %s AND relkind = 'r'", [TABLES])
        return {int(name.split("_")[2]) for (name,) in tables}


TABLES = "^timeline_(chunk|track)_[0-9]+"


def exports_of(visitor: Visitor, row: dict[str, Any]) -> list[str]:
    """Return digests of the exported findings, and of all exported entries in sorted order."""
    _, document = visitor.ask("GET", f"/api/sources/{row['source_id']}/document")
    _, recording = visitor.ask("GET", f"/api/sources/{row['source_id']}/recording")
    lines = zstandard.ZstdDecompressor().stream_reader(recording).read().splitlines()
    assert len(lines) > 5_000
    return [sha256(json.dumps(document).encode()).hexdigest(), sha256(b"".join(sorted(lines))).hexdigest()]
