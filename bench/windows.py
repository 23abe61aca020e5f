"""Measure how long the server takes for a window of a timeline, in a recording and in one ten times as large.

    python -m bench.windows [FILE] [--sizes 100000 1000000] [--windows 400] [--data-dir D]

FILE (an audit log; else the sample) is repeated with shifted times, UIDs and revisions until there are so many lines,
and imported into a PostgreSQL of its own. The bench reads windows of 40 lanes with random widths, places, offsets and
filters. With --data-dir the recordings stay there for the next run.
"""

import argparse
import contextlib
import gc
import os
import random
import secrets
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from bench.database import prepared_database
from bench.larger import lines_of, repeated

SAMPLE = Path(__file__).resolve().parent.parent / "dashboard" / "samples" / "volcano-restart.jsonl.zst"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--windows", type=int, default=400)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with prepared_database(options.data_dir) as folder:
        measure(options.file, options.sizes, options.windows, folder)


def measure(path: Path, sizes: list[int], windows: int, folder: Path) -> None:

    worst = []
    for size in sizes:
        source = recording(path, size, folder)
        took = sorted(_times(source, windows))
        worst.append(took[int(len(took) * 0.99)])
        print(
            f"{size} lines: a window of 40 lanes took {statistics.median(took):.1f} ms, p95"
            f" {took[int(len(took) * 0.95)]:.1f}, p99 {worst[-1]:.1f}, at most {took[-1]:.1f} ({windows} windows)"
        )
    print(f"p99 of the largest ÷ that of the smallest: {worst[-1] / worst[0]:.2f}")
    _memory(source)


def recording(path: Path, size: int, folder: Path) -> int:
    """Return the id of the source with so many lines, which is imported unless it exists."""
    from timeline.models import Source

    name = f"bench {size}"
    if known := Source.objects.filter(name=name, ready=True).first():
        return known.pk
    large = folder / "large.jsonl.zst"
    times = -(-size // sum(1 for _ in lines_of(path)))
    with large.open("wb") as file, zstandard.ZstdCompressor(level=1, threads=-1).stream_writer(file) as packed:
        for number, line in enumerate(repeated(path, times)):
            if number == size:
                break
            packed.write(line + b"\n")
    began = time.perf_counter()
    import_recording(large, name)
    print(f"{size} lines: imported in {time.perf_counter() - began:.0f} s")
    return Source.objects.get(name=name, ready=True).pk


def import_recording(path: Path, name: str) -> None:
    from collectors.formats import Skipped, read
    from timeline.history.world import World
    from timeline.pipeline import ingest
    from timeline.storage import store

    source = store.open_source(name)
    gc.disable()
    ingest(source, World(), (item for item in read([(path, path.name)], bodies=True) if not isinstance(item, Skipped)))
    store.show_source(source)
    gc.enable()


def _memory(source: int) -> None:
    """Print the memory of a separate web process after 50, 200 and 400 different windows of a recording."""
    from timeline import queries

    whole = queries.overview(source)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "dashboard.web", "--port", str(port)]
    token = secrets.token_hex(32)
    variables = {**os.environ, "CAUSELINE_LOGIN": "token", "CAUSELINE_TOKEN": token}
    web = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}/"
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}healthz"):
                break
            time.sleep(0.2)
        held = []
        for turn in range(1, 401):
            width = (whole["last"] - whole["first"]) // turn
            start = whole["first"] + (whole["last"] - whole["first"] - width) * (turn % 7) // 7
            query = f"start={start}&end={start + width}&offset={turn % 5 * 40}"
            asked = f"{address}api/sources/{source}/window?{query}"
            known = {"Authorization": f"Bearer {token}"}
            with urllib.request.urlopen(urllib.request.Request(asked, headers=known)) as answer:
                answer.read()
            if turn in (50, 200, 400):
                status = Path(f"/proc/{web.pid}/status").read_text()
                held.append(f"{int(status.partition('VmRSS:')[2].split()[0]) / 1024:.0f} MiB after {turn}")
        print(f"a web process holds {', '.join(held)} windows")
    finally:
        web.terminate()
        web.wait()


def _times(source: int, windows: int) -> Iterator[float]:
    from timeline import queries

    chance = random.Random(1)
    whole = queries.overview(source)
    first, last = whole["first"], whole["last"]
    kinds = [family for family, _ in whole["families"]]
    namespaces = [namespace for namespace, _ in whole["namespaces"]]
    findings = queries.findings(source)["findings"]
    choices: list[Callable[[], queries.View]] = [
        queries.View,
        queries.View,
        queries.View,
        lambda: queries.View(focus=chance.choice(findings)["focus"]) if findings else queries.View(),
        lambda: queries.View(families=(chance.choice(kinds),)),
        lambda: queries.View(namespace=chance.choice(namespaces)),
        lambda: queries.View(active=True),
        lambda: queries.View(grouping=chance.choice(["kind", "namespace"])),
    ]
    for turn in range(windows + 10):
        width = (last - first) * 10 ** chance.uniform(-6, 0)
        start = first + int((last - first - width) * chance.random())
        view, offset = chance.choice(choices)(), chance.choice([0, 0, 0, 40, 400])
        began = time.perf_counter()
        queries.window(source, start, start + int(width), offset=offset, view=view)
        if turn >= 10:  # the first ones warm the caches
            yield (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
