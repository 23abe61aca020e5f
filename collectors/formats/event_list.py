"""Audit events that do not stand on lines of their own: what a webhook is sent, an array, pretty-printed ones."""

from collections.abc import Iterator

from collectors.formats import Format, audit
from collectors.formats.json_items import Pattern, items, outline
from collectors.formats.stream import Recording, Skipped
from collectors.formats.wrapped import read_records
from timeline.core.entries import Entry


def sniff(head: bytes) -> bool:
    return _events(head) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Entry | Skipped]:
    return read_records(recording, items(recording, _events(recording.head()) or ()), bodies, lambda event: event)


def _events(head: bytes) -> Pattern | None:
    """Where the events are."""
    places = outline(head)
    if ("auditID",) in places:
        return None if audit.sniff(head) else ()
    if ("items",) in places and places.get(("apiVersion",), b"").startswith(b'"audit.k8s.io/'):
        return ("items", "*")
    return next((pattern for pattern in (("items", "*"), ("*",)) if (*pattern, "auditID") in places), None)


FORMAT = Format("Kubernetes audit log, as a list of events", sniff, read)
