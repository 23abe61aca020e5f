"""Measure how long the server takes to say what changed before an incident, an object or a time, in a large recording.

    python -m bench.changes [FILE] [--size 1000000] [--rounds 300] [--minutes 30] [--data-dir D]

FILE (an audit log; else the sample) is repeated with shifted times, UIDs and revisions until there are so many lines,
and imported into a PostgreSQL of its own. With --data-dir the recording stays there for the next run.
"""

import argparse
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from bench.database import prepared_database
from bench.figures import SAMPLE
from bench.windows import recording


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with prepared_database(options.data_dir) as folder:
        measure(options.file, options.size, options.rounds, options.minutes, folder)


def measure(path: Path, size: int, rounds: int, minutes: int, folder: Path) -> None:
    from django.db import connection

    from timeline.models import IntentChange

    source = recording(path, size, folder)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(f"{size} lines have {IntentChange.objects.filter(source=source).count()} changes that somebody meant")
    for name, took in _times(source, rounds, minutes):
        took.sort()
        p99 = took[int(len(took) * 0.99)]
        print(f"before {name}: {statistics.median(took):.1f} ms, p99 {p99:.1f}, at most {took[-1]:.1f}")


def _times(source: int, rounds: int, minutes: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the milliseconds that each of some random questions takes."""
    from timeline.models import Incident, Track
    from timeline.queries.changes import before
    from timeline.queries.changes.before import Asked
    from timeline.queries.window.overview import overview

    chance = random.Random(7)
    whole = overview(source)
    incidents = list(Incident.objects.filter(source=source).order_by("identity").values_list("identity", flat=True))
    tracks = list(Track.objects.filter(source=source).order_by("id").values_list("id", flat=True))
    asked: dict[str, list[Asked]] = {
        "a time": [Asked([], chance.randint(whole["first"], whole["last"])) for _ in range(rounds)],
    }
    asked["an incident"] = [before.asked(source, incident=each) for each in chance.choices(incidents, k=rounds)]
    asked["an object's end"] = [before.asked(source, track=each) for each in chance.choices(tracks, k=rounds)]
    for name, questions in asked.items():
        took = []
        for question in questions:
            began = time.perf_counter()
            before.changes_before(source, question.at, about=question.tracks, minutes=minutes)
            took.append((time.perf_counter() - began) * 1000)
        yield name, took


if __name__ == "__main__":
    main()
