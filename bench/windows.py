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
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.database import prepared_database
from bench.figures import SAMPLE, Figure, beside, percentile, show
from bench.larger import write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--windows", type=int, default=400)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with prepared_database(options.data_dir) as folder:
        show(measure(options.file, options.sizes, options.windows, folder))


ASKED = {1_000_000: 50}  # ms, for a number of lines


def measure(path: Path, sizes: list[int], windows: int, folder: Path, runs: int = 3) -> Iterator[Figure]:
    """Yield the figures of windows of 40 lanes in recordings of these numbers of lines."""
    latest: dict[int, Figure] = {}
    for size in sizes:
        source = recording(path, size, folder)
        found = list(figures_of(source, windows, f"{size} lines", ASKED.get(size), runs))
        latest[size] = found[-1]
        yield from found
    if len(sizes) > 1:
        pairs = zip(latest[sizes[1]].values, latest[sizes[0]].values, strict=True)
        ratios = tuple(larger / smaller for larger, smaller in pairs)
        yield Figure(f"window, p99 of {sizes[1]} lines ÷ p99 of {sizes[0]}", ratios, asked=1.5, at_most=True)
    yield Figure("a web process after 400 windows, memory", (_memory(source),), "MiB", at_most=True)


def figures_of(source: int, windows: int, what: str, asked: float | None, runs: int = 3) -> Iterator[Figure]:
    """Yield how long windows of a source take; of `asked` milliseconds at p99."""
    rows = beside(lambda: sorted(_times(source, windows)), runs)
    loops = tuple(seconds for _, seconds in rows)
    for part in (0.5, 0.95, 0.99):
        took = tuple(percentile(each, part) for each, _ in rows)
        yield Figure(
            f"window, {what}, p{100 * part:.0f}", took, "ms", asked if part == 0.99 else None, at_most=True, loops=loops
        )


def vacuum() -> None:
    """Do what PostgreSQL does by itself within a minute of an import: without it, no index can be read alone."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM timeline_track")


def recording(path: Path, size: int, folder: Path) -> int:
    """Return the id of the source with so many lines, which is imported unless it exists."""
    from timeline.models import Source

    name = f"bench {size}"
    if known := Source.objects.filter(name=name, ready=True).first():
        return known.pk
    large = folder / "large.jsonl.zst"
    write(path, size, large)
    began = time.perf_counter()
    import_recording(large, name)
    print(f"{size} lines: imported in {time.perf_counter() - began:.0f} s")
    vacuum()
    return Source.objects.get(name=name, ready=True).pk


def import_recording(path: Path, name: str) -> None:
    from collectors.formats import Skipped, read
    from timeline.history.world.world import World
    from timeline.pipeline import ingest
    from timeline.storage import store

    source = store.open_source(name)
    gc.disable()
    ingest(source, World(), (item for item in read([(path, path.name)], bodies=True) if not isinstance(item, Skipped)))
    store.show_source(source)
    gc.enable()


def _memory(source: int) -> float:
    """Return the MiB of memory of a separate web process after 400 different windows of a recording."""
    from timeline.queries.window.overview import overview

    whole = overview(source)
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
        for turn in range(1, 401):
            width = (whole["last"] - whole["first"]) // turn
            start = whole["first"] + (whole["last"] - whole["first"] - width) * (turn % 7) // 7
            query = f"start={start}&end={start + width}&offset={turn % 5 * 40}"
            asked = f"{address}api/sources/{source}/window?{query}"
            known = {"Authorization": f"Bearer {token}"}
            with urllib.request.urlopen(urllib.request.Request(asked, headers=known)) as answer:
                answer.read()
        status = Path(f"/proc/{web.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024
    finally:
        web.terminate()
        web.wait()


def _times(source: int, windows: int) -> Iterator[float]:
    from timeline.queries.incidents import findings as findings_queries
    from timeline.queries.window import windows as windows_queries
    from timeline.queries.window.overview import overview
    from timeline.queries.window.view import View

    chance = random.Random(1)
    whole = overview(source)
    first, last = whole["first"], whole["last"]
    kinds = [family for family, _ in whole["families"]]
    namespaces = [namespace for namespace, _ in whole["namespaces"]]
    findings = findings_queries.findings(source)["findings"]
    choices: list[Callable[[], View]] = [
        View,
        View,
        View,
        lambda: View(focus=chance.choice(findings)["focus"]) if findings else View(),
        lambda: View(kinds=(chance.choice(kinds),)),
        lambda: View(namespace=chance.choice(namespaces)),
        lambda: View(active=True),
        lambda: View(group=chance.choice(["kind", "namespace"])),
    ]
    for turn in range(windows + 10):
        width = (last - first) * 10 ** chance.uniform(-6, 0)
        start = first + int((last - first - width) * chance.random())
        view, offset = chance.choice(choices)(), chance.choice([0, 0, 0, 40, 400])
        began = time.perf_counter()
        windows_queries.window(source, start, start + int(width), offset=offset, view=view)
        if turn >= 10:  # the first ones warm the caches
            yield (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
