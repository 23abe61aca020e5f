"""What a source saw, and so what can be judged in it."""

from typing import TYPE_CHECKING

from timeline.documents import as_read, timestamp
from timeline.models import Source
from timeline.object_payloads import SourceCoveragePayload
from timeline.queries.sources import extent

if TYPE_CHECKING:
    from timeline.payloads import ToldPayload


def coverage(source_id: int) -> SourceCoveragePayload:
    """Raises Source.DoesNotExist."""
    source = Source.objects.get(pk=source_id, ready=True)
    first, last = extent(source)
    stored: ToldPayload = source.told
    told = as_read(stored, [(file, line, reason) for file, line, reason in source.skips])
    return {
        "source": source_id,
        "name": source.name,
        "entries": source.entries,
        "first": timestamp(first) if source.first else None,
        "last": timestamp(last) if source.last else None,
        **told,
        "skipped": [{"file": file, "line": line, "reason": reason} for file, line, reason in source.skips],
        "skipped_total": source.skipped,
    }
