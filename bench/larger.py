"""Make a large recording from a small one by repeating it, each time with later times and other objects."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from collectors.formats.stream import Limits, Line, Skipped, Usage, open_all

_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_UID = re.compile(rb"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)")
# Revisions of objects, and those in the addresses of watches.
_REVISION = re.compile(rb'("resourceVersion":"|resourceVersion=)([1-9]\d*)')


def lines_of(path: Path) -> Iterator[bytes]:
    for recording in open_all([(path, path.name)], Usage(Limits())):
        if not isinstance(recording, Skipped):
            yield from (line.data for line in recording.lines() if isinstance(line, Line))


def repeated(path: Path, times: int) -> Iterator[bytes]:
    """Yield an audit log `times` times, with shifted times, UIDs and revisions; namespaces are created only once."""
    lines = list(lines_of(path))
    found = sorted(match[0] for line in lines for match in (_TIME.search(line),) if match)
    length = _moment(found[-1]) - _moment(found[0]) + timedelta(minutes=1)
    highest = max(int(match[2]) for line in lines for match in _REVISION.finditer(line))
    for turn in range(times):
        for line in lines:
            if turn == 0 or b'"resource":"namespaces"' not in line:
                yield _shifted(line, turn, turn * length, turn * highest)


def _shifted(line: bytes, turn: int, by: timedelta, revisions: int) -> bytes:
    line = _TIME.sub(lambda match: _later(match[0], by), line)
    line = _UID.sub(lambda match: b"%08x" % (int(match[0], 16) ^ turn), line)
    return _REVISION.sub(lambda match: b"%s%d" % (match[1], int(match[2]) + revisions), line)


@cache
def _later(time: bytes, by: timedelta) -> bytes:
    return (_moment(time) + by).isoformat().encode()


def _moment(time: bytes) -> datetime:
    return datetime.fromisoformat(time.decode())
