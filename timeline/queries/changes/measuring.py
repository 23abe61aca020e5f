"""Measure what happened between two times in the whole of a source."""

from typing import NamedTuple

from timeline.core.entries import Clock
from timeline.history.ledger.spaces import shared
from timeline.history.lifelines import Moment
from timeline.judging.verdicts import order_of
from timeline.layout import outline
from timeline.models import Source, Track
from timeline.payloads.documents import object_payload, timestamp
from timeline.payloads.measuring import MeasuredChangePayload, MeasurePayload, StepsPayload
from timeline.queries.objects.attribution import key_of, life_of, lives_by_key
from timeline.queries.objects.revisions import change_in_place
from timeline.storage.entries import chunks
from timeline.storage.entries.chunks import Stored

_BACK = (5_000_000, 60_000_000, 3_600_000_000, None)  # µs before a time in which the latest change is sought; None: all
_LATEST = 64  # how many changes are looked up at a time to find when they are drawn


class _Change(NamedTuple):
    moment: Moment
    track: int | None


def measure(
    source_id: int, start: int, end: int, *, start_track: int | None = None, end_track: int | None = None
) -> MeasurePayload:
    """Return a change for each of two drawn times (µs since 1970), and how sure the order of the two is.

    It is the change of a track that is drawn at the time, if the track is given, and else the latest change of all up
    to the time. Only changes of kinds that share the counter of most kinds count. Raises Source.DoesNotExist and
    Track.DoesNotExist.
    """
    source = Source.objects.get(pk=source_id, ready=True)
    ends = ((start, start_track), (end, end_track))
    one, two = (_of_track(source, time, track) or _latest(source, time) for time, track in ends)
    revisions = None
    order = None
    if one and two:
        revisions = (two.moment.entry.resource_version or 0) - (one.moment.entry.resource_version or 0)
        order = order_of(one.moment, two.moment) if revisions else None
    return {
        "source": source_id,
        "start": _payload(one) if one else None,
        "end": _payload(two) if two else None,
        "revisions": revisions,
        "order": order.value if order else None,
        "observations": sum(1 for _ in chunks.entries(source_id, start=start, end=end, bodies=False)),
    }


def steps(source_id: int, end: int) -> StepsPayload | None:
    """Return `outline.steps` of a source up to a time (µs since 1970); None if it has too many changes. Raises
    Source.DoesNotExist."""
    source = Source.objects.get(pk=source_id)
    if source.entries > outline.STEPS:
        return None
    own = _own_counters(source)
    rows = Track.objects.filter(source=source).only("group", "kind", "lifeline")
    return outline.steps(
        (time, int(revision))
        for row in rows
        if _counted(own, row.group, row.kind)
        for time, revision, *_ in row.lifeline
        if revision and time <= end
    )


def _of_track(source: Source, time: int, track: int | None) -> _Change | None:
    """Return the change of a track that is drawn at a time, the first of several; None if none with a revision that can
    be compared is."""
    found = None if track is None else change_in_place(source.pk, track, at=time)
    if found is None or found.revision.time != time:
        return None
    entry = found.revision.entry
    if entry.resource_version is None or not _counted(_own_counters(source), entry.ref.group, entry.ref.kind):
        return None
    return _Change(Moment(time, None, entry, (time, entry.resource_version)), track)


def _latest(source: Source, until: int) -> _Change | None:
    """Return the change with the highest revision of those that are drawn at or before a time; None if there is
    none."""
    own = _own_counters(source)
    for back in _BACK:
        since = None if back is None else max(0, until - back)
        found = [
            each
            for each in chunks.entries(source.pk, start=since, end=until, bodies=False)
            if each.entry.resource_version is not None and _counted(own, each.entry.ref.group, each.entry.ref.kind)
        ]
        found.sort(key=lambda each: each.entry.resource_version or 0, reverse=True)
        for at in range(0, len(found), _LATEST):
            page = found[at : at + _LATEST]
            drawn = _drawn(source, page)
            for each in page:
                entry = each.entry
                time = drawn.get((each.key, entry.resource_version or 0), entry.received)
                if time <= until:
                    life = life_of(entry, lives_by_key(source.pk, [each.key]).get(each.key, []))
                    return _Change(
                        Moment(time, None, entry, (time, entry.resource_version or 0)), life.id if life else None
                    )
    return None


def _drawn(source: Source, entries: list[Stored]) -> dict[tuple[int, int], int]:
    """Return the drawn times of these changes, by key and revision."""
    lives = Track.objects.filter(source=source, id__in={each.key for each in entries}).only("id", "lifeline")
    return {(key_of(row.id), int(revision)): time for row in lives for time, revision, *_ in row.lifeline if revision}


def _own_counters(source: Source) -> set[tuple[str, str]]:
    """Return the kinds whose revisions come from another counter than the one that most kinds share."""
    return {(group, kind) for group, kind in source.own_counters}


def _counted(own: set[tuple[str, str]], group: str, kind: str) -> bool:
    return shared(group, kind) and (group, kind) not in own


def _payload(change: _Change) -> MeasuredChangePayload:
    moment, entry = change.moment, change.moment.entry
    earliest, latest = moment.committed
    return {
        "time": moment.time,
        "earliest": timestamp(earliest),
        "latest": None if latest is None else timestamp(latest),
        "clock": "audit" if entry.clock is Clock.AUDIT else "object",
        "resource_version": str(entry.resource_version),
        "change": entry.change.value,
        "action": entry.action,
        "track": change.track,
        "object": object_payload(entry.ref),
    }
