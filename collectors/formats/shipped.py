"""Records of any other log store or log shipper (Filebeat, Fluent Bit, Vector, Splunk, …) that carry audit events.

The event is looked for wherever it stands in a record, as an object or as text. Where the records are, on lines or in
an array somewhere in a document, is told by the first of them.
"""

import re
from collections.abc import Iterator

from collectors.formats import Format, aks, audit, cloudwatch, elastic, event_list, gke, loki
from collectors.formats.json_items import Pattern, items, outline
from collectors.formats.stream import Recording, Skipped
from collectors.formats.wrapped import event_in_json, read_records
from timeline.core.entries import Entry

_IN_TEXT = re.compile(rb'\\"auditID\\+"')
_OTHERS = (aks, audit, cloudwatch, elastic, event_list, gke, loki)


def sniff(head: bytes) -> bool:
    return _records(head) is not None and not any(other.FORMAT.sniff(head) for other in _OTHERS)


def read(recording: Recording, bodies: bool) -> Iterator[Entry | Skipped]:
    return read_records(recording, items(recording, _records(recording.head()) or ()), bodies, event_in_json)


def _records(head: bytes) -> Pattern | None:
    """Where the records are: up to the last array around the first event."""
    places = outline(head)
    for place, value in places.items():
        parsed = place[-1:] == ("auditID",)
        if not parsed and not _IN_TEXT.search(value):
            continue
        around = [place[:length] for length in range(len(place) - parsed)]
        if not any((*outer, "apiVersion") in places and (*outer, "kind") in places for outer in around):
            inside = place[::-1].index("*") if "*" in place else len(place)
            return place[: len(place) - inside]
    return None  # or it is a Kubernetes object that has an event in its own text


FORMAT = Format("Kubernetes audit log in the records of a log shipper", sniff, read)
