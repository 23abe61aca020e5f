"""Read the table that `kubectl get events` and `kubectl events` print, by default and with -A or -o wide.

A row says how long ago an Event was last seen, not when, and names no Event. So it becomes a line of a log, at the
latest time that it may have: its age before the file was written.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from collectors.formats import Format
from collectors.formats.logs import LINES, line_of_text
from collectors.formats.stream import Recording, Skipped
from collectors.normalise.log_lines import LogText
from timeline.core.entries import LogLine, Observation, Place, Unknown

_HEADER = re.compile(rb"(?:NAMESPACE +)?LAST SEEN +TYPE +REASON +OBJECT +(?:[A-Z]+ +)*MESSAGE\b")
_HEADER_BYTES = 1024  # of a header at most
_COLUMN = re.compile(r"\S+(?: \S+)*")  # columns are separated by at least two spaces
_GAP = re.compile(r" {2,}")
_AGE = re.compile(r"((?:\d{1,12}[ydhms]){1,2})(?: \(x\d++ over \S+\))?")
_PART = re.compile(r"(\d{1,12})([ydhms])")
_SECONDS = {"y": 365 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_LONGEST = 100 * 365 * 86_400  # seconds; no Event is that old
_OBJECT = re.compile(r"([A-Za-z0-9.]+)/([a-z0-9][a-z0-9.-]*)")
_LEVELS = {"Normal": "info", "Warning": "warning"}


def sniff(head: bytes) -> bool:
    """Return whether a head has the header of a table of Events."""
    return any(map(_is_header, head.split(b"\n")))


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield a line of a log for each row, and what was skipped."""
    columns: dict[str, int] = {}  # the name of each column -> where it begins
    rows = 0
    for line in recording.lines():
        if isinstance(line, Skipped):
            yield line
            continue
        text = line.data.decode("utf-8", "replace").rstrip()
        if _is_header(line.data):
            columns = {found.group(): found.start() for found in _COLUMN.finditer(text)}
            continue
        cells = _cells(text, columns)
        rows += bool(cells)
        if not cells:
            yield Skipped(line.file, line.number, "it is no row of a table of Events")
        elif recording.modified and rows <= LINES:
            age = _age(cells["LAST SEEN"])
            if age is None:
                yield Skipped(line.file, line.number, "the table does not say how long ago the Event was seen")
            else:
                yield _line(cells, recording.modified - age * 1_000_000, Place(line.file, line.number))
    if not recording.modified:
        reason = f"is a log of {rows} Events with ages, and nothing says when it was made; record them with -o json"
        yield Skipped(recording.name, 0, reason)
    elif rows > LINES:
        yield Skipped(recording.name, 0, f"is a log of which only the first {LINES} lines were read")


def _is_header(line: bytes) -> bool:
    return len(line) < _HEADER_BYTES and _HEADER.match(line) is not None


def _cells(text: str, columns: dict[str, int]) -> dict[str, str]:
    """Return the cells of a row by the names of their columns; an empty dictionary if it is no row."""
    starts = list(columns.values())
    if starts and all(start >= len(text) or text[start - 1 : start] in ("", " ") for start in starts):
        cells = [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    else:  # `kubectl get -w` widens a column without a new header
        cells = _GAP.split(text, len(starts) - 1)
    if len(cells) != len(starts):
        return {}
    row = dict(zip(columns, cells, strict=True))
    return row if row.get("REASON") and _OBJECT.match(row.get("OBJECT", "")) else {}


def _age(cell: str) -> int | None:
    """Return an age in seconds; kubectl rounds it down. None if the cell has none."""
    found = _AGE.fullmatch(cell)
    if not found:
        return None
    age = sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(found[1]))
    return age if age < _LONGEST else None


def _line(cells: dict[str, str], time: int, place: Place) -> LogLine:
    text = f"{cells['REASON']}: {cells['MESSAGE']} (last seen {cells['LAST SEEN']} before)"
    said = LogText(time, Unknown.AGE, _LEVELS.get(cells["TYPE"], ""), text, True)
    line = line_of_text(said, place.file, place)
    found = _OBJECT.match(cells["OBJECT"])
    kind, name = found.groups() if found else ("", "")
    about = f"{kind.partition('.')[0].lower()}/{cells.get('NAMESPACE', '*')}/{name}"
    return replace(line, objects=tuple(dict.fromkeys((about, *line.objects))))


FORMAT = Format("log of Events, as kubectl prints them", sniff, read)
