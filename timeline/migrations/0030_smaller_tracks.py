"""Tracks name those who changed a lane besides its creator, and Events are not indexed by creator and UID, because they
are by far the most tracks and hardly anybody looks for them so.

Rows that were stored before name the creator among the writers, too, until their source is judged again.
"""

from django.db import migrations

_LEAVE_OUT = """
DROP INDEX timeline_track_creator, timeline_track_uid;
CREATE INDEX timeline_track_creator ON timeline_track (creator, place) WHERE span IS NOT NULL AND family <> 'Events';
CREATE INDEX timeline_track_uid ON timeline_track USING hash (uid) WHERE family <> 'Events';
"""
_ADD = """
DROP INDEX timeline_track_creator, timeline_track_uid;
CREATE INDEX timeline_track_creator ON timeline_track (creator, place) WHERE span IS NOT NULL;
CREATE INDEX timeline_track_uid ON timeline_track USING hash (uid);
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0029_caused")]

    operations = [migrations.RunSQL(_LEAVE_OUT, _ADD)]
