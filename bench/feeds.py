"""Measure what a commit of a live source costs the web process, by the number of sets of rights that follow it.

    python -m bench.feeds [--sets 20] [--commits 60] [--pods 10] [--data-dir D]

A cluster of as many namespaces as there are sets, each with some Pods, is invented in a PostgreSQL of its own. Each
commit changes Pods in all namespaces, or in one. After each, the feed of whoever sees everything reads what it changed,
and then the feed of each set, which sees one namespace. The medians of the milliseconds are printed, and of all sets
together.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.database import prepared_database
from bench.pushing import pod


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--pods", type=int, default=10, help="in each namespace")
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with prepared_database(options.data_dir):
        measure(options.sets, options.commits, options.pods)


def measure(sets: int, commits: int, pods: int) -> None:

    from timeline import pipeline
    from timeline.core.entries import moment
    from timeline.models import Cluster
    from timeline.queries.window.deltas import Deltas
    from timeline.storage import live
    from timeline.storage.permitted.limits import EVERYTHING, Permitted, seeing

    cluster = Cluster.objects.create(name=f"bench {time.time()}", state="live", expires_at=moment(4 * 10**15))
    held = live.open_again(live.begin(cluster))
    source = held.source.pk
    names = [f"team-{number}" for number in range(sets)]
    rights = [EVERYTHING, *(Permitted(namespaces={source: frozenset([name])}) for name in names)]
    batches = _batches(names, pods)
    pipeline.follow(held, next(batches)(names, pods))
    deltas = [Deltas(source, held.source.sequence) for _ in rights]

    def read(index: int) -> tuple[float, bool]:
        """Return how many milliseconds a feed needs for what was committed, and whether it has a message."""
        began = time.perf_counter()
        message = None
        if not deltas[index].skip(rights[index]):
            with seeing(rights[index]):
                message = deltas[index].read()
        return (time.perf_counter() - began) * 1000, message is not None

    for what, of_commit in (("in all namespaces", names), ("in one namespace", names[:1])):
        whole, seen, hidden, together = list[float](), list[float](), list[float](), list[float]()
        for _ in range(commits):
            pipeline.follow(held, next(batches)(of_commit, 2))
            whole.append(read(0)[0])
            took = [read(index) for index in range(1, len(rights))]
            seen += [length for length, sent in took if sent]
            hidden += [length for length, sent in took if not sent]
            together.append(sum(length for length, _ in took))
        print(f"a commit that changes {2 * len(of_commit)} Pods {what}, the median of {commits}:")
        print(f"  the feed of everything {_median(whole)}")
        print(f"  the feed of a set that sees something of it {_median(seen)}, nothing of it {_median(hidden)}")
        print(f"  the feeds of {sets} sets together {_median(together)}", flush=True)


def _median(lengths: list[float]) -> str:
    return f"{statistics.median(lengths):.1f} ms" if lengths else "–"


def _batches(names: list[str], pods: int) -> Iterator[Any]:
    """Yield functions that make a batch: `count` Pods of each of some namespaces become ready or not ready."""
    from msgspec.structs import replace

    from collectors.normalise.objects import observed_object
    from timeline.core.entries import Change

    revisions, next_pod = itertools.count(1000), itertools.count()
    begun = False

    def batch(chosen: list[str], count: int) -> list[Any]:
        made = []
        for name in chosen:
            for _ in range(count):
                number, now, revision = next(next_pod) % pods, time.time(), next(revisions)
                body = pod(number, 0, revision, revision % 2 == 0, now).replace(b'"bench"', f'"{name}"'.encode())
                body = body.replace(b'"uid-', f'"{name}-uid-'.encode())
                change = Change.MODIFIED if begun else Change.OBSERVED
                entry = observed_object(body, change, None, bodies=True).entry
                made.append(replace(entry, received=int(now * 1e6), arrived=int(now * 1e6)))
        return made

    while True:
        yield batch
        begun = True


if __name__ == "__main__":
    main()
