"""Add what connects findings, and the symptoms of incidents."""

from importlib import import_module

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

_first = import_module("timeline.migrations.0001_squashed_0054")


# Until a source is judged again, each of its incidents is its own only symptom.
_SYMPTOMS = """
    INSERT INTO timeline_symptom (
        source_id, incident, identity, rule, rank, status, "group", kind, namespace, name, title, subjects, names,
        findings, occurrences, count, first, last, open, effect, effect_text, actors, worst, place, namespaces)
    SELECT source_id, identity, identity, rule, rank, status, "group", kind, namespace, name, title, subjects, names,
        findings, occurrences, occurrences, first, last, open, effect, effect_text, actors, worst, 0, namespaces
    FROM timeline_incident"""


class Migration(migrations.Migration):
    dependencies = [
        ("timeline", "0001_squashed_0054"),
    ]

    operations = [
        migrations.CreateModel(
            name="SeparateSymptom",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "incident", "symptom", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="timeline.source"
                    ),
                ),
                ("incident", models.CharField(max_length=16)),
                ("symptom", models.CharField(max_length=16)),
                ("by", models.TextField()),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "db_table": "timeline_separate_symptom",
            },
        ),
        migrations.CreateModel(
            name="Symptom",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "incident", "identity", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="timeline.source"
                    ),
                ),
                ("incident", models.CharField(max_length=16)),
                ("identity", models.CharField(max_length=16)),
                ("rule", models.TextField()),
                ("rank", models.SmallIntegerField()),
                ("status", models.TextField()),
                ("group", models.TextField()),
                ("kind", models.TextField()),
                ("namespace", models.TextField()),
                ("name", models.TextField()),
                ("title", models.TextField()),
                ("subjects", models.IntegerField()),
                ("names", django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ("findings", models.IntegerField()),
                ("occurrences", models.IntegerField()),
                ("count", models.IntegerField()),
                ("first", models.DateTimeField()),
                ("last", models.DateTimeField()),
                ("open", models.BooleanField()),
                ("effect", models.TextField()),
                ("effect_text", models.TextField()),
                ("actors", django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ("worst", models.CharField(max_length=16)),
                ("place", models.IntegerField()),
                (
                    "namespaces",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None),
                ),
            ],
        ),
        migrations.AddField(
            model_name="finding",
            name="incidents",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=16), null=True, size=None
            ),
        ),
        migrations.AddField(
            model_name="finding",
            name="pieces",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="incident",
            name="anchored_in",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None),
        ),
        migrations.AddField(
            model_name="incident",
            name="root",
            field=models.TextField(db_default="", default=""),
        ),
        migrations.AddField(
            model_name="incident",
            name="rules",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None),
        ),
        migrations.AddField(
            model_name="incident",
            name="symptoms",
            field=models.IntegerField(db_default=1, default=1),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("incidents__isnull", False)), fields=["incidents"], name="finding_incidents"
            ),
        ),
        migrations.AddIndex(
            model_name="symptom",
            index=models.Index(fields=["source", "identity"], name="symptom_identity"),
        ),
        _first.Cascade("timeline_symptom", "timeline_separate_symptom"),
        migrations.RunSQL(_SYMPTOMS, migrations.RunSQL.noop),
        migrations.RunSQL(
            """UPDATE timeline_incident SET rules = ARRAY[rule], anchored_in = ARRAY[namespace]""",
            migrations.RunSQL.noop,
        ),
    ]
