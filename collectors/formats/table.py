"""Read CSV with audit events in one column.

Logs Insights exports the column @message, Log Analytics the column log_s; the column may have any name.
"""

import csv
import re
from collections.abc import Iterator

from collectors.formats import Format
from collectors.formats.json_stream import Item
from collectors.formats.stream import Line, Recording, Skipped
from collectors.formats.wrapped import event_in_text, event_lines, read_records
from timeline.core.entries import Observation

_CELL = re.compile(rb'^([^{\n]*,)?"\{""[^\n]*""auditID""', re.MULTILINE)


def sniff(head: bytes) -> bool:
    """Return whether one of the first lines has a quoted cell with an audit event."""
    return _CELL.search(head) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the events, and what was skipped."""
    return read_records(recording, _cells(recording), bodies, lambda cell: event_in_text(cell.decode()))


def events(recording: Recording) -> Iterator[Line | Skipped]:
    """Yield the events, one a line."""
    return event_lines(recording, _cells(recording), lambda cell: event_in_text(cell.decode()))


def _cells(recording: Recording) -> Iterator[Item | Skipped]:
    """Yield the cell with an event of each row after the header; an empty one for a row without an event."""
    csv.field_size_limit(recording.limits.line_bytes)
    number = 0  # of the last line that was read
    lost: list[Skipped] = []

    def lines() -> Iterator[str]:
        nonlocal number
        for line in recording.lines():
            if isinstance(line, Skipped):
                lost.append(line)
            else:
                number = line.number
                yield line.data.decode(errors="surrogateescape") + "\n"

    rest = lines()
    next(rest, "")
    while True:
        try:
            for row in csv.reader(rest):
                cell = next((cell for cell in row if "auditID" in cell), "")
                yield Item(number, (), cell.encode(errors="surrogateescape"))
            break
        except csv.Error as error:
            yield Skipped(recording.name, number, f"not CSV: {error}")
    yield from lost


FORMAT = Format("Kubernetes audit log in a table (CSV)", sniff, read, events)
