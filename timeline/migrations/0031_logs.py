"""The lines of the logs of programs are kept in pages, from which screens read them."""

from typing import Any

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models


_SOURCE: Any = {"db_index": False, "on_delete": django.db.models.deletion.CASCADE, "to": "timeline.source"}


def _key(*columns: str) -> models.CompositePrimaryKey:
    return models.CompositePrimaryKey(*columns, blank=True, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies = [("timeline", "0030_smaller_tracks")]

    operations = [
        migrations.CreateModel(
            name="Log",
            fields=[
                ("pk", _key("source", "number")),
                ("number", models.IntegerField()),
                ("name", models.TextField()),
                ("source", models.ForeignKey(**_SOURCE)),
            ],
        ),
        migrations.CreateModel(
            name="LogPage",
            fields=[
                ("pk", _key("source", "log", "number")),
                ("log", models.IntegerField()),
                ("number", models.IntegerField()),
                ("first", models.DateTimeField()),
                ("last", models.DateTimeField()),
                ("count", models.SmallIntegerField()),
                ("worst", models.SmallIntegerField()),
                ("objects_named", django.contrib.postgres.fields.ArrayField(models.TextField(), size=None)),
                ("times", models.BinaryField()),
                ("lines", models.BinaryField()),
                ("source", models.ForeignKey(**_SOURCE)),
            ],
            options={"db_table": "timeline_log_page"},
        ),
        migrations.AddIndex("logpage", models.Index(fields=["source", "first"], name="log_page_first")),
        migrations.AddIndex(
            "logpage",
            django.contrib.postgres.indexes.GinIndex(fields=["objects_named"], name="log_page_objects"),
        ),
    ]
