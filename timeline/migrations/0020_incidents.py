"""Incidents get a table. Findings name theirs once they are judged again, which the workers do after the upgrade."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

_TEXT, _NUMBER = models.TextField, models.IntegerField
_LIST = django.contrib.postgres.fields.ArrayField


class Migration(migrations.Migration):
    dependencies = [("timeline", "0019_snapshot_parts")]

    operations = [
        migrations.AddField("finding", "anchor", _LIST(_TEXT(), default=list)),
        migrations.AddField("finding", "incident", models.CharField(max_length=16, default="")),
        migrations.AddIndex("finding", models.Index(fields=["source", "incident"], name="finding_of_incident")),
        migrations.CreateModel(
            "Incident",
            [
                ("pk", models.CompositePrimaryKey("source", "identity", blank=True, editable=False, primary_key=True, serialize=False)),
                ("source", models.ForeignKey("timeline.source", django.db.models.deletion.CASCADE)),
                ("identity", models.CharField(max_length=16)),
                ("rule", _TEXT()),
                ("rank", models.SmallIntegerField()),
                ("status", _TEXT()),
                ("group", _TEXT()),
                ("kind", _TEXT()),
                ("namespace", _TEXT()),
                ("name", _TEXT()),
                ("title", _TEXT()),
                ("subjects", _NUMBER()),
                ("names", _LIST(_TEXT())),
                ("findings", _NUMBER()),
                ("occurrences", _NUMBER()),
                ("first", models.DateTimeField()),
                ("last", models.DateTimeField()),
                ("open", models.BooleanField()),
                ("times", _LIST(models.BigIntegerField())),
                ("effect", _TEXT()),
                ("effect_text", _TEXT()),
                ("actors", _LIST(_TEXT())),
                ("advice", _LIST(_TEXT())),
                ("roots", _LIST(models.BigIntegerField())),
                ("worst", models.CharField(max_length=16)),
                ("words", _TEXT()),
            ],
        ),
        migrations.AddField("acknowledgement", "rank", models.SmallIntegerField(null=True)),
        migrations.AddField("acknowledgement", "ended", _TEXT(default="")),
        migrations.AddIndex(
            "incident", models.Index(fields=["source", "rank", "first", "identity"], name="incident_gravest")
        ),
        migrations.AddIndex(
            "incident", models.Index(fields=["source", "-last", "rank", "identity"], name="incident_newest")
        ),
    ]
