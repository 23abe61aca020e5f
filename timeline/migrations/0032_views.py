"""Objects on old copies of which somebody acted have a row that says which copies these were.

The rows are written when a source is judged again, which happens after the upgrade by itself.
"""

import django.db.models.deletion
from django.db import migrations, models

import timeline.models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0031_logs")]

    operations = [
        migrations.AddField("source", "views", models.IntegerField(default=0)),
        migrations.CreateModel(
            name="ObjectView",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "track", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("track", models.BigIntegerField()),
                ("document", timeline.models.Packed()),
                (
                    "source",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="timeline.source"),
                ),
            ],
            options={"db_table": "timeline_object_view"},
        ),
    ]
