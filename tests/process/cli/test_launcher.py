"""These tests run the command `causeline` in real processes: it starts everything, refuses unsafe options, and leaves
nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from dashboard.environment import database
from tests import ROOT, services
from tests.patience import eventually, patient
from tests.process.services.test_services import watchers_of
from tests.processes import descendants, processes
from tests.running import empty_database, free_port
from tests.visitor import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_SERVERS = {"DATABASE_URL": "", "REDIS_URL": "", "CAUSELINE_SECRET_KEY": "", "CAUSELINE_LOGIN": ""}
PUBLIC = {"CAUSELINE_LOGIN": "on", "CAUSELINE_SECRET_KEY": "a secret" * 4, "CAUSELINE_HOSTS": "causeline.example"}


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        yield Path(folder) / "data"


@pytest.fixture
def used_data_dir(data_dir: Path) -> Path:
    """Return a data directory that an earlier start has prepared."""
    services.prepare(data_dir)
    return data_dir


@pytest.fixture
def new_database() -> Iterator[str]:
    with empty_database() as url:
        yield url


@contextlib.contextmanager
def causeline(*arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Yield the running command. When a test fails, the command is ended and its output is shown."""
    with subprocess.Popen(
        [sys.executable, "-m", "dashboard.cli", *arguments],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        except BaseException:
            process.terminate()
            print(*process.communicate(timeout=patient(60)), sep="\n")  # pytest shows this output
            raise
        process.terminate()


def finished(*arguments: str, **variables: str) -> tuple[int, str, str]:
    """Return exit status, output and errors of a command that ends by itself."""
    with causeline(*arguments, **variables) as process:
        output, errors = process.communicate(timeout=patient(60))
    return process.returncode, output, errors


def test_help_is_quick_because_it_needs_no_django() -> None:
    code = "import sys, dashboard.cli; sys.exit(bool({'django', 'celery', 'psycopg'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_up_serves_the_page_restarts_what_dies_and_ctrl_c_ends_all(data_dir: Path) -> None:
    add_user = ("createuser", "ada", "--data-dir", str(data_dir))
    status, _, errors = finished(*add_user, **OWN_SERVERS, CAUSELINE_PASSWORD="difference engine")
    assert status == 0, errors

    port = free_port()
    variables = OWN_SERVERS | {"CAUSELINE_LOGIN": "open"}  # only the flag --no-token lets in whoever comes
    with causeline("up", "--port", str(port), "--data-dir", str(data_dir), "--workers", "1", **variables) as up:
        assert up.stdout and up.stderr
        address = up.stdout.readline()
        assert address.startswith(f"http://127.0.0.1:{port}/?token="), up.stderr.read()
        assert page(port) == 200
        assert finished("token", "--data-dir", str(data_dir)) == (0, address, ""), "whoever lost it is told it again"
        token = (data_dir / "token").read_text()
        assert address == f"http://127.0.0.1:{port}/?token={token}\n"
        visitor = Visitor(address.strip())
        assert visitor.ask("GET", "/api/sources")[0] == 200
        for file in (data_dir / "logs").iterdir():
            assert token not in file.read_text(), file
        knows = {}
        for pid in descendants(up.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, KeyError):  # one that has just ended
                command = processes()[pid][1]
                knows[command] = f"CAUSELINE_TOKEN={token}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        assert {command for command, does in knows.items() if does} == {
            each for each in knows if "dashboard.web" in each
        }
        assert any(knows.values()) and not all(knows.values()), "workers run programs, so they do not know it"
        assert (data_dir / "secret_key").stat().st_mode & 0o777 == 0o600
        ask = "from django.contrib.auth.models import User; print(User.objects.get().username)"
        manage = ("manage", "--data-dir", str(data_dir), "shell", "--verbosity", "0", "--command", ask)
        assert finished(*manage, **OWN_SERVERS) == (0, "ada\n", ""), "the command joins the running servers"

        table = processes()
        web = next(pid for pid in descendants(up.pid) if "dashboard.web" in table[pid][1])
        os.kill(web, signal.SIGKILL)
        assert "web was ended by SIGKILL; starting it again" in "".join(iter_until(up, "again"))
        eventually(lambda: page(port) == 200)

        everything = descendants(up.pid)
        assert len(everything) > 5
        if os.geteuid() == 0:
            account = data_dir.stat().st_uid
            assert account not in (0, 65534)
            for pid in (up.pid, *everything):
                assert rights_of(pid) == [
                    f"Uid:{str(account) * 4}",
                    "Groups:",
                    "CapEff:0000000000000000",
                    "NoNewPrivs:1",
                ]
        os.killpg(up.pid, signal.SIGINT)  # as a terminal does
        assert up.wait(patient(20)) == 0  # stopping programs and then servers may take 14 s until the rest is killed
    eventually(lambda: not everything & processes().keys() and not watchers_of(up.pid), 1)
    status, output, errors = finished("token", "--data-dir", str(data_dir))
    assert (status, output) == (1, "") and "`causeline up` does not run with the data directory" in errors


def test_only_a_flag_lets_in_whoever_comes_and_nothing_outlives_a_killed_up(used_data_dir: Path) -> None:
    port = free_port()
    arguments = ("up", "--port", str(port), "--data-dir", str(used_data_dir), "--workers", "1", "--no-token")
    with causeline(*arguments, **OWN_SERVERS) as up:
        assert up.stdout and up.stderr
        assert up.stdout.readline() == f"http://127.0.0.1:{port}/\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/sources", timeout=5) as answer:
            assert answer.status == 200
        assert "whoever can open" in "".join(iter_until(up, "--no-token"))
        everything = descendants(up.pid)
        eventually(lambda: "ready" in (used_data_dir / "logs" / "worker.log").read_text())
        everything |= descendants(up.pid)
        up.kill()
    eventually(lambda: not everything & processes().keys() and not watchers_of(up.pid), 8)
    status, _, errors = finished("manage", "--data-dir", str(used_data_dir), "migrate", "--check", **OWN_SERVERS)
    assert status == 0, errors
    for host, more in (((), {"CAUSELINE_LOGIN": "on"}), (("--host", "0.0.0.0"), PUBLIC)):
        status, _, errors = finished(*arguments, *host, **OWN_SERVERS | more)
        assert status == 1 and "--no-token" in errors


def test_a_public_address_needs_login_a_secret_and_names(data_dir: Path) -> None:
    arguments = ("up", "--host", "0.0.0.0", "--data-dir", str(data_dir))
    status, _, errors = finished(*arguments, **(OWN_SERVERS | {"CAUSELINE_LOGIN": "off"}))
    assert status == 1
    for name in PUBLIC:
        assert f"{name} is" in errors
    assert not data_dir.exists()


def test_a_public_address_needs_a_user_and_given_servers_are_used(data_dir: Path, new_database: str) -> None:
    data_dir.mkdir()
    sockets = Path(str(database(new_database)["HOST"])).stat()
    os.chown(data_dir, sockets.st_uid, sockets.st_gid)  # if root: only the owner can reach the server
    arguments = ("up", "--host", "0.0.0.0", "--port", str(free_port()), "--data-dir", str(data_dir))
    status, _, errors = finished(*arguments, **PUBLIC, DATABASE_URL=new_database)
    assert status == 1
    assert "causeline createuser" in errors
    with psycopg.connect(new_database) as connection:
        assert connection.execute("SELECT count(*) FROM auth_user").fetchone() == (0,)
    assert [path.name for path in data_dir.iterdir()] == ["logs"], "no server of its own was started"


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL"])
def test_one_server_without_the_other_is_a_mistake(data_dir: Path, name: str) -> None:
    variables = OWN_SERVERS | {name: os.environ[name]}
    status, _, errors = finished("up", "--data-dir", str(data_dir), **variables)
    assert status == 1
    assert errors.startswith(f"causeline: Only {name} is set. Set both")


def test_a_port_that_was_asked_for_has_to_be_free(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status, _, errors = finished("up", "--port", port, "--data-dir", str(data_dir), **OWN_SERVERS)
    assert status == 1
    assert f"Cannot listen on 127.0.0.1 port {port}" in errors


def rights_of(pid: int) -> list[str]:
    """Return the capabilities of a process from the kernel."""
    text = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return [f"{name}:{''.join(text[name].split())}" for name in ("Uid", "Groups", "CapEff", "NoNewPrivs")]


def page(port: int) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return int(answer.status)
    except OSError:
        return 0


def iter_until(process: subprocess.Popen[str], word: str) -> Iterator[str]:
    """Yield the lines of the command's output up to the one with the word."""
    assert process.stderr
    for line in process.stderr:
        yield line
        if word in line:
            return
