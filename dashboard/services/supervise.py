"""Start programs, restart those that die, and stop all of them, all from the main thread.

Each program has its own session, so that Ctrl-C in a terminal reaches only the supervisor, which then stops the
programs in its own order. PR_SET_PDEATHSIG is bound to the thread that forked, so all is done in the main thread.

A program that must never run twice names a lock file. It inherits the locked descriptor, and so do all processes it
forks: the lock is free exactly when the last of them is gone. So no pid file has to be trusted, a zombie holds no lock,
and a reused pid is not mistaken for a server.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.services.errors import ServiceError, Stopped, tail
from dashboard.services.locks import kill_holders, open_lock, still_held, try_lock
from dashboard.services.program import Program, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType, TracebackType


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_SECONDS = 0.05
LOCK_SECONDS = 15
LONGEST_PAUSE_SECONDS = 30
SURVIVOR_SECONDS = 2
SETTLED_SECONDS = 60
LOG_LIMIT_BYTES = 10 * 1024**2
LOG_CHECK_SECONDS = 10


@dataclass
class _Run:
    """One program with its process while it runs, and when to start it again."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    pipe: int = -1
    deaths: int = 0
    started: float = 0
    retry: float = field(default=math.inf)


class Supervisor:
    """Catch the signals that ask the supervisor to end, and stop every program when this context is left."""

    def __init__(self, say: Callable[[str], None], signals: Sequence[signal.Signals] = ENDING) -> None:
        self._say = say
        self._ending = signals
        self._groups: list[list[_Run]] = []
        self._signals: dict[int, object] = {}
        self._asked_to_stop = False
        self._next_log_check = 0.0

    def __enter__(self) -> Supervisor:
        for number in self._ending:
            if signal.getsignal(number) != signal.SIG_IGN:  # a program under nohup goes on ignoring them
                self._signals[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        for number, handler in self._signals.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._asked_to_stop = True

    def start(self, *programs: Program) -> None:
        """Start a group of programs. Groups are stopped in reverse order, the programs of one group together."""
        runs = [_Run(program) for program in programs]
        self._groups.append(runs)
        for run in runs:
            otherwise = still_held(run.program.name, run.program.lock)
            self.wait(lambda run=run: self._spawn(run), LOCK_SECONDS, otherwise)  # type: ignore[misc]

    @contextlib.contextmanager
    def locked(self, name: str, lock: Path, leftovers: Sequence[Path]) -> Iterator[None]:
        """Hold a program's lock during the context, so that its files can be changed while it does not run."""
        with open_lock(lock) as file:
            self.wait(lambda: try_lock(file), LOCK_SECONDS, still_held(name, lock))
            for leftover in leftovers:
                leftover.unlink(missing_ok=True)
            yield

    def wait(self, done: Callable[[], bool], seconds: float, otherwise: str) -> None:
        """Restart programs that end until `done` is true. This is the only place where a supervisor waits.

        Raises Stopped after a signal, and ServiceError with the text `otherwise` after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while True:
            if self._asked_to_stop:
                raise Stopped
            self._restart_dead()
            if done():
                return
            if time.monotonic() > deadline:
                raise ServiceError(otherwise)
            time.sleep(POLL_SECONDS)

    def run(self) -> None:
        """Restart programs that end until a signal comes."""
        with contextlib.suppress(Stopped):
            self.wait(lambda: False, math.inf, "")

    def refuse_deaths(self) -> None:
        """Raise ServiceError with the end of the log if a program ended while the others start."""
        for run in self._runs():
            if run.deaths:
                log = run.program.log
                raise ServiceError(f"{run.program.name} ended while starting; its log is {log}:{tail(log)}")

    def stop(self) -> None:
        """Ask every program to end, wait as long as it may take, and then kill it."""
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
                self._clean_up(run)

    def _runs(self) -> list[_Run]:
        return [run for group in self._groups for run in group]

    def _restart_dead(self) -> None:
        now = time.monotonic()
        for run in self._runs():
            if run.process and run.process.poll() is not None:
                self._note_death(run, now)
            elif not run.process and now >= run.retry:
                try:
                    if not self._spawn(run) and run.program.lock and now >= run.retry + SURVIVOR_SECONDS:
                        kill_holders(run.program.lock)
                except OSError as error:  # such as too little memory or disk space, which may pass; the others go on
                    self._say(f"{run.program.name} cannot be started: {error}")
                    run.retry = now + LONGEST_PAUSE_SECONDS
        if now >= self._next_log_check:
            self._next_log_check = now + LOG_CHECK_SECONDS
            for run in self._runs():
                _bound(run.program.log)

        if os.getpid() == 1:
            self._reap_orphans()

    def _reap_orphans(self) -> None:
        """Reap the orphans that the first process of a container inherits, but not our own programs."""
        ours = {run.process.pid for run in self._runs() if run.process}
        with contextlib.suppress(ChildProcessError):
            while dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if dead.si_pid in ours or os.getsid(dead.si_pid) == os.getsid(0):
                    return
                os.waitpid(dead.si_pid, 0)

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
        self._clean_up(run)

    def _clean_up(self, run: _Run) -> None:
        """Kill the remaining processes of a program that ended, so that they do not disturb its next run."""
        assert run.process
        _signal_group(run.process.pid, signal.SIGKILL)
        with contextlib.suppress(BrokenPipeError):
            os.write(run.pipe, b".")
        os.close(run.pipe)
        run.process = None

    def _spawn(self, run: _Run) -> bool:
        """Start the program, or return False while its lock is held."""
        program = run.program
        with contextlib.ExitStack() as opened:
            inherited = []
            if program.lock:
                lock = opened.enter_context(open_lock(program.lock))
                if not try_lock(lock):
                    return False
                inherited.append(lock.fileno())
            for leftover in program.leftovers:
                leftover.unlink(missing_ok=True)
            reading, writing = os.pipe()
            opened.callback(os.close, reading)
            try:
                run.process = subprocess.Popen(
                    guarded(program.command, program.folder, program.account, program.death_signal, reading),
                    env=dict(program.environment),
                    stdin=opened.enter_context((program.standard_input or Path(os.devnull)).open("rb")),
                    stdout=opened.enter_context(program.log.open("ab")),
                    stderr=subprocess.STDOUT,
                    pass_fds=[*inherited, reading],
                    start_new_session=True,
                )
            except OSError:
                os.close(writing)
                raise
            run.pipe = writing
            run.started = time.monotonic()
            run.retry = math.inf
        return True


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
