"""Tracks tell who created and who changed them, and by what the search finds them; sources list who made most changes.

Rows that are stored already get this when their source is judged again, which happens after the upgrade by itself.
Images are not among the facts that older versions kept of Pods, so only Pods that are imported or watched from now on
are found by them. Who changed a lane comes from outside and may be of any number, so lanes are found by their creator
alone with an index.
"""

from django.db import migrations, models

_COLUMNS = """
ADD COLUMN creator text NOT NULL DEFAULT '', ADD COLUMN writers text[] NOT NULL DEFAULT '{}',
ADD COLUMN clues text NOT NULL DEFAULT ''
"""
_UNATTACHED = f"""
DO $$
DECLARE unattached text;
BEGIN
    FOR unattached IN
        SELECT relname FROM pg_class
        WHERE relname ~ '^timeline_track_[0-9]+$' AND relkind = 'r' AND NOT relispartition
    LOOP
        EXECUTE format('ALTER TABLE %I {_COLUMNS.replace("'", "''").strip()}', unattached);
    END LOOP;
END $$;
"""
_ATTACHED = f"""
ALTER TABLE timeline_track {_COLUMNS};
CREATE INDEX timeline_track_creator ON timeline_track (creator, place) WHERE span IS NOT NULL;
"""
_REMOVE = "ALTER TABLE timeline_track DROP COLUMN creator, DROP COLUMN writers, DROP COLUMN clues"


class Migration(migrations.Migration):
    dependencies = [("timeline", "0024_counts")]

    operations = [
        migrations.RunSQL(_UNATTACHED, migrations.RunSQL.noop),
        migrations.RunSQL(_ATTACHED, _REMOVE),
        migrations.AddField("source", "actors", models.JSONField(default=list)),
    ]
