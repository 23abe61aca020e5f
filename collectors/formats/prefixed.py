"""Read lines that have something before the audit event: a time, the name of a stream, labels.

Such lines come from `aws logs tail`, an export of CloudWatch to S3, logcli's default output, `kubectl logs
--timestamps` of an API server that logs to its standard output, the files in which a node keeps that log, and syslog.
"""

import re
from collections.abc import Iterator

from collectors.formats import Format
from collectors.formats.json_stream import Item
from collectors.formats.stream import Line, Recording, Skipped
from collectors.formats.wrapped import event_in_text, event_lines, read_records
from timeline.core.entries import Observation

_LINE = re.compile(rb'^[^\s{\["](?>[^\n]{0,1000}?\{"(?!"))[^\n]*"auditID', re.MULTILINE)


def sniff(head: bytes) -> bool:
    """Return whether one of the first lines has an audit event after other text."""
    return _LINE.search(head) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the events, and what was skipped."""
    return read_records(recording, _lines(recording), bodies, _event_in)


def events(recording: Recording) -> Iterator[Line | Skipped]:
    """Yield the events, one a line."""
    return event_lines(recording, _lines(recording), _event_in)


def _lines(recording: Recording) -> Iterator[Item | Skipped]:
    lines = recording.lines()
    return (line if isinstance(line, Skipped) else Item(line.number, (), line.data) for line in lines)


def _event_in(line: bytes) -> bytes | None:
    return event_in_text(line.decode().rpartition("}")[0] + "}")


FORMAT = Format("Kubernetes audit log with something in front of each line", sniff, read, events)
