"""The lanes of all families, and those of each namespace, are indexed in their order, without Events, which are by far the
most and are hidden at first. Windows follow these indexes, so they read no more lanes than they show."""

from django.db import migrations

_ADD = """
CREATE INDEX timeline_track_place ON timeline_track (strip, place) WHERE span IS NOT NULL AND family <> 'Events';
CREATE INDEX timeline_track_namespace_place ON timeline_track (namespace, strip, place)
    WHERE span IS NOT NULL AND family <> 'Events';
"""
_REMOVE = "DROP INDEX timeline_track_place, timeline_track_namespace_place"


class Migration(migrations.Migration):
    dependencies = [("timeline", "0050_deleted_by_the_last_release")]

    operations = [migrations.RunSQL(_ADD, _REMOVE)]
