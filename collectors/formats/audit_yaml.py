"""Read audit events in YAML, and entries of Google's Cloud Logging that hold one.

`gcloud logging read` prints YAML unless it is asked for JSON; other events were converted to YAML.
"""

import re
from collections.abc import Iterator

from collectors.formats import Format, yaml_documents
from collectors.formats.json_stream import Item
from collectors.formats.stream import Recording, Skipped
from collectors.formats.wrapped import event_in_json, read_records
from collectors.normalise import gke
from timeline.core.entries import Observation

_EVENT = re.compile(rb"^(?:auditID|protoPayload):", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """Return whether an event, or an entry of Cloud Logging, begins without indentation."""
    return yaml_documents.is_yaml(head) and bool(_EVENT.search(head))


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the events, and what was skipped."""
    pieces = yaml_documents.pieces(recording)
    records = (each if isinstance(each, Skipped) else Item(each.line, (), each.data) for each in pieces)
    return read_records(recording, records, bodies, _event_in)


def _event_in(record: bytes) -> bytes | None:
    return gke.event_in(record) if b'"protoPayload"' in record else event_in_json(record)


FORMAT = Format("Kubernetes audit log in YAML", sniff, read)
