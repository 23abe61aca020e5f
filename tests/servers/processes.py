"""This module lists the processes that run on this machine, and ends those of tests."""

import signal
import subprocess

from tests.patience import patient


def processes() -> dict[int, tuple[int, str]]:
    """Return parent and command line of each living process by pid. Zombies are left out."""
    listed = subprocess.run(["ps", "-axwwo", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    return {int(row[0]): (int(row[1]), row[3]) for row in rows if len(row) == 4 and not row[2].startswith("Z")}


def descendants(pid: int) -> set[int]:
    found, table = {pid}, processes()
    while more := {child for child, (parent, _) in table.items() if parent in found} - found:
        found |= more
    return found - {pid}


def kill(*running: subprocess.Popen[bytes]) -> None:
    """Kill processes at once, as `kill -9` does."""
    for process in running:
        process.kill()
    for process in running:
        process.wait()


def stop(*running: subprocess.Popen[bytes], seconds: float = 15) -> None:
    """Let processes end, also those that are frozen, and kill them if they do not."""
    for process in running:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    for process in running:
        try:
            process.wait(patient(seconds))
        except subprocess.TimeoutExpired:
            kill(process)
