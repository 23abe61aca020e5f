"""Read what was observed of a source, and what rules can therefore judge in it."""

from typing import TYPE_CHECKING

from timeline.core.masks import WITHHELD
from timeline.models import Source
from timeline.payloads.documents import as_read, timestamp
from timeline.payloads.objects import RedactedPayload, SourceCoveragePayload
from timeline.queries.sources.extents import extent

if TYPE_CHECKING:
    from timeline.payloads.findings import SourceDocumentPayload


def withheld(source_id: int) -> bool:
    """Return whether the objects of some changes were not stored."""
    source = Source.objects.only("redacted").get(pk=source_id)
    return bool(source.redacted.get(WITHHELD))


def redacted(source: Source) -> RedactedPayload | None:
    """Return how many credentials were removed; None for sources that were stored before this was counted."""
    counts: dict[str, int] = source.redacted
    if not counts:
        return None
    return {
        "name": counts.get("name", 0),
        "form": counts.get("form", 0),
        "copy": counts.get("copy", 0),
        "pattern": counts.get("pattern", 0),
        "time": counts.get("time", 0),
        "object": counts.get("object", 0),
    }


def coverage(source_id: int) -> SourceCoveragePayload:
    """Return the coverage of a source. Raises Source.DoesNotExist."""
    source = Source.objects.get(pk=source_id, ready=True)
    first, last = extent(source)
    stored: SourceDocumentPayload = source.document
    parts = as_read(stored, [(file, line, reason) for file, line, reason in source.skips])
    return {
        "source": source_id,
        "name": source.name,
        "entries": source.entries,
        "first": timestamp(first) if source.first else None,
        "last": timestamp(last) if source.last else None,
        **parts,
        "skipped": [{"file": file, "line": line, "reason": reason} for file, line, reason in source.skips],
        "skipped_total": source.skipped,
        "mostly_skipped": source.mostly_skipped,
        "redacted": redacted(source),
    }
