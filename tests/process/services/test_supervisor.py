"""These tests run the supervisor of the embedded servers with small programs instead of servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dashboard.services import Program, ServiceError, Supervisor
from dashboard.services.program import GUARD
from tests.patience import eventually, patient
from tests.process.services.servers import watchers_of
from tests.servers.processes import processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
