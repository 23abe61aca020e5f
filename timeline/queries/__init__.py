"""Reads for screens. Every answer is bounded, whatever the size of the source."""

from timeline.queries.findings import findings, search
from timeline.queries.sources import SourceRow, overview, recent_sources, source
from timeline.queries.uploads import open_uploads, receiving_payload, upload_payload
from timeline.queries.view import Grouping, View
from timeline.queries.windows import LANES, window

__all__ = [
    "LANES",
    "Grouping",
    "SourceRow",
    "View",
    "findings",
    "open_uploads",
    "overview",
    "receiving_payload",
    "recent_sources",
    "search",
    "source",
    "upload_payload",
    "window",
]
