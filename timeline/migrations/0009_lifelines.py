"""Lifelines are packed, and chunks are found by the range of their keys.

Recordings of before are stored otherwise, so they go; import their files again.
"""

from django.db import migrations, models

import timeline.models


_DISCARD = """
UPDATE timeline_upload SET source_id = NULL;
DELETE FROM timeline_acknowledgement;
DELETE FROM timeline_occurrence;
DELETE FROM timeline_finding;
DELETE FROM timeline_strip;
DELETE FROM timeline_source;
SET CONSTRAINTS ALL IMMEDIATE;
DO $$
DECLARE partition text;
BEGIN
    FOR partition IN
        SELECT relname FROM pg_class WHERE relname ~ '^timeline_(chunk_[0-9]+|track)_[0-9]+$' AND relkind = 'r'
    LOOP
        EXECUTE format('DROP TABLE %I', partition);
    END LOOP;
END $$;
"""

_KEYS = """
DROP INDEX timeline_chunk_keys;
ALTER TABLE timeline_chunk ADD COLUMN low integer NOT NULL, ADD COLUMN high integer NOT NULL;
CREATE INDEX timeline_chunk_keys ON timeline_chunk USING brin (low, high) WITH (pages_per_range = 1);
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0008_tide")]

    operations = [
        migrations.RunSQL(_DISCARD, migrations.RunSQL.noop),
        migrations.RunSQL(
            "ALTER TABLE timeline_track ALTER lifeline TYPE bytea USING '', ALTER lifeline SET STORAGE EXTERNAL",
            "ALTER TABLE timeline_track ALTER lifeline TYPE jsonb USING '[]'",
        ),
        migrations.RunSQL(_KEYS, "ALTER TABLE timeline_chunk DROP COLUMN low, DROP COLUMN high"),
        migrations.AddField("chunk", "low", models.IntegerField()),
        migrations.AddField("chunk", "high", models.IntegerField()),
        migrations.AlterField("track", "lifeline", timeline.models.Packed()),
    ]
