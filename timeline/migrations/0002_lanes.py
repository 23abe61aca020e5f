"""Tracks partitioned by source, lanes in their order, occurrences as rows.

Recordings that an older version imported lack what this one tells of them, so they go; import their files again.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.db.models.deletion
from django.db import migrations, models

_DISCARD = """
DO $$
DECLARE partition text;
BEGIN
    FOR partition IN SELECT relname FROM pg_class WHERE relname ~ '^timeline_entry_[0-9]+$' AND relkind = 'r' LOOP
        EXECUTE format('DROP TABLE %I', partition);
    END LOOP;
END $$;
UPDATE timeline_upload SET source_id = NULL;
DELETE FROM timeline_finding;
DELETE FROM timeline_track;
DELETE FROM timeline_source;
SET CONSTRAINTS ALL IMMEDIATE;
"""

_TRACK = """
CREATE TABLE timeline_track (
    source_id bigint NOT NULL,
    id bigint NOT NULL,
    lane bigint NOT NULL,
    root bigint NOT NULL,
    strip bigint NOT NULL,
    place bigint NOT NULL,
    number integer NOT NULL,
    span tstzrange,
    changed timestamptz,
    life tstzrange NOT NULL,
    family text NOT NULL,
    "group" text NOT NULL,
    version text NOT NULL,
    kind text NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    uid text NOT NULL,
    lifeline jsonb NOT NULL,
    PRIMARY KEY (source_id, id)
) PARTITION BY LIST (source_id);
CREATE INDEX timeline_track_lane ON timeline_track (lane);
CREATE INDEX timeline_track_root ON timeline_track (root);
CREATE INDEX timeline_track_family ON timeline_track (family, strip, place) WHERE span IS NOT NULL;
CREATE INDEX timeline_track_namespace ON timeline_track (namespace, strip, place) WHERE span IS NOT NULL;
CREATE INDEX timeline_track_span ON timeline_track USING brin (span) WITH (pages_per_range = 16) WHERE span IS NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0001_initial")]

    operations = [
        migrations.RunSQL(_DISCARD, migrations.RunSQL.noop),
        migrations.DeleteModel("Finding"),
        migrations.DeleteModel("Track"),
        migrations.RunSQL(_TRACK, "DROP TABLE timeline_track"),
        migrations.AddField("source", "census", models.JSONField(default=list)),
        migrations.CreateModel(
            name="Track",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source", models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, to="timeline.source")),
                ("id", models.BigIntegerField()),
                ("lane", models.BigIntegerField()),
                ("root", models.BigIntegerField()),
                ("strip", models.BigIntegerField()),
                ("place", models.BigIntegerField()),
                ("number", models.IntegerField()),
                ("span", django.contrib.postgres.fields.ranges.DateTimeRangeField(null=True)),
                ("changed", models.DateTimeField(null=True)),
                ("life", django.contrib.postgres.fields.ranges.DateTimeRangeField()),
                ("family", models.TextField()),
                ("group", models.TextField()),
                ("version", models.TextField()),
                ("kind", models.TextField()),
                ("namespace", models.TextField()),
                ("name", models.TextField()),
                ("uid", models.TextField()),
                ("lifeline", models.JSONField()),
            ],
            options={
                "db_table": "timeline_track",
                "managed": False,
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Strip",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="timeline.source")),
                ("place", models.BigIntegerField()),
                ("root", models.BigIntegerField()),
                ("family", models.TextField()),
                ("group", models.TextField()),
                ("kind", models.TextField()),
                ("namespace", models.TextField()),
                ("name", models.TextField()),
                ("members", models.IntegerField()),
                ("span", django.contrib.postgres.fields.ranges.DateTimeRangeField()),
                ("changed", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("source", "place"), name="strip_once")],
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="timeline.source")),
                ("identity", models.CharField(max_length=16)),
                ("rule", models.TextField()),
                ("severity", models.TextField()),
                ("namespace", models.TextField()),
                ("subject", models.BigIntegerField()),
                ("root", models.BigIntegerField()),
                ("tracks", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ("first", models.DateTimeField()),
                ("last", models.DateTimeField()),
                ("document", models.JSONField()),
                ("occurrences", models.JSONField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("source", "identity"), name="finding_once")],
            },
        ),
        migrations.CreateModel(
            name="Occurrence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="timeline.source")),
                ("key", models.CharField(max_length=16)),
                ("rank", models.SmallIntegerField()),
                ("rule", models.TextField()),
                ("namespace", models.TextField()),
                ("families", django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ("words", models.TextField()),
                ("tracks", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ("first", models.DateTimeField()),
                ("last", models.DateTimeField()),
                ("payload", models.JSONField()),
                ("drawn", models.JSONField()),
            ],
            options={
                "indexes": [models.Index(fields=["source", "rank", "first", "key"], name="occurrence_order")],
                "constraints": [models.UniqueConstraint(fields=("source", "key"), name="occurrence_once")],
            },
        ),
    ]
