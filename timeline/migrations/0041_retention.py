import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now


def _source() -> models.Field:  # type: ignore[type-arg]
    return models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="timeline.source")


def _key(*columns: str) -> models.CompositePrimaryKey:
    return models.CompositePrimaryKey(*columns, blank=True, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies = [("timeline", "0040_pulls_beside_continuous_ones")]

    operations = [
        migrations.CreateModel(
            name="Usage",
            fields=[
                ("pk", _key("source", "day")),
                ("day", models.DateField()),
                ("at", models.DateTimeField()),
                ("entries", models.BigIntegerField()),
                ("chunks", models.BigIntegerField()),
                ("tracks", models.BigIntegerField()),
                ("findings", models.BigIntegerField()),
                ("logs", models.BigIntegerField()),
                ("evidence", models.BigIntegerField()),
                ("source", _source()),
            ],
            options={"db_table": "timeline_usage"},
        ),
        migrations.CreateModel(
            name="Hold",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.TextField()),
                ("by", models.TextField()),
                ("since", models.DateTimeField(db_default=Now())),
                (
                    "cluster",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="holds",
                        to="timeline.cluster",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="holds",
                        to="timeline.source",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("cluster__isnull", False), ("source", None))
                        | models.Q(("cluster", None), ("source__isnull", False)),
                        name="hold_of_one",
                    ),
                    models.UniqueConstraint(fields=("source",), name="hold_of_source_once"),
                    models.UniqueConstraint(fields=("cluster",), name="hold_of_cluster_once"),
                ]
            },
        ),
        migrations.AddField("source", "keep_days", models.IntegerField(null=True)),
        migrations.AddConstraint(
            "source",
            models.CheckConstraint(
                condition=models.Q(("keep_days__range", (0, 36500))), name="source_keeps_days_in_range"
            ),
        ),
    ]
