"""Measure an import of a log that is larger than memory should hold.

    python -m bench.importing_large [FILE] [--gigabytes 10] [--log PATH]

The log is made by repeating FILE, an audit log (without it, the sample), until it has so many gigabytes. With --log it
is kept at PATH, and used again if it is there. The bench prints the minutes of the import and the most memory that all
importing processes took together at one time; what several of them share counts once.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bench.figures import SAMPLE, Figure, show
from bench.importing import IMPORT, ROOT, servers
from bench.larger import repeated

_LOOK_EVERY = 0.5  # seconds between two looks at the memory of the processes
_TIMES = 100_000  # more turns than any log has


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder:
        log = options.log or Path(folder, "large.jsonl")
        if not log.exists():
            write(options.file, options.gigabytes * 1e9, log)
        show(measure(log, Path(folder, "data")))


def write(file: Path, size: float, log: Path) -> None:
    """Write a log of about so many bytes, made by repeating an audit log."""
    with log.open("wb") as into:
        for line in repeated(file, _TIMES):
            into.write(line + b"\n")
            size -= len(line) + 1
            if size <= 0:
                return


def measure(log: Path, data_dir: Path) -> Iterator[Figure]:
    """Yield the figures of one import into an empty database."""
    with servers(data_dir) as variables:
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env=variables, check=True)
        began, peak = time.monotonic(), 0
        command = [sys.executable, "-c", IMPORT, str(log)]
        with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None:
                peak = max(peak, together(process.pid))
                time.sleep(_LOOK_EVERY)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command[:1])
        minutes = (time.monotonic() - began) / 60
    what = f"import of {log.stat().st_size / 1e9:.1f} GB"
    yield Figure(what, (minutes,), "min", asked=8, at_most=True)
    yield Figure(f"{what}, memory of all processes", (peak / 1024**2,), "MiB", asked=1024, at_most=True)


def together(process: int) -> int:
    """Return how many bytes a process and those that it started take in memory."""
    size = 0
    with suppress(OSError):  # a process may end meanwhile
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        size += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        for task in Path(f"/proc/{process}/task").iterdir():
            size += sum(together(int(child)) for child in (task / "children").read_text().split())
    return size


if __name__ == "__main__":
    main()
