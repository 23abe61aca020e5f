"""Starts programs, starts the died ones again, and stops all of them; all from the main thread, without threads.

Each program has its own session, so that Ctrl-C in a terminal reaches only the supervisor and the order of stopping
stays its own. PR_SET_PDEATHSIG is bound to the thread that forked, hence the main thread.

A program that must never run twice names a lock file. It inherits the locked descriptor, and so do all processes it
forks: the lock is free exactly when the last of them is gone. No pid file has to be believed, a zombie holds nothing,
and a reused pid cannot be taken for a server.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.services.errors import ServiceError, Stopped, tail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType, TracebackType

    from dashboard.services.accounts import Account

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GUARD = Path(__file__).with_name("guard.py")
POLL_SECONDS = 0.05
LOCK_SECONDS = 15
LONGEST_PAUSE_SECONDS = 30
SETTLED_SECONDS = 60
LOG_LIMIT_BYTES = 10 * 1024**2
LOG_CHECK_SECONDS = 10


@dataclass(frozen=True)
class Program:
    """What to run, and how it wants to be ended."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path  # becomes its working folder, even if the account could not walk there
    log: Path
    account: Account | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 4
    death_signal: signal.Signals = signal.SIGTERM  # when the supervisor dies
    lock: Path | None = None
    leftovers: Sequence[Path] = ()  # what a killed run leaves behind and the next one would believe
    standard_input: Path | None = None


@dataclass
class _Run:
    program: Program
    process: subprocess.Popen[bytes] | None = None
    pipe: int = -1
    deaths: int = 0
    started: float = 0
    retry: float = field(default=math.inf)


class Supervisor:
    """Use as a context: it catches the signals that ask it to end, and stops every program on the way out."""

    def __init__(self, say: Callable[[str], None], signals: Sequence[signal.Signals] = ENDING) -> None:
        self._say = say
        self._ending = signals
        self._groups: list[list[_Run]] = []
        self._signals: dict[int, object] = {}
        self._asked_to_stop = False
        self._next_log_check = 0.0

    def __enter__(self) -> Supervisor:
        for number in self._ending:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup stays nohup
                self._signals[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        for number, handler in self._signals.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._asked_to_stop = True

    def start(self, *programs: Program) -> None:
        """Start a group; groups are stopped in the reverse order, the programs of one group together."""
        runs = [_Run(program) for program in programs]
        self._groups.append(runs)
        for run in runs:
            self.wait(
                lambda run=run: self._spawn(run),  # type: ignore[misc]
                LOCK_SECONDS,
                f"A process of an earlier {run.program.name} is still running and holds {run.program.lock}. "
                f"End it (see `fuser {run.program.lock}`), then start again.",
            )

    def wait(self, done: Callable[[], bool], seconds: float, otherwise: str) -> None:
        """Look after the programs until `done`; the one place where a supervisor waits.

        Raises Stopped when a signal came, and ServiceError with the text `otherwise` after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while True:
            if self._asked_to_stop:
                raise Stopped
            self._look_after()
            if done():
                return
            if time.monotonic() > deadline:
                raise ServiceError(otherwise)
            time.sleep(POLL_SECONDS)

    def run(self) -> None:
        """Look after the programs until a signal comes."""
        with contextlib.suppress(Stopped):
            self.wait(lambda: False, math.inf, "")

    def refuse_deaths(self) -> None:
        """While starting, one death is a reason to give up, and the end of the log says why."""
        for run in self._runs():
            if run.deaths:
                log = run.program.log
                raise ServiceError(f"{run.program.name} ended while starting; its log is {log}:{tail(log)}")

    def stop(self) -> None:
        """Ask, wait as long as each program may take, then kill. Returns with nothing left running."""
        while self._groups:
            group = self._groups.pop()
            alive = [run for run in group if run.process]
            begin = time.monotonic()
            for run in alive:
                _signal_process(run, run.program.stop_signal)
            for run in alive:
                assert run.process
                left = begin + run.program.stop_seconds - time.monotonic()
                try:
                    run.process.wait(max(left, 0))
                except subprocess.TimeoutExpired:
                    self._say(f"{run.program.name} did not stop within {run.program.stop_seconds:g} s and is killed")
                    _signal_group(run.process.pid, signal.SIGKILL)
                    run.process.wait()
                self._bury(run)

    def _runs(self) -> list[_Run]:
        return [run for group in self._groups for run in group]

    def _look_after(self) -> None:
        now = time.monotonic()
        for run in self._runs():
            if run.process and run.process.poll() is not None:
                self._note_death(run, now)
            elif not run.process and now >= run.retry:
                try:
                    self._spawn(run)
                except OSError as error:  # no memory, no disk: it may pass, and the others go on
                    self._say(f"{run.program.name} cannot be started: {error}")
                    run.retry = now + LONGEST_PAUSE_SECONDS
        if now >= self._next_log_check:
            self._next_log_check = now + LOG_CHECK_SECONDS
            for run in self._runs():
                _bound(run.program.log)

    def _note_death(self, run: _Run, now: float) -> None:
        assert run.process
        if now - run.started > SETTLED_SECONDS:
            run.deaths = 0
        pause = min(0.2 * 2**run.deaths, LONGEST_PAUSE_SECONDS)
        run.deaths = min(run.deaths + 1, 10)
        run.retry = now + pause
        code = run.process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self._say(f"{run.program.name} {how}; starting it again in {pause:g} s, see {run.program.log}")
        self._bury(run)

    def _bury(self, run: _Run) -> None:
        """Nothing of the group may survive its leader, or the next run would meet it."""
        assert run.process
        _signal_group(run.process.pid, signal.SIGKILL)
        if run.pipe != -1:
            with contextlib.suppress(BrokenPipeError):
                os.write(run.pipe, b".")
            os.close(run.pipe)
            run.pipe = -1
        run.process = None

    def _spawn(self, run: _Run) -> bool:
        """Start the program, or return False while its lock is held."""
        program = run.program
        with contextlib.ExitStack() as opened:
            inherited = []
            if program.lock:
                lock = opened.enter_context(program.lock.open("ab"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return False
                inherited.append(lock.fileno())
            for leftover in program.leftovers:
                leftover.unlink(missing_ok=True)
            pipe = -1
            if sys.platform != "linux":
                pipe, run.pipe = os.pipe()
                opened.callback(os.close, pipe)
                inherited.append(pipe)
            run.process = subprocess.Popen(
                guarded(program.command, program.folder, program.account, program.death_signal, pipe),
                env=dict(program.environment),
                stdin=opened.enter_context((program.standard_input or Path(os.devnull)).open("rb")),
                stdout=opened.enter_context(program.log.open("ab")),
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
                start_new_session=True,
            )
            run.started = time.monotonic()
            run.retry = math.inf
        return True


def guarded(
    command: Sequence[str],
    folder: Path,
    account: Account | None,
    death_signal: signal.Signals = signal.SIGKILL,
    pipe: int = -1,
) -> list[str]:
    """The command line that runs `command` behind the guard."""
    uid, gid = (account.uid, account.gid) if account else (-1, -1)
    numbers = (uid, gid, os.getpid(), int(death_signal), pipe)
    return [sys.executable, "-I", "-S", str(GUARD), *map(str, numbers), str(folder), *command]


def _signal_process(run: _Run, number: signal.Signals) -> None:
    if run.process:
        run.process.send_signal(number)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _bound(log: Path) -> None:
    """Keep at most two files of LOG_LIMIT_BYTES; the program goes on appending to the same open file."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.with_name(f"{log.name}.1").write_bytes(log.read_bytes()[-LOG_LIMIT_BYTES:])
        os.truncate(log, 0)
