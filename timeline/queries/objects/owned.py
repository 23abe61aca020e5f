"""Find what an object owns: its children, their children, and so on."""

from collections.abc import Collection

from django.db.models.expressions import RawSQL

from timeline.models import Track

_OWNED = """
    WITH RECURSIVE owned (id) AS (
        SELECT id FROM timeline_track WHERE source_id = %s AND id = ANY(%s)
        UNION
        SELECT child.id FROM owned JOIN timeline_track AS child
        ON child.source_id = %s AND child.root = %s AND child.owner = owned.id
    ) SELECT id FROM owned"""
_GROUP = "SELECT id FROM timeline_track WHERE source_id = %s AND root = %s"


def owned_by(row: Track, tracks: Collection[int]) -> RawSQL:
    """Return the query for the ids of these tracks of the group of `row`, and of all that they own."""
    return RawSQL(_OWNED, [row.source_id, list(tracks), row.source_id, row.root])


def owned(row: Track) -> RawSQL:
    """Return the query for the ids of all incarnations of the object of a track, and of all that they own.

    Of a root owner, these are the tracks of its group, to which a focus limits a timeline.
    """
    return RawSQL(_GROUP, [row.source_id, row.root]) if not row.owner else owned_by(row, lives(row))


def lives(row: Track) -> list[int]:
    """Return the ids of all incarnations of the object of a track."""
    return list(Track.objects.filter(source=row.source_id, lane=row.lane).values_list("id", flat=True))
