"""Kubernetes audit log: JSON lines of `audit.k8s.io/v1` Event, as the API server writes them to a file."""

from collections.abc import Iterator

import msgspec

from collectors.formats import Format
from collectors.formats.stream import Line, Skipped
from collectors.normalise import AuditEvent, entry_of
from timeline.entries import Entry, Place

_event = msgspec.json.Decoder(AuditEvent)


def sniff(head: bytes) -> bool:
    """Whether one of the first lines is an audit event; a broken first line does not hide the others."""
    lines = head.split(b"\n")
    return any(line.lstrip().startswith(b"{") and b'"auditID"' in line for line in lines)


def read(lines: Iterator[Line], bodies: bool) -> Iterator[Entry | Skipped]:
    for file, number, data, lost in lines:
        if lost:
            yield Skipped(file, 0, lost)
            continue
        try:
            event = _event.decode(data)
            if not event.auditID:
                raise ValueError("it is not an audit event: it has no auditID")
            entry = entry_of(event, Place(file, number), bodies=bodies)
        except (ValueError, RecursionError) as error:
            yield Skipped(file, number, _reason(error))
        else:
            if entry is not None:
                yield entry


def _reason(error: Exception) -> str:
    if isinstance(error, msgspec.ValidationError):
        return f"a field is not as Kubernetes writes it: {error}"
    if isinstance(error, msgspec.DecodeError):
        return f"not JSON: {error}"
    return str(error)


FORMAT = Format("Kubernetes audit log", sniff, read)
