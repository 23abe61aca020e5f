"""Lives are found by name, by UID and by IP address with an index each, however large their source is.

Names and UIDs come from outside and may be longer than a B-tree takes, so their indexes are hash indexes. Lives that were
stored before have no addresses; they get them when their source is written anew.
"""

from django.db import migrations

_COLUMN = """
DO $$
DECLARE unattached text;
BEGIN
    FOR unattached IN
        SELECT relname FROM pg_class
        WHERE relname ~ '^timeline_track_[0-9]+$' AND relkind = 'r' AND NOT relispartition
    LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN addresses text[] NOT NULL DEFAULT ''{}''', unattached);
    END LOOP;
END $$;
ALTER TABLE timeline_track ADD COLUMN addresses text[] NOT NULL DEFAULT '{}';
"""
_INDEXES = """
CREATE INDEX timeline_track_name ON timeline_track USING hash (name);
CREATE INDEX timeline_track_uid ON timeline_track USING hash (uid);
CREATE INDEX timeline_track_addresses ON timeline_track USING gin (addresses) WHERE addresses <> '{}';
"""
_REMOVE = """
DROP INDEX timeline_track_name, timeline_track_uid, timeline_track_addresses;
ALTER TABLE timeline_track DROP COLUMN addresses;
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0012_kept_range")]

    operations = [
        migrations.RunSQL(_COLUMN, migrations.RunSQL.noop),
        migrations.RunSQL(_INDEXES, _REMOVE),
    ]
