"""Store what readers of some namespaces see in place of what belongs to several, or to a whole source.

Both are written when a source is judged again, which happens by itself. Until then such readers do not see findings
across namespaces, and no histogram."""

import django.db.models.deletion
from django.db import migrations, models

import timeline.models.fields


class Migration(migrations.Migration):
    dependencies = [("timeline", "0047_keep_near_incidents")]

    operations = [
        migrations.AddField("finding", "part", models.JSONField(null=True)),
        migrations.CreateModel(
            "Share",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "namespace", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("namespace", models.TextField()),
                ("changes", models.BigIntegerField()),
                ("histogram", timeline.models.fields.Packed()),
                (
                    "source",
                    models.ForeignKey("timeline.source", django.db.models.deletion.CASCADE, db_index=False),
                ),
            ],
        ),
    ]
