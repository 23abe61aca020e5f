"""Silences and baselines take incidents out of the lists."""

import django.db.models.deletion
from django.db import migrations, models

_TEXT = models.TextField


class Migration(migrations.Migration):
    dependencies = [("timeline", "0020_incidents")]

    operations = [
        migrations.CreateModel(
            "Silence",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.ForeignKey("timeline.cluster", django.db.models.deletion.CASCADE, null=True)),
                ("source", models.ForeignKey("timeline.source", django.db.models.deletion.CASCADE, null=True)),
                ("rule", _TEXT(default="")),
                ("namespace", _TEXT(default="")),
                ("owner", _TEXT(default="")),
                ("actor", _TEXT(default="")),
                ("reason", _TEXT()),
                ("by", _TEXT()),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("expires", models.DateTimeField()),
            ],
        ),
        migrations.AddConstraint(
            "silence",
            models.CheckConstraint(
                condition=~models.Q(rule="", namespace="", owner="", actor=""), name="silence_matches_something"
            ),
        ),
        migrations.AddIndex("silence", models.Index(fields=["expires"], name="silence_expires")),
        migrations.CreateModel(
            "BaselineIncident",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "identity", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source", models.ForeignKey("timeline.source", django.db.models.deletion.CASCADE)),
                ("identity", models.CharField(max_length=16)),
                ("rank", models.SmallIntegerField()),
                ("hourly", models.FloatField()),
                ("by", _TEXT()),
                ("at", models.DateTimeField()),
                ("ended", _TEXT(default="")),
            ],
        ),
    ]
