"""Read Events as kubernetes-event-exporter writes them to a file or to standard output, one on each line.

Without a `layout` of its own, it writes the Event of core/v1 without its apiVersion and kind, with the name of the
cluster, and with what the API server knows of the object that the Event is about.
https://github.com/resmoio/kubernetes-event-exporter describes it.
"""

import re
from collections.abc import Iterator

import msgspec

from collectors.formats import Format
from collectors.formats.documents import Piece, entries_of
from collectors.formats.stream import Recording, Skipped
from timeline.core.entries import Observation

# Something may stand before the Event, such as the time with which a container runtime wrote the line.
_EVENT = re.compile(rb'^[^{\n]{0,200}\{"metadata":\{[^\n]*"involvedObject":\{', re.MULTILINE)
_NO_EVENT = "it is not an Event as kubernetes-event-exporter writes it without a layout"


class _Exported(msgspec.Struct, gc=False):
    """The fields by which an exported Event is recognised."""

    metadata: msgspec.Raw
    involvedObject: msgspec.Raw
    clusterName: str = ""


_exported = msgspec.json.Decoder(_Exported)


def sniff(head: bytes) -> bool:
    """Return whether one of the first lines is an exported Event; a broken first line does not hide the others."""
    return _EVENT.search(head) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the Events, and what was skipped."""
    return entries_of(_pieces(recording), recording.name, bodies)


def _pieces(recording: Recording) -> Iterator[Piece | Skipped]:
    cluster = ""
    for line in recording.lines():
        if isinstance(line, Skipped):
            yield line
            continue
        data = line.data[max(line.data.find(b"{"), 0) :]
        try:
            name = _exported.decode(data).clusterName
        except (ValueError, RecursionError):
            yield Skipped(line.file, line.number, _NO_EVENT)
            continue
        cluster = cluster or name
        if name in ("", cluster):
            yield Piece(line.number, data, True, "v1", "Event")
        else:
            yield Skipped(line.file, line.number, "it is of another cluster than the Events before it")


FORMAT = Format("Events of kubernetes-event-exporter", sniff, read)
