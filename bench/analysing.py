"""Measure how fast `causeline analyze` is, and how much memory it takes, against a bare loop of `orjson.loads`.

    python -m bench.analysing [FILE] [--runs 5] [--only namespace=NAME]

The bench times whole processes, each next to the others: the bare loop over the lines of FILE (an unpacked audit log;
without it, one made of the sample), `analyze` on one processor, on two, and on a file with every line twice. It prints
medians of the ratios of neighbouring runs; greater than 1 is faster than the bare loop. With --only, it times only
`analyze` of that part of FILE, against the bare loop over all lines.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import SAMPLE, Figure, show
from bench.larger import write_rounds

_ROUNDS = 60  # repetitions of the sample, which make about 100 000 lines
BARE = "import orjson, sys\nfor line in open(sys.argv[1], 'rb'): orjson.loads(line)"
_ANALYZE = "import sys; from dashboard.cli.__main__ import main; sys.exit(main())"


class Run(NamedTuple):
    """What one process took."""

    seconds: float
    peak: float  # MiB; of the largest process if it started others


def run(code: str, arguments: Sequence[str], processors: int) -> Run:
    """Run Python code in a process of its own on so many processors, and return its time and memory."""
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(sys.executable, [sys.executable, "-c", code, *arguments])
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{arguments} ended with {status}")
    return Run(time.perf_counter() - start, usage.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", help="a part of FILE, as `analyze` takes it")
    options = parser.parse_args()
    if options.only and not options.file:
        parser.error("--only needs a FILE: most lines of the sample are about the cluster")
    with tempfile.TemporaryDirectory() as folder:
        # An installed Causeline is compiled once, and not in each run, as where writing compiled files is forbidden.
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        run(_ANALYZE, ["rules"], 1)
        path = options.file or Path(folder, "sample.jsonl")
        if not options.file:
            write_rounds(SAMPLE, _ROUNDS, path)
        if options.only:
            show(measure_part(path, options.only, options.runs))
        else:
            show(measure(path, Path(folder, "twice.jsonl"), options.runs))


def measure(path: Path, twice: Path, runs: int) -> Iterator[Figure]:
    """Yield the figures of `analyze` for a file of lines. `twice` is where a file with every line twice is written."""
    with twice.open("wb") as target:
        for _ in range(2):
            with path.open("rb") as file:
                shutil.copyfileobj(file, target)
    with path.open("rb") as file:
        lines = sum(1 for _ in file)
    analyze = ["analyze", str(path), "--output", "json"]
    rows = [
        (
            run(BARE, [str(path)], 1),
            run(_ANALYZE, analyze, 1),
            run(_ANALYZE, analyze, 2),
            run(_ANALYZE, ["rules"], 1),
        )
        for _ in range(runs)
    ]
    for name, column, asked in (("one core", 1, 0.5), ("two cores", 2, 0.85)):
        ratios = tuple(row[0].seconds / row[column].seconds for row in rows)
        yield Figure(f"analyze, {name} ÷ loop, {lines} lines", ratios, asked=asked)
        yield Figure(f"analyze, {name}, memory", tuple(row[column].peak for row in rows), "MiB", at_most=True)
    doubled = run(_ANALYZE, ["analyze", str(twice), "--output", "json"], 2)
    yield Figure("analyze, every line twice, memory", (doubled.peak,), "MiB", at_most=True)
    loops = tuple(row[0].seconds for row in rows)
    yield Figure("causeline rules", tuple(row[3].seconds for row in rows), "s", at_most=True, loops=loops)


def measure_part(path: Path, only: str, runs: int) -> Iterator[Figure]:
    """Yield the figures of `analyze --only` for a file of lines."""
    analyze = ["analyze", str(path), "--output", "json", "--only", only]
    rows = [(run(BARE, [str(path)], 1), run(_ANALYZE, analyze, 1), run(_ANALYZE, analyze, 2)) for _ in range(runs)]
    for name, column, asked in (("one core", 1, None), ("two cores", 2, 1.5)):
        ratios = tuple(row[0].seconds / row[column].seconds for row in rows)
        yield Figure(f"analyze --only {only}, {name} ÷ loop", ratios, asked=asked)
        yield Figure(
            f"analyze --only {only}, {name}, memory", tuple(row[column].peak for row in rows), "MiB", at_most=True
        )


if __name__ == "__main__":
    main()
