"""This module reads the gaps of a source: the times in which a kind was not observed, or of which retention has
deleted the changes."""

from timeline.core.entries import microseconds, moment
from timeline.history.freed import Span
from timeline.layout import intervals
from timeline.layout.lanes import full
from timeline.models import FreedSpan, Gap, Source
from timeline.payloads.windows import Gaps
from timeline.queries.clusters import without_places
from timeline.storage import freed as stored_spans

_MOST = 500  # the most gaps in one window, the latest ones


def gaps(source: Source, start: int, end: int, pixel: int) -> Gaps:
    """Return the gaps and freed spans between two times, in microseconds since 1970. Those of one kind that are
    at most `pixel` microseconds apart are merged."""
    stored = Gap.objects.filter(source=source, since__lte=moment(end), until__gte=moment(start))
    rows = stored.order_by("-since").values_list("group", "kind", "since", "until", "reason")[:_MOST]
    reference = source.cluster.reference if rows and source.cluster else {}
    unseen = [
        (full(group, kind), microseconds(since), microseconds(until), without_places(why, reference))
        for group, kind, since, until, why in rows
    ]
    gone = FreedSpan.objects.filter(source=source, since__lte=moment(end), until__gte=moment(start))
    unseen += [
        ("", microseconds(since), microseconds(until), intervals.FREED)
        for since, until in gone.order_by("-since").values_list("since", "until")[:_MOST]
    ]
    return intervals.gaps(unseen, pixel)


def freed(source_id: int) -> tuple[list[Span], int]:
    """Return the newest freed spans of a source, the newest first, and how many there are."""
    spans = stored_spans.spans(source_id)
    return spans[: -_MOST - 1 : -1], len(spans)
