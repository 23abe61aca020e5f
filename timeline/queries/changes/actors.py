"""Read what the actors of a source did."""

from django.db.models import Q

from timeline.models import ActorRow, Source
from timeline.payloads.actors import ActorOrder, ActorsPayload

PAGE = 50


def actors(
    source_id: int, *, words: str = "", order: ActorOrder = "writes", offset: int = 0, limit: int = PAGE
) -> ActorsPayload:
    """Return a page of the actors of a source that match all words, most first, or by name.

    Raises Source.DoesNotExist.
    """
    source = Source.objects.only("actors_total").get(pk=source_id)
    rows = ActorRow.objects.filter(source=source)
    matching = Q()
    for word in words.lower().split():
        matching &= Q(words__contains=word)
    found = rows.filter(matching)
    by = ("name", "identity") if order == "name" else (f"-{order}", "-writes", "name", "identity")
    total, stored = found.count(), rows.count()
    return {
        "actors": [row.document for row in found.order_by(*by)[offset : offset + limit]],
        "total": total,
        "all": source.actors_total,
        "more": source.actors_total > stored,
        "offset": offset,
    }
