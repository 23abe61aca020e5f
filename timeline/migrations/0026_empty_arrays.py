"""Tracks that need no other object, or have no address, have null instead of an empty array, which takes no space.

Rows that were stored before get it when their source is judged again.
"""

from django.db import migrations

_NULL = """
DO $$
DECLARE unattached text;
BEGIN
    FOR unattached IN
        SELECT relname FROM pg_class
        WHERE relname ~ '^timeline_track_[0-9]+$' AND relkind = 'r' AND NOT relispartition
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER needs DROP NOT NULL, ALTER addresses DROP NOT NULL', unattached);
    END LOOP;
END $$;
ALTER TABLE timeline_track ALTER needs DROP NOT NULL, ALTER addresses DROP NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0025_causes")]

    operations = [migrations.RunSQL(_NULL, migrations.RunSQL.noop)]
