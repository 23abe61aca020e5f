"""Read the journal of systemd as `journalctl -o export` and `-o verbose` write it: each field on a line.

The other forms of journalctl have a line for each entry, and are read as logs of programs.
"""

import re
from collections.abc import Iterator

import orjson

from collectors.formats import Format
from collectors.formats.logs import LINES, LONGEST_BYTES, log_line
from collectors.formats.stream import Line, Recording, Skipped
from collectors.normalise.log_lines import LONGEST
from timeline.core.entries import Observation, Place

_CURSOR = b"__CURSOR="  # the first field of an entry that is exported
_TITLE = re.compile(rb"[A-Z][a-z]{2} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} [A-Z+-][A-Z0-9:]{1,9}) \[s=[0-9a-f]")
_FIELD = re.compile(rb"\s{0,8}([A-Z_][A-Z0-9_]{0,63})=([^\n]*+)")
_NAMED = re.compile(rb"([A-Z_][A-Z0-9_]{0,63})$")  # a field that is not text: its length and its value follow
_LENGTH = 8  # bytes before such a value
_KEPT = ("MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "_HOSTNAME", "__REALTIME_TIMESTAMP")


def sniff(head: bytes) -> bool:
    """Return whether a head begins with an entry of a journal whose fields stand on lines of their own."""
    return (head.startswith(_CURSOR) and b"\n__REALTIME_TIMESTAMP=" in head) or _TITLE.match(head) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield a line of a log for each entry, and what was skipped."""
    fields: dict[str, str] = {}
    first = Line(recording.name, 0, b"")
    name, read = "", 0
    for line in recording.lines():
        if isinstance(line, Skipped):
            yield line
            continue
        data = line.data[:LONGEST_BYTES]
        title = _TITLE.match(data)
        if title or data.startswith(_CURSOR):
            if fields and read < LINES:
                yield _line(fields, first)
                read += 1
            elif read == LINES:
                yield Skipped(recording.name, 0, f"is a log of which only the first {LINES} lines were read")
                return
            fields, first, name = ({"time": title[1].decode()} if title else {}), line, ""
        elif field := _FIELD.match(data):
            name = field[1].decode()
            if name in _KEPT:
                fields[name] = field[2].decode("utf-8", "replace")[:LONGEST]
        elif named := _NAMED.match(data):
            name = named[1].decode()
            fields.pop(name, None)
        elif name in _KEPT and len(fields.get(name, "")) < LONGEST:
            text = data.decode("utf-8", "replace") if name in fields else data[_LENGTH:].decode("utf-8", "replace")
            fields[name] = f"{fields[name]}\n{text.strip()}" if name in fields else text
    if fields and read < LINES:
        yield _line(fields, first)


def _line(fields: dict[str, str], first: Line) -> Observation | Skipped:
    """Return an entry of the journal as a line of a log, or why it is skipped."""
    place = Place(first.file, first.number)
    line = log_line(orjson.dumps(fields), first.file, place) if "MESSAGE" in fields else None
    return line or Skipped(first.file, first.number, "the entry of the journal has no text or no time")


FORMAT = Format("log of systemd's journal", sniff, read)
