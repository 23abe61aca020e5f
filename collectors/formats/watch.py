"""Read watch events, one on each line, as `kubectl get -w --output-watch-events -o json` prints them.

A watch request to the API (`?watch=1`) returns the same: https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

import re
from collections.abc import Iterator

from collectors.formats import Format
from collectors.formats.documents import WATCH_TYPES, Piece, entries_of
from collectors.formats.stream import Recording, Skipped
from timeline.core.entries import Observation

_EVENT = re.compile(
    rb"""^ *\{ *"(?:type" *: *"(?:%s)" *, *"object"|object" *: *\{ *"(?:apiVersion|kind)")"""
    % "|".join(WATCH_TYPES).encode(),
    re.MULTILINE,
)


def sniff(head: bytes) -> bool:
    """Return whether one of the first lines is a watch event; a broken first line does not hide the others."""
    return _EVENT.search(head) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the watch events, and what was skipped."""
    lines = recording.lines()
    pieces = (line if isinstance(line, Skipped) else Piece(line.number, line.data) for line in lines)
    return entries_of(pieces, recording.name, bodies)


FORMAT = Format("watch of Kubernetes objects", sniff, read)
