"""Measure what it costs that a reader may see only some namespaces.

    python -m bench.seen [FILE] [--namespaces 200 400] [--turns 60] [--data-dir D]

One namespace of FILE (an audit log; else the sample) is repeated under other names, and imported into a PostgreSQL of
its own. A reader of everything and a reader of 200 namespaces then ask the same in turn. The ratio of their medians is
printed for each question. Measured is the processor time that the asking process and its session of PostgreSQL take,
because other work on the machine makes elapsed time vary more than the readers differ. It is read from /proc.
With --data-dir the recordings stay there for the next run.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.database import prepared_database
from bench.figures import SAMPLE
from bench.larger import pack, turns
from bench.windows import import_recording

NAMESPACE = "vol-restart"  # of the sample, which is repeated
SEEN = 200  # the namespaces that the limited reader sees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--namespaces", nargs="+", type=int, default=[200, 400])
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with prepared_database(options.data_dir) as folder:
        measure(options.file, options.namespaces, options.turns, folder)


def measure(path: Path, sizes: list[int], turns: int, folder: Path) -> None:

    for size in sizes:
        source = recording(path, size, folder)
        print(f"{min(SEEN, size)} of {size} namespaces seen, in turn with a reader of everything ({turns} turns):")
        for name, everything, limited in _asked(source, size, turns):
            ratio = f"{limited:7.1f} ms, ratio {limited / everything:.2f}"
            print(f"  {name:<12} everything {everything:7.1f} ms, limited {ratio}", flush=True)


def recording(path: Path, size: int, folder: Path) -> int:
    """Return the id of the source with so many namespaces, which is imported unless it exists."""
    from timeline.models import Source

    name = f"bench of {size} namespaces"
    if known := Source.objects.filter(name=name, ready=True).first():
        return known.pk
    large, named = folder / "large.jsonl.zst", NAMESPACE.encode()
    found = turns(path, size)
    pack((line.replace(named, f"team-{turn:04}".encode()) for turn, line in found if named in line), large)
    import_recording(large, name)
    return Source.objects.get(name=name, ready=True).pk


def _asked(source: int, size: int, turns: int) -> Iterator[tuple[str, float, float]]:
    """Yield each question with the medians of both readers, in milliseconds."""
    from timeline.models import Source
    from timeline.queries.incidents import lists
    from timeline.queries.incidents.findings import findings
    from timeline.queries.sources import extents
    from timeline.queries.window import search as search_queries
    from timeline.queries.window import windows
    from timeline.queries.window.overview import overview
    from timeline.storage.permitted.limits import EVERYTHING, Permitted

    names = random.Random(1).sample([f"team-{number:04}" for number in range(size)], min(SEEN, size))
    limited = Permitted(namespaces={source: frozenset(names)})
    first, last = extents.extent(Source.objects.get(pk=source))
    places = random.Random(2)

    def window() -> Callable[[], object]:
        width = round((last - first) * 10 ** places.uniform(-2.5, 0))
        start = first + round(places.random() * (last - first - width))
        return lambda: windows.window(source, start, start + width)

    def search() -> Callable[[], object]:
        words = f"ring-steady-{places.randrange(3)}"
        return lambda: search_queries.search(source, words)

    questions: dict[str, Callable[[], Callable[[], object]]] = {
        "window": window,
        "first paint": lambda: lambda: (overview(source), windows.window(source), findings(source)),
        "search": search,
        "incidents": lambda: lambda: lists.incidents(source),
        "findings": lambda: lambda: findings(source),
    }
    for name, question in questions.items():
        took: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(turns):
            ask = question()
            for everything in (turn % 2 == 0, turn % 2 == 1):
                took[everything].append(_timed(ask, EVERYTHING if everything else limited))
        yield name, statistics.median(took[True]), statistics.median(took[False])


def _timed(ask: Callable[[], object], seen: object) -> float:
    from timeline.storage.permitted.limits import Permitted, seeing

    assert isinstance(seen, Permitted)
    began = _processor_time()
    with seeing(seen):
        ask()
    return (_processor_time() - began) * 1000


def _processor_time() -> float:
    """Return how many seconds this process and its session of PostgreSQL have used a processor."""
    from django.db import connection

    connection.ensure_connection()
    nanoseconds, *_ = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text("ascii").split()
    return time.process_time() + int(nanoseconds) / 1e9


if __name__ == "__main__":
    main()
