"""Compute how much faster an upload is imported when several workers read its files, from stages measured in this run.

    python -m bench.portions [FILE] [--rounds 20] [--runs 3]

The files of a large upload are read in portions by any workers, and one of them imports what they hold. This bench
times the stages of FILE (an audit log; without it, one made of the sample) one after another, by the processor time of
one process: reading it, packing what it holds for the import, unpacking that, and ordering, judging and storing it. The
last two are never shared. The gain is computed, not measured: it supposes a core for each reader and waits for nothing.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from bench.importing import prepared

_ROOT = Path(__file__).resolve().parent.parent
_READERS = (1, 2, 3, 4, 8, 16)
_STAGES = """
import json, os, sys, time
from pathlib import Path
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from collectors.formats import read
from timeline.history.world.world import World
from timeline.pipeline import ingest
from timeline.storage import store
from timeline.storage.entries import additions
def timed(act, *args):
    began = time.process_time()
    return act(*args), time.process_time() - began
call_command("migrate", verbosity=0)
observed, reading = timed(lambda: list(read([(Path(sys.argv[1]), "audit")], bodies=True, processes=1)))
packed, packing = timed(additions.packed, observed)
unpacked, unpacking = timed(lambda: list(additions.unpacked(packed)))
source = store.open_source("bench")
_, storing = timed(ingest, source, World(), unpacked)
with connection.cursor() as cursor:
    cursor.execute("SELECT pg_backend_pid()")
    fields = Path("/proc", str(cursor.fetchone()[0]), "stat").read_text().rpartition(")")[2].split()
storing += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # it waits for PostgreSQL
store.discard_source(source)
print(json.dumps([reading, packing, unpacking, storing]))
"""


class Stages(NamedTuple):
    """The seconds of a processor that each stage took."""

    reading: float
    packing: float
    unpacking: float
    storing: float

    def gain(self, readers: int) -> float:
        """Return how many times as fast an import is with this many workers that read for the one that imports."""
        alone = self.reading + self.storing
        return alone / max(self.unpacking + self.storing, (self.reading + self.packing) / readers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=20, help="of the sample")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with prepared(options.file, options.rounds) as (path, variables):
        command = [sys.executable, "-c", _STAGES, str(path)]
        found = [
            json.loads(subprocess.run(command, cwd=_ROOT, env=variables, check=True, capture_output=True).stdout)
            for _ in range(options.runs)
        ]
    stages = Stages(*map(statistics.median, zip(*found, strict=True)))
    whole = stages.reading + stages.storing
    print(
        ", ".join(f"{name} {seconds / whole:.0%}" for name, seconds in stages._asdict().items()), "of one worker alone"
    )
    for readers in _READERS:
        print(f"{readers} that read, and one that imports: {stages.gain(readers):.2f} times as fast")


if __name__ == "__main__":
    main()
