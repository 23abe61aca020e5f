"""Measure everything for which a speed is promised, and compare it with what was measured before.

    python -m bench [--only windows live] [--log FILE] [--check] [--write]

Each bench runs in a process of its own, and prints a row for each figure: the median of its runs with the least and the
most, and what is asked. With --check, the end fails if a figure has become more than 15 % worse than the one in
bench/baseline.json. What depends on the machine is compared by how it stands to a bare loop of `orjson.loads` in the
same run. With --write, the figures become that baseline. With --log, a worker also follows a replay of that audit log,
such as one of a busy control plane: live sources of many objects cost more for each entry than the sample.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson

from bench.figures import FILE, Figure

BASELINE = Path(__file__).with_name("baseline.json")
WORSE = 0.85  # a figure may fall to this part of the baseline, because runs differ
BENCHES = {
    "analyzing": ["bench.analysing"],
    "redaction": ["bench.redacting"],
    "importing": ["bench.importing"],
    "live": ["bench.live"],
    "judging": ["bench.judging"],
    "windows": ["bench.windows"],
    "drawing": ["bench.drawing", "--lines", "1000000"],
    "pushing": ["bench.pushing"],
}
BY_NAME = {  # these run only if they are asked for
    "importing-large": ["bench.importing_large"],
    "ten-million": ["bench.ten_million"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*BENCHES, *BY_NAME], default=list(BENCHES))
    parser.add_argument("--log", type=Path, help="an audit log with objects")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    commands = [(BENCHES | BY_NAME)[name] for name in options.only]
    if options.log:
        commands.append(["bench.live", str(options.log), "--runs", "1"])
    figures = [figure for command in commands for figure in measured(command)]
    now = {figure.what: figure.compared for figure in figures}
    if options.write:
        BASELINE.write_bytes(orjson.dumps(known() | now, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    worse = compared(known(), now) if options.check else []
    print("\n".join(worse))
    return 1 if worse else 0


def measured(command: list[str]) -> list[Figure]:
    """Run one bench, which prints its figures, and return them."""
    with tempfile.NamedTemporaryFile(prefix="causeline-bench-") as file:
        subprocess.run([sys.executable, "-m", *command], check=True, env=os.environ | {FILE: file.name})
        return [Figure(**orjson.loads(line)) for line in Path(file.name).read_bytes().splitlines()]


def known() -> dict[str, float]:
    """Return the figures of the baseline."""
    read: dict[str, float] = orjson.loads(BASELINE.read_bytes()) if BASELINE.exists() else {}
    return read


def compared(before: dict[str, float], now: dict[str, float]) -> list[str]:
    """Return a sentence for each figure that has become worse, and for each with which nothing can be compared."""
    worse = []
    for what, figure in now.items():
        if what not in before:
            worse.append(f"{what}: bench/baseline.json has no such figure. Run python -m bench --write to add it.")
        elif figure < WORSE * before[what]:
            worse.append(f"{what}: {figure / before[what]:.2f} of what the baseline says")
    return worse


if __name__ == "__main__":
    sys.exit(main())
