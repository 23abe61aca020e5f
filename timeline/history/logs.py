"""Keep the lines of the logs of programs of one source. It does no I/O."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain

from msgspec.structs import replace

from timeline.core.entries import UNDATED_YEAR, LogLine, Unknown, microseconds, moment
from timeline.history.lifelines import Name

DAY = 86_400_000_000  # µs
_UNDATED = Unknown.YEAR, Unknown.DATE
_Key = tuple[str, int, str, int]
_PLACED = microseconds(datetime(UNDATED_YEAR + 20, 1, 1, tzinfo=UTC))  # before it, nothing has placed a time


class Logs:
    """Keep lines by the log in which they stand and by the objects that they name.

    What it answers does not depend on the order in which lines were learned, nor on repetitions: a line with the same
    time, text and number in the same log is one line, whatever its file is called.
    """

    def __init__(self, about: Callable[[], int]) -> None:
        """`about` returns a time of the source, in microseconds since 1970, or 0: lines that have no year or no date
        are placed nearest to the last date in their own file, else to this time, else to other lines."""
        self._about = about
        self._known: dict[_Key, LogLine] = {}
        self._sorted: tuple[int, dict[str, list[LogLine]]] | None = None  # the time of the source, and what follows
        self._naming: dict[str, list[LogLine]] | None = None  # by object, as far as it was asked for

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[LogLine]:
        """Yield all lines as they were learned, in no order."""
        return iter(self._known.values())

    def learn(self, line: LogLine) -> bool:
        """Learn a line; return whether that added information."""
        key = line.log, line.time, line.text, _place(line)[1]
        before = self._known.get(key)
        if before is not None and _place(before) <= _place(line):
            return False
        self._known[key] = line
        self._sorted = self._naming = None
        return True

    def without(self) -> dict[Unknown, int]:
        """Return how many logs have lines with incomplete times, by what is missing."""
        logs = {(line.unknown, line.log) for line in self._known.values() if line.unknown}
        return Counter(unknown for unknown, _ in logs)

    def counts(self) -> dict[str, int]:
        """Return how many lines each log has, by its name."""
        return Counter(line.log for line in self._known.values())

    def names(self) -> Sequence[str]:
        """Return the names of all logs, sorted."""
        return sorted(self._by_log())

    def log(self, name: str) -> Sequence[LogLine]:
        """Return the lines of a log as they stand in its file; of several files, the one that begins first comes first.

        Lines without a year or a date are left out as long as nothing else in the source has one.
        """
        return self._by_log().get(name, ())

    def naming(self, name: Name, *, alone: bool) -> Sequence[LogLine]:
        """Return the lines of all logs that name an object, sorted by time. With `alone`, lines that give its name
        without a namespace count, too.

        If a line does not say the kind of the object, a line about a Service may be one about the Pod of its name.
        """
        by_log = self._by_log()
        if self._naming is None:
            self._naming = defaultdict(list)
            for line in sorted((line for lines in by_log.values() for line in lines), key=_order):
                for each in line.objects:
                    self._naming[each].append(line)
        ways = [f"{name.namespace}/{name.name}", *([f"*/{name.name}"] if alone else [])]
        ways += [f"{name.kind.lower()}/{way}" for way in ways]
        found = [lines for way in ways if (lines := self._naming.get(way))]
        return sorted(chain.from_iterable(found), key=_order) if len(found) > 1 else found[0] if found else []

    def forget(self, before: int) -> None:
        """Forget the lines that were written before a time, in microseconds since 1970."""
        dates = _Dates(self._known.values(), self._about())
        kept = {key: line for key, line in self._known.items() if (dates.dated(line) or line).time >= before}
        if len(kept) < len(self._known):
            self._known, self._sorted, self._naming = kept, None, None

    def _by_log(self) -> dict[str, list[LogLine]]:
        if self._sorted is None or self._sorted[0] != self._about():
            dates = _Dates(self._known.values(), self._about())
            by_log: dict[str, list[LogLine]] = defaultdict(list)
            for line in self._known.values():
                if dated := dates.dated(line):
                    by_log[line.log].append(dated)
            self._sorted, self._naming = (
                (self._about(), {log: _as_written(lines) for log, lines in by_log.items()}),
                None,
            )
        return self._sorted[1]


class _Dates:
    """Complete the times of lines that lack a year or a date from what is known beside them."""

    def __init__(self, lines: Collection[LogLine], about: int) -> None:
        self._ends: dict[str, int] = {}  # the last time that is known in each file
        self._last: dict[str, int] = {}  # the last of the times without a date in each file
        self._about = about
        if not any(line.unknown in _UNDATED for line in lines):
            return
        for line in lines:
            file = _place(line)[0] or line.log
            if line.unknown is Unknown.DATE:
                self._last[file] = max(line.time, self._last.get(file, 0))
            elif line.unknown is not Unknown.YEAR:
                self._ends[file] = max(line.time, self._ends.get(file, 0))
        self._about = about or max(self._ends.values(), default=0)

    def dated(self, line: LogLine) -> LogLine | None:
        """Return a line with a date; the line itself if it has one, and None if nothing beside it has one."""
        if line.unknown not in _UNDATED:
            return line
        file = _place(line)[0] or line.log
        about = self._ends.get(file) or self._about
        if not about:  # its archive may have said when its file was written
            return None if line.time < _PLACED else line
        if line.unknown is Unknown.DATE:
            return replace(line, time=line.time + shifted(self._last[file], about))
        return replace(line, time=without_year(line.time, about))


def shifted(last: int, about: int) -> int:
    """Return by how many µs to shift the lines of a file, in whole days, so that the last is nearest to a time."""
    return round((about - last) / DAY) * DAY


def without_year(time: int, about: int, *, latest: bool = False) -> int:
    """Return a time whose year is not known, in the year in which it is nearest to another; or, with `latest`, in the
    last year in which it is not after the other. In µs since 1970."""
    written, year = moment(time), moment(about).year
    times = [microseconds(each) for one in range(year - 4, year + 2) if (each := _in_year(written, one))]
    if latest:
        return max((each for each in times if each <= about), default=time)
    return min(times, key=lambda each: (abs(each - about), each), default=time)


def _in_year(written: datetime, year: int) -> datetime | None:
    if not 1970 < year < 9999:
        return None
    try:
        return written.replace(year=year, tzinfo=UTC)
    except ValueError:  # the 29th of February
        return None


def _as_written(lines: Iterable[LogLine]) -> list[LogLine]:
    """Return the lines of one log file by file. A file may hold the logs of two Pods, one behind the other."""
    files: dict[str, list[LogLine]] = defaultdict(list)
    for line in lines:
        files[_place(line)[0]].append(line)
    for of_file in files.values():
        of_file.sort(key=lambda line: (*_place(line), line.time, line.text))
    return list(chain.from_iterable(sorted(files.values(), key=lambda of_file: min(map(_order, of_file)))))


def _order(line: LogLine) -> tuple[int, str, str, int, str]:
    return line.time, line.log, *_place(line), line.text


def _place(line: LogLine) -> tuple[str, int]:
    return (line.place.file, line.place.line) if line.place else ("", 0)
