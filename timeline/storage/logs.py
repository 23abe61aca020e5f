"""Write the lines of the logs of programs to pages, from which screens read them.

The pages are derived from the world, because only there a line has its year, and counts once. They are in the order of
time, and name the objects that their lines name, so that the lines of a range or of an object are found by an index.
"""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Max
from msgspec.structs import replace
from psycopg import sql

from timeline.core.entries import LogLine, moment
from timeline.history.codec import Known, line_of, observation_of
from timeline.history.packing import ENTRIES, Packer, unpack
from timeline.history.world.world import World
from timeline.models import Log, LogPage, Source
from timeline.storage.copying import append, as_text

LINES = 256  # the most lines of a page
GRAVE = {"warning": 1, "error": 2, "fatal": 2}
_TABLE = sql.Identifier("timeline_log_page")
_COLUMNS = ("source_id", "log", "number", "first", "last", "count", "worst", "objects_named", "times", "lines")


def write(source: Source, world: World) -> None:
    """Replace the pages of a source by those that follow from its world.

    Pages of a live source stay if the world has forgotten their lines. If nothing else tells the time that the source
    covers, its logs do.
    """
    logs = [(name, lines) for name, lines in world.logs() if lines]
    pages = LogPage.objects.filter(source=source)
    if not logs and not world.remembered:
        pages.delete()
        return
    numbers = {each.name: each.number for each in Log.objects.filter(source=source)}
    pages.filter(first__gte=moment(world.remembered)).delete()
    kept = {log: (number, last) for log, number, last in pages.values_list("log").annotate(Max("number"), Max("last"))}
    packer = Packer(ENTRIES)
    rows: list[tuple[Any, ...]] = []
    fresh: list[Log] = []
    for name, lines in logs:
        stored = as_text(name)
        if stored not in numbers:
            numbers[stored] = max(numbers.values(), default=0) + 1
            fresh.append(Log(source=source, number=numbers[stored], name=stored))
        log = numbers[stored]
        number, last = kept.get(log, (0, None))
        new = [line for line in lines if last is None or moment(line.time) > last]
        rows += _rows(source, log, number, sorted(new, key=_order), packer)
    Log.objects.bulk_create(fresh)
    append(_TABLE, _COLUMNS, rows)
    if not world.seen and logs:
        times = [line.time for _, lines in logs for line in lines]
        source.first, source.last = moment(min(times)), moment(max(times))


def _order(line: LogLine) -> tuple[int, str, int, str]:
    place = line.place
    return line.time, place.file if place else "", place.line if place else 0, line.text


def _rows(source: Source, log: int, number: int, lines: list[LogLine], packer: Packer) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(lines), LINES):
        page = lines[start : start + LINES]
        number += 1
        levels = bytes(GRAVE.get(line.level, 0) for line in page)
        first = page[0].time
        times = array("q", (line.time - first for line in page)).tobytes()
        named = sorted({each for line in page for each in line.objects})
        yield (
            source.pk,
            log,
            number,
            moment(first).isoformat(),
            moment(page[-1].time).isoformat(),
            len(page),
            max(levels),
            "{" + ",".join(f'"{each}"' for each in named if _plain(each)) + "}",
            packer.pack(times + levels),
            packer.pack(b"\n".join(line_of(replace(line, log="")) for line in page)),
        )


def _plain(name: str) -> bool:
    """Return whether a name can be written into an array of PostgreSQL as it is."""
    return not set(name) & set('"\\\0')


def times_of(packed: bytes, first: int) -> list[tuple[int, int]]:
    """Return (time, gravity of the level) of each line of a page."""
    content = unpack(packed)
    count = len(content) // 9
    times = array("q", content[: 8 * count])
    return [(first + time, level) for time, level in zip(times, content[8 * count :], strict=True)]


def raw_lines_of(packed: bytes) -> list[bytes]:
    """Return the lines of a page as they are stored."""
    return unpack(packed).split(b"\n")


def decoded(lines: Iterable[bytes], known: Known) -> Iterator[LogLine]:
    """Yield the lines that stored lines hold, without the name of their log."""
    for each in lines:
        line = observation_of(each, known)
        assert isinstance(line, LogLine)
        yield line
