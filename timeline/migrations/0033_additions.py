"""Audit logs can be added to what the watches of a cluster show. They wait in a table until its worker takes them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0032_views")]

    operations = [
        migrations.AddField(
            "upload",
            "cluster",
            models.ForeignKey("timeline.cluster", django.db.models.deletion.CASCADE, null=True),
        ),
        migrations.AlterField(
            "upload",
            "state",
            models.CharField(
                choices=[
                    ("receiving", "Receiving"),
                    ("waiting", "Waiting"),
                    ("importing", "Importing"),
                    ("adding", "Adding"),
                    ("done", "Done"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                default="receiving",
                max_length=9,
            ),
        ),
        migrations.CreateModel(
            "Addition",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "upload", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.IntegerField()),
                ("lines", models.BinaryField()),
                (
                    "source",
                    models.ForeignKey("timeline.source", django.db.models.deletion.CASCADE, db_index=False),
                ),
                ("upload", models.ForeignKey("timeline.upload", django.db.models.deletion.CASCADE)),
            ],
        ),
    ]
