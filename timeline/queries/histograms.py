"""This module reads how many changes sources have over time, as far as the present reader may see them."""

from collections.abc import Iterable
from typing import Any

from timeline.layout import outline
from timeline.models import Share, Source
from timeline.storage.seen import present


def histograms(sources: Iterable[Source]) -> dict[int, list[int]]:
    """Return the number of changes in each slice of the time that these sources cover, by the id of the source.

    A reader of some namespaces gets the changes of these; none where an older version has stored the source.
    """
    found = {source.pk: source.histogram for source in sources}
    shares: dict[int, list[list[int]]] = {pk: [] for pk in found if not present().sees_whole(pk)}
    if shares:
        for share in Share.objects.filter(source__in=shares):
            counts: Any = share.histogram
            shares[share.source_id].append(counts)
    return found | {pk: outline.together(of_source) if of_source else [] for pk, of_source in shares.items()}
