"""Read the changes in a time, one by one in commit order. Only tracks are read, and no entries."""

from collections.abc import Iterator

from django.db.models.functions import Lower
from psycopg.types.range import TimestamptzRange

from timeline.core.entries import ObjectRef, moment
from timeline.kinds import NOISE
from timeline.layout import events as layout
from timeline.models import Source, Track
from timeline.payloads.events import EventsPayload
from timeline.queries.objects.candidates import kinds_of
from timeline.queries.objects.lives import page
from timeline.queries.sources.extents import extent

OBJECTS = 2000  # the most tracks that are read for an answer
_AT_ONCE = 100


def events(
    source_id: int,
    start: int | None = None,
    end: int | None = None,
    *,
    namespace: str = "",
    kind: str = "",
    name: str = "",
    root: int | None = None,
    noise: bool = False,
    every: bool = False,
    after: str = "",
    limit: int = 100,
) -> EventsPayload:
    """Return a page of the changes between two times (µs since 1970), by default of the whole source.

    They are those of objects with this namespace, kind and name, and of this root owner and what it owns. Events and
    other noise are left out unless `noise` or their kind is given. Raises Source.DoesNotExist.
    """
    source = Source.objects.get(pk=source_id, ready=True)
    first, last = extent(source)
    start, end = first if start is None else start, last if end is None else end
    end = max(start, end)
    span = TimestamptzRange(moment(start), moment(end), "[]")
    tracks = Track.objects.filter(source=source, life__overlap=span)
    tracks = tracks.exclude(changed__lt=moment(start))  # of a lane that did not change any more
    if kind:
        tracks = tracks.alias(lower=Lower("kind")).filter(lower__in=kinds_of(kind))
    elif not noise:
        tracks = tracks.exclude(family__in=NOISE)
    chosen = {"namespace": namespace, "name": name, "root": root}
    tracks = tracks.filter(**{field: value for field, value in chosen.items() if value not in ("", None)})
    numbers = list(tracks.order_by("place", "number").values_list("id", flat=True)[: OBJECTS + 1])
    return layout.events(
        _lives(source, numbers[:OBJECTS]),
        start,
        end,
        every=every,
        after=after,
        limit=limit,
        complete=len(numbers) <= OBJECTS,
    )


def _lives(source: Source, numbers: list[int]) -> Iterator[layout.Life]:
    columns = ("id", "group", "version", "kind", "namespace", "name", "uid", "lifeline")
    for at in range(0, len(numbers), _AT_ONCE):
        rows = Track.objects.filter(source=source, id__in=numbers[at : at + _AT_ONCE]).values_list(*columns)
        for number, *ref, lifeline in rows:
            yield layout.Life(number, ObjectRef(*ref), lifeline, page(source.pk, number))
