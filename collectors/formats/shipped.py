"""Read audit events in the records of any other log store or log shipper.

Examples are Filebeat, Fluent Bit, Vector and Splunk. The event is searched in the whole record, as an object or as
text. The first record shows where the records are: on lines of their own, or in an array somewhere in a document.
"""

import re
from collections.abc import Iterator

from collectors.formats import Format, is_of_rank_below
from collectors.formats.json_items import Pattern, items, outline
from collectors.formats.stream import Line, Recording, Skipped
from collectors.formats.wrapped import event_in_json, event_lines, read_records
from timeline.core.entries import Observation

_IN_TEXT = re.compile(rb'\\"auditID\\+"')


def sniff(head: bytes) -> bool:
    """Return whether a head has records with audit events, and is of no other format."""
    return _records(head) is not None and not is_of_rank_below(FORMAT.rank, head)


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the events, and what was skipped."""
    return read_records(recording, items(recording, _records(recording.head()) or ()), bodies, event_in_json)


def events(recording: Recording) -> Iterator[Line | Skipped]:
    """Yield the events, one a line."""
    return event_lines(recording, items(recording, _records(recording.head()) or ()), event_in_json)


def _records(head: bytes) -> Pattern | None:
    """Return the pattern of the records: up to the last array around the first event; None if there is none."""
    places = outline(head)
    for place, value in places.items():
        parsed = place[-1:] == ("auditID",)
        if not parsed and not _IN_TEXT.search(value):
            continue
        around = [place[:length] for length in range(len(place) - parsed)]
        if not any((*outer, "apiVersion") in places and (*outer, "kind") in places for outer in around):
            inside = place[::-1].index("*") if "*" in place else len(place)
            return place[: len(place) - inside]
    return None  # also for a Kubernetes object that quotes an event in a text of its own


FORMAT = Format("Kubernetes audit log in the records of a log shipper", sniff, read, events, rank=1)
