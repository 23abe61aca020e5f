"""This module reads the gaps of a source: the times in which a kind was not observed."""

from timeline.core.entries import microseconds, moment
from timeline.layout import intervals
from timeline.layout.lanes import full
from timeline.models import Gap, Source
from timeline.payloads.windows import Gaps
from timeline.queries.clusters import without_places

_MOST = 500  # the most gaps in one window, the latest ones


def gaps(source: Source, start: int, end: int, pixel: int) -> Gaps:
    """Return the gaps between two times, in microseconds since 1970. Gaps of one kind that are at most `pixel`
    microseconds apart are merged."""
    stored = Gap.objects.filter(source=source, since__lte=moment(end), until__gte=moment(start))
    rows = stored.order_by("-since").values_list("group", "kind", "since", "until", "reason")[:_MOST]
    reference = source.cluster.reference if rows and source.cluster else {}
    unseen = [
        (full(group, kind), microseconds(since), microseconds(until), without_places(why, reference))
        for group, kind, since, until, why in rows
    ]
    return intervals.gaps(unseen, pixel)
