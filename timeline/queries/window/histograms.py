"""Read how many changes sources have over time, as far as the present reader may see them."""

from collections.abc import Iterable
from functools import lru_cache

from django.db import connection

from timeline.layout import outline
from timeline.models import Source, unpacked
from timeline.storage.permitted.limits import present


def histograms(sources: Iterable[Source]) -> dict[int, list[int]]:
    """Return the number of changes in each slice of the time that these sources cover, by the id of the source.

    A reader of some namespaces gets the changes of these; none where an older version has stored the source.
    """
    found = {source.pk: source.histogram for source in sources}
    shares: dict[int, list[bytes]] = {pk: [] for pk in found if not present().sees_whole(pk)}
    if shares:
        query = "SELECT source_id, histogram FROM timeline_share WHERE source_id = ANY(%s) ORDER BY 1, namespace"
        with connection.cursor() as cursor:
            cursor.execute(query, [list(shares)])
            for pk, packed in cursor:
                shares[pk].append(bytes(packed))
    return found | {pk: list(_together(tuple(of_source))) if of_source else [] for pk, of_source in shares.items()}


@lru_cache(100)
def _together(packed: tuple[bytes, ...]) -> tuple[int, ...]:
    """Add up packed histograms. The result depends on nothing but these, so no reader gets what another one sees."""
    return tuple(outline.together(unpacked(each) for each in packed))
