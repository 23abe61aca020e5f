"""Store the freed spans of a source: the times whose changes retention has deleted.

Retention writes those of live sources. Those of a recording are written when it is imported, from the marks in it.
"""

from collections.abc import Iterable
from datetime import datetime

from timeline.core.entries import Mark, microseconds, moment
from timeline.history.freed import Freed, Span, mark_of
from timeline.models import FreedSpan, Source


def spans(source_id: int) -> list[Span]:
    """Return the freed spans of a source, in order. A limited reader gets one that covers all of them, since the times
    between them are those of incidents."""
    rows = FreedSpan.objects.filter(source=source_id).order_by("since").values_list("since", "until")
    return [Span(microseconds(since), microseconds(until)) for since, until in rows]


def marks(source_id: int) -> list[Mark]:
    """Return the marks of the freed spans of a source."""
    return [mark_of(span) for span in spans(source_id)]


def add(source: Source, freed: Iterable[Span]) -> None:
    """Store freed spans, joined with those that they overlap or continue."""
    known = spans(source.pk)
    together = Freed()
    for span in (*known, *freed):
        together.add(*span)
    new = [span for span in together.spans if span not in set(known)]
    gone = [moment(span.since) for span in set(known).difference(together.spans)]
    FreedSpan.objects.filter(source=source, since__in=gone).delete()
    FreedSpan.objects.bulk_create(
        FreedSpan(source=source, since=moment(span.since), until=moment(span.until)) for span in new
    )


def bound(source: Source, now: datetime, latest: datetime) -> None:
    """Let those spans end now that end after the latest time that is possible (see `chunks.bound`)."""
    FreedSpan.objects.filter(source=source, until__gt=latest).update(until=now)
