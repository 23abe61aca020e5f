"""These tests run `causeline up` and `causeline demo`: they start everything, refuse unsafe options, and leave nothing
behind."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dashboard.cli.__main__ import main
from dashboard.environment import database
from tests import ROOT, services
from tests.clients.visitor import Visitor
from tests.patience import eventually, patient
from tests.process.cli.commands import OWN_SERVERS, causeline, finished
from tests.process.services.servers import watchers_of
from tests.servers.processes import descendants, processes
from tests.servers.running import empty_database, free_port

PUBLIC = {"CAUSELINE_LOGIN": "on", "CAUSELINE_SECRET_KEY": "a secret" * 4, "CAUSELINE_HOSTS": "causeline.example"}


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        yield Path(folder) / "data"


def test_help_is_quick_because_it_needs_no_django() -> None:
    code = "import sys, dashboard.cli; sys.exit(bool({'django', 'celery', 'psycopg'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_the_demo_restarts_what_dies_begins_anew_each_time_and_leaves_nothing_behind(data_dir: Path) -> None:
    """It is `causeline up` with two recordings and a live cluster. Only a flag lets in whoever comes."""
    services.prepare(data_dir)
    port = free_port()
    arguments = ("demo", "--port", str(port), "--data-dir", str(data_dir), "--workers", "1")
    with causeline(*arguments, **OWN_SERVERS | {"CAUSELINE_LOGIN": "open"}) as demo:
        assert demo.stdout and demo.stderr
        address = demo.stdout.readline().strip()
        assert address.startswith(f"http://127.0.0.1:{port}/?token="), demo.stderr.read()
        shows_what_comes_and_then_recordings_and_a_live_cluster(address)
        said = "".join(iter_until(demo, "one-pod-too-many: 90 changes"))
        assert "shows volcano-restart: 775 changes" in said
        token = (data_dir / "token").read_text()
        known = (0, f"http://127.0.0.1:{port}/?token={token}\n", "")
        assert finished("token", "--data-dir", str(data_dir)) == known, "whoever lost it gets it again"
        for file in (data_dir / "logs").iterdir():
            assert token not in file.read_text(), file
        knows = {}
        for pid in descendants(demo.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, KeyError):  # one that has just ended
                command = processes()[pid][1]
                knows[command] = f"CAUSELINE_TOKEN={token}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        assert {command for command, does in knows.items() if does} == {
            each for each in knows if "dashboard.web" in each
        }
        assert any(knows.values()) and not all(knows.values()), "workers run programs, so they do not know it"
        assert (data_dir / "secret_key").stat().st_mode & 0o777 == 0o600
        add_user, password = ("createuser", "ada", "--data-dir", str(data_dir)), "difference engine"
        status, _, errors = finished(*add_user, **OWN_SERVERS, CAUSELINE_PASSWORD=password)
        assert status == 0, errors
        ask = "from django.contrib.auth.models import User; print(User.objects.get().username)"
        manage = ("manage", "--data-dir", str(data_dir), "shell", "--verbosity", "0", "--command", ask)
        assert finished(*manage, **OWN_SERVERS) == (0, "ada\n", ""), "commands join the running servers"

        table = processes()
        web = next(pid for pid in descendants(demo.pid) if "dashboard.web" in table[pid][1])
        os.kill(web, signal.SIGKILL)
        assert "web was ended by SIGKILL; starting it again" in "".join(iter_until(demo, "again in"))
        eventually(lambda: answers(port))

        everything = descendants(demo.pid)
        assert len(everything) > 5
        if os.geteuid() == 0:
            account = data_dir.stat().st_uid
            assert account not in (0, 65534)
            for pid in (demo.pid, *everything):
                assert rights_of(pid) == [f"Uid:{str(account) * 4}", "Groups:", f"CapEff:{0:016}", "NoNewPrivs:1"]
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does
        assert demo.wait(patient(20)) == 0  # stopping programs and then servers may take 14 s until the rest is killed
    eventually(lambda: not everything & processes().keys() and not watchers_of(demo.pid), 1)
    status, output, errors = finished("token", "--data-dir", str(data_dir))
    assert (status, output) == (1, "") and "`causeline up` does not run with the data directory" in errors

    with causeline(*arguments, "--no-token", **OWN_SERVERS) as again:
        assert again.stdout and again.stderr
        address = again.stdout.readline().strip()
        assert address == f"http://127.0.0.1:{port}/", again.stderr.read()
        assert "whoever can open" in "".join(iter_until(again, "--no-token"))
        shows_what_comes_and_then_recordings_and_a_live_cluster(address)
        everything = descendants(again.pid)
        again.kill()
    eventually(lambda: not everything & processes().keys() and not watchers_of(again.pid), 8)


def shows_what_comes_and_then_recordings_and_a_live_cluster(address: str) -> None:
    visitor = Visitor(address)

    def comes_or_is_there() -> bool:
        """Return whether each recording is among the uploads or the sources, as the home page lists them."""
        uploads = visitor.ask("GET", "/api/uploads")[1]["uploads"]
        sources = visitor.ask("GET", "/api/sources")[1]["sources"]
        return {"one-pod-too-many", "volcano-restart"} <= {each["name"] for each in [*uploads, *sources]}

    eventually(comes_or_is_there, 20)

    def moves() -> bool:
        clusters = visitor.ask("GET", "/api/clusters")[1]["clusters"]
        return [each["state"] == "live" and each["health"]["entries"] > 50 for each in clusters] == [True]

    eventually(moves, 60)
    eventually(lambda: not visitor.ask("GET", "/api/uploads")[1]["uploads"], 30)
    names = [source["name"] for source in visitor.ask("GET", "/api/sources")[1]["sources"]]
    assert sorted(names) == ["demo", "one-pod-too-many", "volcano-restart"]


@pytest.mark.parametrize(
    ("arguments", "variables", "says"),
    [
        (["--no-token"], {"CAUSELINE_LOGIN": "on"}, "--no-token"),
        (["--no-token", "--host", "0.0.0.0"], PUBLIC, "--no-token"),
        (["--host", "0.0.0.0"], {"CAUSELINE_LOGIN": "off"}, "CAUSELINE_LOGIN is"),
        (["--host", "0.0.0.0"], {"CAUSELINE_LOGIN": "off"}, "CAUSELINE_SECRET_KEY is"),
        (["--host", "0.0.0.0"], {"CAUSELINE_LOGIN": "off"}, "CAUSELINE_HOSTS is"),
        ([], {"DATABASE_URL": os.environ["DATABASE_URL"]}, "causeline: Only DATABASE_URL is set. Set both"),
        ([], {"REDIS_URL": os.environ["REDIS_URL"]}, "causeline: Only REDIS_URL is set. Set both"),
    ],
)
def test_what_is_not_safe_or_a_mistake_is_refused_before_anything_starts(
    arguments: list[str], variables: dict[str, str], says: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name, value in (OWN_SERVERS | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("dashboard.cli.servers.serve.leave_root", lambda *_: None)  # the tests go on as they are
    assert main(["up", "--data-dir", str(data_dir), *arguments]) == 1
    assert says in capfd.readouterr().err
    assert not list(data_dir.rglob("postgres"))


def test_a_public_address_needs_a_user_and_given_servers_are_used(data_dir: Path) -> None:
    with empty_database() as url:
        data_dir.mkdir()
        sockets = Path(str(database(url)["HOST"])).stat()
        os.chown(data_dir, sockets.st_uid, sockets.st_gid)  # if root: only the owner can reach the server
        arguments = ("up", "--host", "0.0.0.0", "--port", str(free_port()), "--data-dir", str(data_dir))
        status, _, errors = finished(*arguments, **PUBLIC, DATABASE_URL=url)
        assert status == 1
        assert "causeline createuser" in errors
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT count(*) FROM auth_user").fetchone() == (0,)
    assert [path.name for path in data_dir.iterdir()] == ["logs"], "no server of its own was started"


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


def answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        return Visitor(f"http://127.0.0.1:{port}").ask("GET", "/healthz")[0] == 200
    return False


def iter_until(process: "subprocess.Popen[str]", word: str) -> Iterator[str]:
    """Yield the lines of the command's output up to the one with the word."""
    assert process.stderr
    for line in process.stderr:
        yield line
        if word in line:
            return
