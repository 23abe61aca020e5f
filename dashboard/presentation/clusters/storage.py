"""Describe how much room sources take in the database and what retention will free, for the page and the terminal."""

from datetime import datetime
from typing import NamedTuple

from dashboard.presentation.wording import MINUTE, number_of, size
from timeline.queries.sources.usage import UsageRow
from timeline.storage.keeping.retention import Foreseen


class StorageRow(NamedTuple):
    """How much room a source takes, and what becomes of it, in words."""

    number: int
    name: str
    taken: str
    parts: list[tuple[str, str]]
    since: str
    going: str  # what retention will free, or when it deletes the recording
    hold: str  # the reason of the legal hold; "" if none keeps it
    held_with: str  # the name of the cluster whose hold keeps it; "" if it is its own
    recording: bool  # whether it can have days of its own
    days: str  # these days; "" for those of the setting


def row(row: UsageRow, going: Foreseen | None, end: datetime | None) -> StorageRow:
    """Return a source in words. `going` is what retention will free of a live source, `end` when it deletes a
    recording."""
    if row.hold:
        next_to_go = "Nothing is deleted while the legal hold lasts."
    elif going:
        next_to_go = f"Within a day, retention will free {freed(going)}."
    else:
        next_to_go = f"It will be deleted {end:{MINUTE}}." if end else "It is kept until somebody deletes it."
    parts = [
        (word, size(count))
        for word, count in (
            ("entries", row.chunks),
            ("objects", row.tracks),
            ("findings", row.findings),
            ("logs", row.logs),
            ("evidence", row.evidence),
        )
        if count
    ]
    return StorageRow(
        number=row.source,
        name=row.name,
        taken=taken(row),
        parts=parts,
        since=f"observed since {row.first:{MINUTE}}" if row.first else "nothing observed yet",
        going=next_to_go,
        hold=row.hold,
        held_with=row.cluster_name if row.held_with_cluster else "",
        recording=row.cluster is None,
        days="" if row.keep_days is None else str(row.keep_days),
    )


def taken(row: UsageRow) -> str:
    """Return what a source takes: "4.3 GB, 12 % of all, 1,204 entries, 20 MB more a day"."""
    if row.at is None:
        return "not measured yet; all sources are measured each hour"
    words = [size(row.bytes), f"{row.share:.0%} of all".replace("%", " %"), number_of(row.entries, "entry", "entries")]
    if row.growth is not None:
        words.append(f"{size(abs(row.growth))} {'more' if row.growth >= 0 else 'less'} a day")
    return ", ".join(words)


def freed(going: Foreseen) -> str:
    """Return what retention frees of a source: "1,204 entries (20 MB), 3 objects, 1 finding and 1 incident"."""
    if not (going.entries or going.tracks or going.findings):
        return "nothing"
    entries = number_of(going.entries, "entry", "entries")
    if going.bytes:
        entries += f" ({size(going.bytes)} of whole tables)"
    if going.at_most:
        entries = f"at most {entries}"
    if going.away:
        entries += f", of which {going.away:,} are away from incidents"
    rest = (
        number_of(going.tracks, "object"),
        number_of(going.findings, "finding"),
        f"all that is known of {number_of(going.incidents, 'incident')}",
    )
    return ", ".join((entries, *rest))
