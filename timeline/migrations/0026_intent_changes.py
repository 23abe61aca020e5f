"""Changes that somebody meant, such as another image, have a table, so that pages can say what changed before.

It is filled when a source is judged again, which happens after each upgrade that raises the version of the rules.
"""

import django.db.models.deletion
from django.db import migrations, models

import timeline.models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0025_actors")]

    operations = [
        migrations.CreateModel(
            name="IntentChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "at", "track", "number",
                        blank=True, editable=False, primary_key=True, serialize=False,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("track", models.BigIntegerField()),
                ("number", models.IntegerField()),
                ("lane", models.BigIntegerField()),
                ("namespace", models.TextField()),
                ("wide", models.BooleanField()),
                ("grade", models.SmallIntegerField()),
                ("document", timeline.models.Packed()),
                (
                    "source",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="timeline.source"),
                ),
            ],
            options={"db_table": "timeline_intent_change"},
        ),
        migrations.AddIndex("intentchange", models.Index(fields=["source", "lane", "at"], name="intent_of_lane")),
        migrations.AddIndex("intentchange", models.Index(fields=["source", "grade", "at"], name="intent_of_grade")),
        migrations.AddIndex(
            "intentchange", models.Index(fields=["source", "namespace", "grade", "at"], name="intent_of_namespace")
        ),
        migrations.AddIndex(
            "intentchange",
            models.Index(fields=["source", "grade", "at"], condition=models.Q(wide=True), name="intent_of_cluster"),
        ),
    ]
