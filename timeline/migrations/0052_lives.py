"""The lives of a lane are found and counted in an index alone, which has all that a window of very many lives reads of each.
The lanes of a group have an index without the further lives of their names, which windows count."""

from django.db import migrations

_ADD = """
CREATE INDEX timeline_track_life ON timeline_track (lane, life) INCLUDE (source_id, root, number, id);
CREATE INDEX timeline_track_member ON timeline_track (root) WHERE span IS NOT NULL AND root <> 0;
DROP INDEX timeline_track_lane;
"""
_REMOVE = """
CREATE INDEX timeline_track_lane ON timeline_track (lane);
DROP INDEX timeline_track_life, timeline_track_member;
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0051_places")]

    operations = [migrations.RunSQL(_ADD, _REMOVE)]
