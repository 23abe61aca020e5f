"""Tracks that need no other object, have no address, or name no writers, have null instead of an empty array, which
takes no space.

Rows that were stored before get it when their source is judged again.
"""

from django.db import migrations

_COLUMNS = "ALTER needs DROP NOT NULL, ALTER addresses DROP NOT NULL, ALTER writers DROP NOT NULL"
_NULL = f"""
DO $$
DECLARE unattached text;
BEGIN
    FOR unattached IN
        SELECT relname FROM pg_class
        WHERE relname ~ '^timeline_track_[0-9]+$' AND relkind = 'r' AND NOT relispartition
    LOOP
        EXECUTE format('ALTER TABLE %I {_COLUMNS}', unattached);
    END LOOP;
END $$;
ALTER TABLE timeline_track {_COLUMNS};
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0027_causes")]

    operations = [migrations.RunSQL(_NULL, migrations.RunSQL.noop)]
