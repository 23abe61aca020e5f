"""Measure how long the server takes for a window of a timeline with 10 000 000 changes of 300 000 objects.

    python -m bench.ten_million [--turns 17] [--windows 400] [--data-dir D]

An import of so many changes would take most of an hour, so the recording is made of rows: the sample is imported
until it has 100 000 lines, and the rows of its tracks and findings are copied 17 times, with later times and other
numbers. Each life has 23 changes, and each hundredth has 1000. The entries are not copied, since windows read none. To
make the recording takes one to two minutes; with --data-dir it stays there for the next run.
"""

import argparse
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
from django.db import connection, transaction
from psycopg import sql
from psycopg.types.range import TimestamptzRange

from bench.database import prepared_database
from bench.figures import SAMPLE, Figure, show
from bench.windows import figures_of, recording, vacuum

_CHANGES, _MANY, _EACH = 23, 1000, 100  # of a life, and of each hundredth
_APART = 1 << 52  # between the numbers of two copies of a track


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=17)
    parser.add_argument("--windows", type=int, default=400)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with prepared_database(options.data_dir) as folder:
        show(measure(options.turns, options.windows, folder))


def measure(turns: int, windows: int, folder: Path) -> Iterator[Figure]:
    """Yield the figures of windows of 40 lanes."""
    source, lives, changes = repeated_rows(turns, folder)
    print(f"{lives} lives with {changes} changes")
    yield from figures_of(source, windows, f"{changes / 1e6:.0f} 000 000 changes", asked=100)


def repeated_rows(turns: int, folder: Path) -> tuple[int, int, int]:
    """Return the id of the source with so many copies of the sample's rows, which is made unless it exists, and its
    numbers of lives and of changes."""
    from timeline.models import Source
    from timeline.storage import store
    from timeline.storage.copying import append
    from timeline.storage.entries import tables

    template: Any = Source.objects.get(pk=recording(SAMPLE, 100_000, folder))
    name = f"bench of {turns} turns"
    source = Source.objects.filter(name=name, ready=True).first()
    if source is None:
        began = time.perf_counter()
        source = store.open_source(name)
        table = store.track_table(source)
        with transaction.atomic(), connection.cursor() as cursor:
            rows, lifelines = _read(template)  # before COPY, which takes the connection
            append(table, store.TRACK, _tracks(template, source, turns, rows, lifelines))
            tables.build_indexes(connection.connection.cursor(), table, of="timeline_track")
            cursor.execute(sql.SQL("ANALYZE {}").format(table))
            _copy_findings(template, source, turns)
        length = template.last - template.first + timedelta(minutes=1)
        source.first, source.last = template.first, template.last + (turns - 1) * length
        tide = template.tide
        lanes, reach = tide["begun"][-1], tide["reach"][-1]
        slices = len(tide["begun"])
        source.tide = {"reach": [reach] * slices, "begun": [lanes] * slices, "living": [lanes] * slices}
        source.census, source.document, source.row_counts = template.census, template.document, template.row_counts
        source.entries = sum(len(rows) for rows in _lifelines(template).values()) * turns
        source.save()
        store.show_source(source)
        vacuum()
        print(f"made in {time.perf_counter() - began:.0f} s")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM timeline_track WHERE source_id = %s", [source.pk])
        return source.pk, cursor.fetchone()[0], source.entries


def _lifelines(template: Any) -> dict[int, list[list[Any]]]:
    """Return the lifelines of the template's tracks by their numbers, with more changes between the first and last."""
    from timeline.models import Track

    tracks: Any = Track.objects.filter(source=template).order_by("id").values_list("id", "lifeline")
    return {number: _longer(rows, _CHANGES if at % _EACH else _MANY) for at, (number, rows) in enumerate(tracks)}


def _longer(rows: list[list[Any]], many: int) -> list[list[Any]]:
    """Return a lifeline of so many changes, which repeats those that it has besides a creation and a deletion."""
    held, full = None, []
    for row in rows:
        held = row[-1] if row[-1] is not None else held
        full.append([*row[:-1], held])
    between = [row for row in full if row[2] not in ("created", "deleted")] or [[*full[0][:2], "updated", *full[0][3:]]]
    first, end = full[0], full[-1] if full[-1][2] == "deleted" else None
    step = (full[-1][0] - first[0]) // many
    more = [[first[0] + number * step, *between[number % len(between)][1:]] for number in range(1, many - 1)]
    return [first, *more, *([end] if end else [])]


def _read(template: Any) -> tuple[list[dict[str, Any]], dict[int, list[list[Any]]]]:
    """Return the columns of the template's tracks but their lifelines, and these by the numbers of the tracks."""
    from timeline.models import Track
    from timeline.storage.store import TRACK

    fields = [field for field in TRACK if field not in ("source_id", "lifeline")]
    return list(Track.objects.filter(source=template).order_by("id").values(*fields)), _lifelines(template)


def _tracks(
    template: Any, source: Any, turns: int, rows: list[dict[str, Any]], lifelines: dict[int, list[list[Any]]]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the copies: those of the first turn describe the lanes of all."""
    from timeline.history.packing import LIFELINES, Packer
    from timeline.storage.store import TRACK

    packer = Packer(LIFELINES)
    length = template.last - template.first + timedelta(minutes=1)
    later = length // timedelta(microseconds=1)
    most = max(row["number"] for row in rows)
    for turn in range(turns):
        for row in rows:
            shifted = [[each[0] + turn * later, *each[1:]] for each in lifelines[row["id"]]]
            new = {
                **row,
                "source_id": source.pk,
                "id": row["id"] + turn * _APART,
                "number": row["number"] + turn * most,
                "life": _moved(row["life"], turn * length),
                "lifeline": packer.pack(orjson.dumps(shifted)),
                "needs": row["needs"] or None,
                "addresses": row["addresses"] or None,
                "writers": row["writers"] or None,
                "span": _moved(row["span"], timedelta(), (turns - 1) * length) if row["span"] and not turn else None,
                "changed": row["changed"] + (turns - 1) * length if row["span"] and not turn else None,
            }
            yield tuple(new[field] for field in TRACK)


def _moved(span: Any, begin: timedelta, end: timedelta | None = None) -> TimestamptzRange:
    over = span.upper + (begin if end is None else end) if span.upper else None
    return TimestamptzRange(span.lower + begin, over, "[]" if over else "[)")


def _copy_findings(template: Any, source: Any, turns: int) -> None:
    """Copy the findings and the rows of their list."""
    from timeline.models import Finding, Occurrence

    length = template.last - template.first + timedelta(minutes=1)
    later = length // timedelta(microseconds=1)
    findings = list(Finding.objects.filter(source=template).values())
    listed = list(Occurrence.objects.filter(source=template).values())
    for turn in range(turns):
        by, mark = turn * length, f"{turn:02x}"
        Finding.objects.bulk_create(
            Finding(
                **{
                    **row,
                    "source_id": source.pk,
                    "identity": mark + row["identity"][2:],
                    "subject": row["subject"] + turn * _APART,
                    "tracks": [track + turn * _APART for track in row["tracks"]],
                    "first": row["first"] + by,
                    "last": row["last"] + by,
                    "occurrences": [_later(each, turn * later, turn) for each in row["occurrences"]],
                }
            )
            for row in findings
        )
        Occurrence.objects.bulk_create(
            Occurrence(
                **{
                    **row,
                    "source_id": source.pk,
                    "key": mark + row["key"][2:],
                    "tracks": [track + turn * _APART for track in row["tracks"]],
                    "first": row["first"] + by,
                    "last": row["last"] + by,
                    "findings": [mark + identity[2:] for identity in row["findings"]],
                }
            )
            for row in listed
        )


def _later(each: dict[str, Any], by: int, turn: int) -> dict[str, Any]:
    """Return an occurrence whose times are so many microseconds later, in the copies of a turn."""
    proof = [
        {**one, "at": one["at"] + by, "track": one["track"] and one["track"] + turn * _APART} for one in each["proof"]
    ]
    moved = {"first": each["first"] + by, "last": each["last"] + by, "group": f"{turn:02x}{each['group'][2:]}"}
    return {**each, **moved, "proof": proof}


if __name__ == "__main__":
    main()
