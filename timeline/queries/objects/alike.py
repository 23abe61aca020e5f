"""Find the owners with which an owner can be compared."""

from timeline.models import Source, Track

_OFFERED = 40  # the most owners of each sort that are offered


def alike(source_id: int, track_id: int, name: str = "") -> list[Track]:
    """Return objects with which an object can be compared: first those of its kind and name, in its source and in
    others, then further ones of its kind beside it: in its namespace, or of its owner if it has one. With a name, only
    objects of its kind with that name.

    Raises Track.DoesNotExist.
    """
    row = Track.objects.get(source=source_id, source__delete_after=None, id=track_id)
    ready = Source.objects.filter(ready=True).order_by("-created").values_list("pk", flat=True)
    rows = (
        Track.objects.filter(group=row.group, kind=row.kind, source__in=ready)
        .defer("lifeline")
        .order_by("-life", "-id")
    )
    if name:
        return [each for each in rows.filter(name=name)[:_OFFERED] if each.pk != row.pk]
    same = rows.filter(name=row.name)[:_OFFERED]
    beside = rows.filter(source=row.source_id, namespace=row.namespace).exclude(name=row.name)
    beside = beside.filter(root=row.root) if row.owner else beside.filter(owner=0, span__isnull=False)
    return [each for each in (*same, *beside[:_OFFERED]) if each.pk != row.pk]
