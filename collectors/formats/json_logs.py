"""Read lines of logs that stand in JSON over several lines, or in an array.

`gcloud logging read --format json` writes an array of entries, and `journalctl -o json-pretty` an object over several
lines. JSON with an object on each line is read as the log of a program.
"""

import re
from collections.abc import Iterator

from collectors.formats import Format, is_of_rank_below, logs
from collectors.formats.json_items import Pattern, items, outline
from collectors.formats.stream import Recording, Skipped
from collectors.normalise.log_lines import has_a_line
from timeline.core.entries import Observation, Place

_BEGINS = re.compile(rb"\s*+(?:\{[ \t\r]*+\n|\[\s*+\{)")


def sniff(head: bytes) -> bool:
    """Return whether a head has documents, or an array, of objects with the fields of a line, and no other format."""
    if _records(head) is None or b'"auditID' in head or b'\\"auditID' in head or logs.is_log(head):
        return False
    return not is_of_rank_below(FORMAT.rank, head)


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the lines, and what was skipped."""
    log = logs.log_of_path(recording.name)
    for number, item in enumerate(items(recording, _records(recording.head()) or ())):
        if isinstance(item, Skipped):
            yield item
        elif number == logs.LINES:
            yield Skipped(recording.name, 0, f"is a log of which only the first {logs.LINES} lines were read")
            return
        else:
            line = logs.log_line(item.data, log, Place(recording.name, item.line))
            yield line or Skipped(recording.name, item.line, f"{item}: it is no line of a log with a time")


def _records(head: bytes) -> Pattern | None:
    """Return the place of the objects that are lines; None if there are none."""
    if not _BEGINS.match(head):
        return None
    places = outline(head)
    before: Pattern = ("*",) if ("*",) in places else ()
    names = {place[-1].lower() for place in places if len(place) == len(before) + 1 and place[:-1] == before}
    return before if has_a_line(names) else None


FORMAT = Format("log of programs in JSON", sniff, read, rank=2)
