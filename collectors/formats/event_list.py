"""Read audit events that are not on lines of their own.

It reads the EventList of `audit.k8s.io/v1`, which the API server sends to a webhook, arrays of events, and
pretty-printed events.
"""

from collections.abc import Iterator

from collectors.formats import Format, audit
from collectors.formats.json_items import Pattern, items, outline
from collectors.formats.stream import Line, Recording, Skipped
from collectors.formats.wrapped import event_lines, read_records
from timeline.core.entries import Observation


def sniff(head: bytes) -> bool:
    """Return whether a head has audit events that are not on lines of their own."""
    return _events(head) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the events, and what was skipped."""
    return read_records(recording, items(recording, _events(recording.head()) or ()), bodies, lambda event: event)


def events(recording: Recording) -> Iterator[Line | Skipped]:
    """Yield the events, one a line."""
    return event_lines(recording, items(recording, _events(recording.head()) or ()), lambda event: event)


def _events(head: bytes) -> Pattern | None:
    """Return the pattern that leads to the events; None if the head has none, or has them on lines of their own."""
    places = outline(head)
    if ("auditID",) in places:
        return None if audit.sniff(head) else ()
    if ("items",) in places and places.get(("apiVersion",), b"").startswith(b'"audit.k8s.io/'):
        return ("items", "*")
    return next((pattern for pattern in (("items", "*"), ("*",)) if (*pattern, "auditID") in places), None)


FORMAT = Format("Kubernetes audit log, as a list of events", sniff, read, events)
