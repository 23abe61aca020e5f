"""How fast a recording is read and judged, against a bare loop of `orjson.loads` over the same lines.

    python -m bench.reading [FILE] [--runs 5]

Prints the median of the pairwise ratios; greater than 1 is faster than the bare loop.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from collectors.formats import Line, Skipped, read
from collectors.formats.stream import Intake, Limits, open_all
from timeline.judge import judge
from timeline.world import World

SAMPLE = Path(__file__).resolve().parent.parent / "dashboard" / "samples" / "volcano-restart.jsonl.zst"


def bare(path: Path) -> int:
    lines = 0
    for recording in open_all([(path, path.name)], Intake(Limits())):
        if not isinstance(recording, Skipped):
            for line in recording.lines():
                if isinstance(line, Line):
                    orjson.loads(line.data)
                    lines += 1
    return lines


def judged(path: Path) -> int:
    world = World()
    entries = (item for item in read([(path, path.name)], bodies=False) if not isinstance(item, Skipped))
    for _ in world.learn(entries):
        pass
    world.settle()
    return len(judge(world, world.tracks()))


def seconds(measured: Callable[[Path], int], path: Path) -> float:
    start = time.perf_counter()
    measured(path)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    lines = bare(options.file)
    pairs = [(seconds(bare, options.file), seconds(judged, options.file)) for _ in range(options.runs)]
    ratio = statistics.median(loop / ours for loop, ours in pairs)
    rate = lines / statistics.median(ours for _, ours in pairs)
    print(f"{options.file.name}: {lines} lines, {rate:,.0f} lines/s, {ratio:.2f} of the bare loop")


if __name__ == "__main__":
    main()
