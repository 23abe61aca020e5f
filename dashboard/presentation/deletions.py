"""Describe what a deletion removes, and what can still be undone."""

from dashboard.presentation import wording
from timeline.queries.sources.deletions import Contents


def gone(contents: Contents) -> list[str]:
    """Return what is removed: counts of what is stored, and about how many bytes."""
    counts = (
        ("recording", contents.recordings if contents.recordings > 1 else 0),
        ("change", contents.changes),
        ("incident", contents.incidents),
        ("finding", contents.findings),
        ("acknowledgement", contents.acknowledgements),
        ("silence", contents.silences),
    )
    parts = [wording.number_of(count, word) for word, count in counts if count]
    return [*parts, f"{wording.size(contents.bytes)} on the disk"] if contents.recordings else []
