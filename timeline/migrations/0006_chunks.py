"""Entries packed together in chunks, in a partition an import.

What older versions stored does not tell all of an entry, so their recordings go; import their files again.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

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
        SELECT relname FROM pg_class WHERE relname ~ '^timeline_(entry|track)_[0-9]+$' AND relkind = 'r'
    LOOP
        EXECUTE format('DROP TABLE %I', partition);
    END LOOP;
END $$;
DROP TABLE timeline_entry;
"""

_CHUNK = """
CREATE TABLE timeline_chunk (
    source_id bigint NOT NULL,
    sequence bigint NOT NULL,
    keys integer[] NOT NULL,
    first timestamptz NOT NULL,
    last timestamptz NOT NULL,
    lines bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (source_id, sequence)
) PARTITION BY RANGE (source_id, sequence);
CREATE INDEX timeline_chunk_keys ON timeline_chunk USING gin (keys);
CREATE INDEX timeline_chunk_times ON timeline_chunk USING brin (first, last);
CREATE SEQUENCE timeline_chunk_table;
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0005_objects")]

    operations = [
        migrations.RunSQL(_DISCARD, migrations.RunSQL.noop),
        migrations.RunSQL(_CHUNK, "DROP TABLE timeline_chunk; DROP SEQUENCE timeline_chunk_table"),
        migrations.DeleteModel("Entry"),
        migrations.CreateModel(
            name="Chunk",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "sequence", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source", models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, to="timeline.source")),
                ("sequence", models.BigIntegerField()),
                ("keys", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ("first", models.DateTimeField()),
                ("last", models.DateTimeField()),
                ("lines", models.BinaryField()),
            ],
            options={"db_table": "timeline_chunk", "managed": False},
        ),
        migrations.AddField("source", "stored", models.BigIntegerField(default=0)),
        migrations.AddField("source", "table", models.BigIntegerField(default=0)),
        migrations.AddField("source", "inputs", models.JSONField(default=list)),
        migrations.AddField("source", "told", models.JSONField(default=dict)),
        migrations.AddField("source", "skips", models.JSONField(default=list)),
    ]
