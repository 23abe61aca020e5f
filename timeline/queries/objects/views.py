"""Read which copies of objects their actors acted on, where one of these copies was old."""

from collections.abc import Collection, Iterator

from timeline.models import ObjectView
from timeline.payloads.views import ViewPayload

_AT_ONCE = 50  # the most objects of a window whose views are read


def views_of(source_id: int, tracks: Collection[int]) -> Iterator[ViewPayload]:
    """Yield the views of some of these tracks, in the order of their numbers."""
    rows = ObjectView.objects.filter(source=source_id, track__in=tracks).order_by("track")
    for row in rows[:_AT_ONCE]:
        yield from row.document
