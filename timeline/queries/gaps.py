"""When kinds of a live source were not observed."""

from timeline.entries import microseconds, moment
from timeline.lanes import full
from timeline.models import Gap, Source
from timeline.payloads import Gaps

_MOST = 500  # told in one window, the latest ones


def gaps(source: Source, start: int, end: int, pixel: int) -> Gaps:
    """Those between two times (microseconds). Of one kind, those that lie closer together than a pixel are one."""
    found = Gaps(kind=[], start=[], end=[], text=[])
    if source.cluster_id is None and not source.sequence:
        return found  # nobody watched: a recording has none
    stored = Gap.objects.filter(source=source, since__lte=moment(end), until__gte=moment(start))
    rows = sorted(stored.order_by("-since")[:_MOST], key=lambda gap: (gap.group, gap.kind, gap.since))
    for gap in rows:
        kind = full(gap.group, gap.kind)
        since, until = microseconds(gap.since), microseconds(gap.until)
        if found["kind"][-1:] == [kind] and since - found["end"][-1] <= pixel:
            found["end"][-1] = max(found["end"][-1], until)
        else:
            found["kind"].append(kind)
            found["start"].append(since)
            found["end"].append(until)
            found["text"].append(gap.reason)
    return found
