"""Cause random faults for as long as one likes, and measure what they cost.

    python -m bench.faults [--minutes 10] [--seed 1]

Three workers watch replays of the sample, one after the other, on servers of their own. While a replay plays, API
server, workers, PostgreSQL and Valkey fail at random. After it has ended, the stored entries are compared with the
recording. The bench prints what is missing outside a gap, what is stored twice, and how long it took until everything
was stored. It exits with 1 if anything is wrong.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.figures import SAMPLE
from bench.importing import servers

_ROOT = Path(__file__).resolve().parent.parent
_WORKERS = ("a", "b", "c")
_STEP = 25  # commits between two chances of a fault
_AGAIN = 90  # seconds after which all must be stored: a watch that hangs is noticed after at most 75
ORDERS: list[dict[str, Any]] = [
    {"faults": [{"kind": "reset", "count": 3}]},
    {"faults": [{"kind": "half-line", "count": 3}]},
    {"faults": [{"kind": "hang", "count": 1}]},
    {"faults": [{"kind": "gone-in-stream", "count": 2}]},
    {"faults": [{"kind": "throttle", "count": 4, "seconds": 1}], "disconnect": True},
    {"faults": [{"kind": "error", "count": 8}], "disconnect": True},
    {"faults": [{"kind": "duplicate", "count": 10}, {"kind": "delay", "seconds": 1}]},
    {"compact": True, "disconnect": True},
    {"away": 3},
]


class Machine:
    """Start the workers, and kill, stop or freeze workers and servers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        for name in _WORKERS:
            self.start(name)

    def start(self, name: str) -> None:
        celery = ("celery", "-A", "dashboard.celery", "worker", "--pool", "solo", "-n", f"{name}@%h")
        with (self._folder / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", *celery]
            self._workers[name] = subprocess.Popen(command, cwd=_ROOT, stdout=log, stderr=subprocess.STDOUT)

    def disturb(self, chance: random.Random) -> str:
        """Cause a random fault and return its description."""
        name = chance.choice(_WORKERS)
        worker = self._workers[name]
        match chance.choice(("kill", "stop", "freeze", "postgres", "valkey")):
            case "kill":
                worker.kill()
                worker.wait()
                self.start(name)
                return f"worker {name} killed"
            case "stop":
                worker.terminate()
                worker.wait()
                self.start(name)
                return f"worker {name} stopped"
            case "freeze":
                worker.send_signal(signal.SIGSTOP)
                time.sleep(chance.uniform(1, 12))
                worker.send_signal(signal.SIGCONT)
                return f"worker {name} frozen"
            case server:
                self._kill(server)
                return f"{server} killed"

    def _kill(self, server: str) -> None:
        listed = subprocess.run(["ps", "-axwwo", "pid=,args="], capture_output=True, text=True, check=True).stdout
        data = os.environ["CAUSELINE_DATA_DIR"]
        for line in listed.splitlines():
            pid, _, command = line.strip().partition(" ")
            if data in command and f"/{server}" in command.split()[0]:
                os.kill(int(pid), signal.SIGKILL)

    def stop(self) -> None:
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            worker.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder,
        servers(Path(folder, "data")) as variables,
    ):
        os.environ.update(variables, CAUSELINE_KUBECONFIG_DIRS=folder)
        subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], cwd=_ROOT, check=True)
        import django

        django.setup()
        machine, chance = Machine(Path(folder)), random.Random(options.seed)
        end, wrong, rounds = time.monotonic() + 60 * options.minutes, 0, 0
        try:
            while time.monotonic() < end:
                rounds += 1
                wrong += not followed(machine, Path(folder), chance, f"round-{rounds}")
        finally:
            machine.stop()
    print(f"{rounds} rounds, {wrong} wrong")
    sys.exit(bool(wrong))


def followed(machine: Machine, folder: Path, chance: random.Random, name: str) -> bool:
    """Return whether one replay was stored correctly from its beginning to its end."""
    from collectors.replay import serve
    from tests.rows.followed import changes_of, connected, expected, taped, watched
    from timeline.models import Cluster, Gap

    tape = taped(SAMPLE)
    disturbances: list[str] = []
    with serve(tape, speed=100_000, paused=True, bookmark_seconds=1) as replay:
        cluster = connected(replay, folder, name)
        _until(lambda: len(watched(cluster)) > 10)
        resources = watched(cluster)
        for _ in range(0, len(tape.commits), _STEP):
            _until(lambda: bool(replay.control(step=_STEP)))
            time.sleep(chance.uniform(0, 1))
            if chance.random() < 0.15:
                disturbances.append(machine.disturb(chance))
            elif chance.random() < 0.3:
                disturbances.append(str(order := chance.choice(ORDERS)))
                _until(lambda order=order: bool(replay.control(**order)))
        _until(lambda: bool(replay.control(clear=True)))
        began = time.monotonic()
        wanted = expected(tape, resources)

        def missing() -> list[tuple[str, int | None, str]]:
            source = Cluster.objects.get(pk=cluster.pk).source
            assert source
            kinds = {commit.uid: commit.resource.kind for commit in tape.commits}
            gaps = [(gap.kind, gap.since_revision or 0, gap.revision or 0) for gap in Gap.objects.filter(source=source)]
            return [
                each
                for each in wanted - changes_of(source)
                if not any(kinds[each[0]] == kind and low < (each[1] or 0) <= high for kind, low, high in gaps)
            ]

        _until(lambda: not missing(), _AGAIN)
        seconds, lost = time.monotonic() - began, missing()
        source = Cluster.objects.get(pk=cluster.pk).source
        assert source
        twice = [each for each, times in changes_of(source).items() if times > 1]
        gaps = Gap.objects.filter(source=source).count()
        print(f"{name}: {len(lost)} lost, {len(twice)} twice, {gaps} gaps, all there after {seconds:.1f} s", flush=True)
        if lost or twice:
            print("\n".join([*disturbances, str(lost[:5]), str(twice[:5])]), flush=True)
        Cluster.objects.filter(pk=cluster.pk).delete()
    return not lost and not twice


def _until(happens: Any, seconds: float = 90) -> None:
    """Wait until a condition holds, whatever fails meanwhile, or until the time is over."""
    from django.db import DatabaseError, InterfaceError, connection

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if happens():
                return
        except (DatabaseError, InterfaceError):
            connection.close()
        except OSError:  # the replay is not reachable at the moment
            pass
        time.sleep(0.2)


if __name__ == "__main__":
    main()
