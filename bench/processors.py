"""Compute how much faster `causeline analyze` is with more processors, from stages measured in this run.

    python -m bench.processors [FILE] [--runs 3]

One process times the stages of FILE (an unpacked audit log; without it, one made of the sample) one after another, by
its processor time: a bare loop of `orjson.loads`; cutting the file into blocks; reading the blocks; packing and
unpacking what is read, as helper processes hand it over; learning, settling and judging. The result is computed, not
measured: it supposes a processor for each process, and that the memory is as fast for all of them as for one. The
process that hands over the blocks reads those that the helpers do not take, and learns and settles alone.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench.figures import SAMPLE
from bench.larger import write_rounds

_ROOT = Path(__file__).resolve().parent.parent
_ROUNDS = 60  # repetitions of the sample
_PROCESSES = (1, 2, 3, 4, 8)
_STAGES = """
import gc, json, pickle, sys, time
from pathlib import Path
import orjson
path = Path(sys.argv[1])
def timed(act):
    began = time.process_time()
    return act(), time.process_time() - began
def loop():
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
_, bare = timed(loop)
from collectors.formats import Limits, read
from collectors.formats.parallel import LEAST_BYTES
from collectors.formats.stream import Usage, open_all
from timeline.history.world.world import World
from timeline.judge import judge, matters, rulebook
rulebook()
starting = time.process_time() - bare
gc.disable()
inputs = [(path, "log")]
opened = open_all(inputs, Usage(Limits()))
_, cutting = timed(lambda: [len(block.data) for one in opened for block in one.blocks(LEAST_BYTES)])
def pieces():
    began = time.process_time()
    observed, taken = [], [0.0, 0.0, 0.0]
    for item in read(inputs, bodies=False):
        observed.append(item)
        if len(observed) == 500:
            read_at = time.process_time()
            packed = pickle.dumps(observed, pickle.HIGHEST_PROTOCOL)
            packed_at = time.process_time()
            pickle.loads(packed)
            now = time.process_time()
            taken = [old + new for old, new in zip(taken, (read_at - began, packed_at - read_at, now - packed_at))]
            observed, began = [], now
    return taken
reading, packing, unpacking = pieces()
observed = list(read(inputs, bodies=False))
world = World(matters, intents=False)
_, learning = timed(lambda: sum(1 for _ in world.learn(observed)))
del observed
_, settling = timed(lambda: (world.two_clusters(), world.settle(), world.completeness))
_, judging = timed(lambda: judge(world, world.tracks(), untracked=True))
print(json.dumps([bare, starting, cutting, reading - cutting, packing, unpacking, learning, settling, judging]))
"""


class Stages(NamedTuple):
    """The seconds of a processor that each stage took."""

    bare: float  # the loop of `orjson.loads`
    starting: float
    cutting: float
    reading: float
    packing: float
    unpacking: float
    learning: float
    settling: float
    judging: float

    def seconds(self, processes: int) -> float:
        """Return how long `analyze` takes with so many processes, each on a processor of its own."""
        helpers = processes - 1
        alone = self.cutting + self.reading + self.learning
        read = alone
        if helpers:
            # Helpers take as much as lets all end together, at most everything.
            each = (self.reading + self.packing) / helpers  # what a helper takes if all is read by helpers
            share = min(1.0, alone / (each + self.reading - self.unpacking))
            read = max(share * each, alone - share * (self.reading - self.unpacking))
        return self.starting + read + self.settling + self.judging / processes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder, "sample.jsonl")
        if not options.file:
            write_rounds(SAMPLE, _ROUNDS, path)
        command = [sys.executable, "-c", _STAGES, str(path)]
        found = [
            json.loads(subprocess.run(command, cwd=_ROOT, check=True, capture_output=True).stdout)
            for _ in range(options.runs)
        ]
    stages = Stages(*map(statistics.median, zip(*found, strict=True)))
    print("in bare loops:", ", ".join(f"{name} {each / stages.bare:.2f}" for name, each in stages._asdict().items()))
    for processes in _PROCESSES:
        seconds = stages.seconds(processes)
        print(f"{processes} processors: {seconds:.2f} s, {stages.bare / seconds:.2f} of the bare loop")


if __name__ == "__main__":
    main()
