"""These tests run `causeline import` and `causeline export` in real processes, with servers that run or with their
own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson
import psycopg
import pytest

from dashboard.services.servers import addresses_of
from tests import DATA, ENGINE, ROOT, services
from tests.clients.command import causeline
from tests.patience import eventually, patient
from tests.process.cli.commands import OWN_SERVERS

LOG, WATCH = str(ENGINE / "jobs.jsonl.zst"), str(ENGINE / "jobs-watch")


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """Yield a data directory whose servers run, after a command has imported a recording with servers of its own."""
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        services.prepare(data_dir := Path(folder) / "data")
        done = run(data_dir, "import", LOG, "--name", "both")
        assert (done.returncode, done.stdout) == (0, b"timeline: /sources/1/\n"), done.stderr
        process, _ = services.start("--data-dir", str(data_dir))
        yield data_dir
        services.stop(process)
        unknown = run(data_dir, "export", "nothing")
        assert (unknown.returncode, unknown.stdout) == (2, b"")
        assert unknown.stderr.startswith(b"causeline: There is no recording nothing. There are: ")


def run(data_dir: Path, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "dashboard.cli", *arguments, "--data-dir", str(data_dir)]
    environment = os.environ | OWN_SERVERS
    return subprocess.run(command, cwd=ROOT, env=environment, input=stdin, capture_output=True, timeout=patient(120))


def names(data_dir: Path) -> list[str]:
    """Return the names of all recordings in the database, including those whose import is not finished."""
    addresses = addresses_of(data_dir)
    assert addresses
    with psycopg.connect(addresses.database_url) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM timeline_source")]


def test_what_was_imported_is_exported_as_analyze_tells_it(data_dir: Path, tmp_path: Path) -> None:
    done = run(data_dir, "import", WATCH, "--name", "both")
    assert (done.returncode, done.stdout) == (0, b"timeline: /sources/1/\n"), done.stderr
    assert b"changes that were new" in done.stderr
    file, folder = tmp_path / "document.json", tmp_path / "tables"
    _, analyzed, _ = causeline("analyze", LOG, WATCH, "--output", "json")
    assert run(data_dir, "export", "1", "-o", str(file)).returncode == 0
    assert file.read_text() == analyzed
    assert run(data_dir, "export", "both", "--format", "parquet", "-o", str(folder)).returncode == 0
    _, found, _ = causeline("sql", folder, "select finding from findings order by 1", "--output", "csv")
    assert found.split()[1:] == sorted(each["id"] for each in orjson.loads(analyzed)["findings"])
    lines = run(data_dir, "export", "both", "--format", "recording").stdout
    done = run(data_dir, "import", "-", "--name", "again", stdin=lines)
    assert (done.returncode, done.stdout) == (0, b"timeline: /sources/2/\n"), done.stderr
    again = run(data_dir, "export", "again").stdout
    assert orjson.loads(again)["findings"] == orjson.loads(analyzed)["findings"]


def test_what_cannot_be_used_is_listed_with_the_reason(data_dir: Path, tmp_path: Path) -> None:
    picture, broken = tmp_path / "picture.png", tmp_path / "broken.jsonl"
    picture.write_bytes(b"\x89PNG")
    broken.write_bytes(b"broken\n" + (DATA / "restart.jsonl").read_bytes())
    refused = run(data_dir, "import", str(picture))
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"PNG picture" in refused.stderr
    done = run(data_dir, "import", str(picture), str(broken))
    assert done.returncode == 0, done.stderr
    errors = " ".join(done.stderr.decode().split())
    assert "PNG picture" in errors and "broken.jsonl line 1: not JSON" in errors
    assert run(data_dir, "export", "1", "-o", str(tmp_path)).returncode == 2


def test_an_import_that_is_stopped_leaves_nothing(data_dir: Path) -> None:
    command = [sys.executable, "-m", "dashboard.cli", "import", "-", "--data-dir", str(data_dir), "--name", "s"]
    reading, writing = os.pipe()
    environment = os.environ | OWN_SERVERS
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=reading, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        os.close(reading)
        os.write(writing, (DATA / "restart.jsonl").read_bytes())
        eventually(lambda: "s" in names(data_dir), 60)
        assert process.poll() is None, "it waits for more"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(patient(30)) == 130
        assert process.stderr and b"stopped; nothing was imported" in process.stderr.read()
    os.close(writing)
    assert "s" not in names(data_dir)
